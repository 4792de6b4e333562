"""In the measuring interpreter: inputs for the forward of a transformers model, made from its signature.

A candidate is a dict of arguments. Several are tried: with images, sounds or videos first, then text alone. Where a
model says how many placeholder tokens its features need, the text gets that many (`adapted`).
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from typing import Any

LENGTH = 12
BATCH = 2


class Feed:
    """Makes inputs for one model, with a generator of its own, so that the same call has the same inputs everywhere."""

    def __init__(self, model: Any, overrides: dict[str, Any], seed: int = 0) -> None:
        import torch

        self.torch = torch
        self.model = model
        self.config = model.config
        self.overrides = overrides
        self.generator = torch.Generator().manual_seed(1000 + seed)
        dropped = ("self", "kwargs", *overrides.get("drop", ()))
        self.names = [name for name in inspect.signature(model.forward).parameters if name not in dropped]
        self.tokens: dict[str, int] = {}  # placeholder token attribute -> how many
        self.batch = overrides.get("batch", BATCH)

    # --- numbers of the configuration ---------------------------------------------------------------------------------

    def parts(self) -> list[Any]:
        """The configuration and those inside it."""
        found, queue = [], [self.config]
        while queue:
            part = queue.pop(0)
            found.append(part)
            queue += [value for value in vars(part).values() if hasattr(value, "to_dict")]
        return found

    def number(self, names: str, default: int, within: str = "") -> int:
        """The first integer attribute of these names, outermost first; ``within`` prefers parts of such a type."""
        parts = self.parts()
        parts.sort(key=lambda part: not (within and re.search(within, type(part).__name__.lower())))
        for name in names.split():
            for part in parts:
                value = getattr(part, name, None)
                if isinstance(value, (list, tuple)) and value and type(value[0]) is int:
                    value = value[0]
                if type(value) is int:
                    return value
        return default

    # --- kinds of inputs ----------------------------------------------------------------------------------------------

    def ids(self, length: int = LENGTH) -> Any:
        sizes = [part.vocab_size for part in self.parts() if type(getattr(part, "vocab_size", None)) is int]
        top = min(sizes, default=900)
        low = min(5, top - 1)
        high = max(min(top, 900), low + 1)
        made = self.torch.randint(low, high, (self.batch, length), generator=self.generator)
        for name, count in self.tokens.items():
            if name == "edge":
                continue
            at = 1
            value = self.number(name, -1)
            if value >= 0 and count:
                made = self.torch.cat([made[:, :at], made.new_full((self.batch, count), value), made[:, at:]], 1)
        return made

    def normal(self, *shape: int) -> Any:
        return self.torch.randn(shape, generator=self.generator)

    def ones(self, *shape: int) -> Any:
        return self.torch.ones(shape, dtype=self.torch.int64)

    def zeros(self, *shape: int) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.int64)

    def image(self) -> tuple[int, int]:
        size = (
            self.tokens.get("edge")
            or self.overrides.get("image")
            or self.number("image_size img_size", 64, "vision|image")
        )
        return (size, size)

    def channels(self) -> int:
        return self.number("num_channels in_channels in_chans", 3, "vision|image")

    def pixels(self) -> Any:
        if "frames" in self.overrides:
            return self.normal(self.batch, self.overrides["frames"], self.channels(), *self.image())
        return self.normal(self.batch, self.channels(), *self.image())

    def patches(self) -> dict[str, Any]:
        """Images already cut into patches, as Qwen2-VL and its relatives take them: one of 4 x 4 patches each."""
        patch = self.number("patch_size", 14, "vision")
        size = self.channels() * self.number("temporal_patch_size", 1, "vision") * patch * patch
        grid = self.torch.tensor([[1, 4, 4]] * self.batch)
        return {"pixel_values": self.normal(16 * self.batch, size), "image_grid_thw": grid}

    def sound(self) -> Any:
        mels = self.number(
            "num_mel_bins feature_size num_mel_channels input_feat_per_channel n_mels mel_bins", 80, "audio|speech"
        )
        length = self.number("max_source_positions", 0, "audio|encoder|whisper|speech")
        length = 2 * length if length else self.number("max_length", 128, "audio")
        length = min(length, 3000)
        if self.overrides.get("time_first"):
            return self.normal(self.batch, self.overrides.get("sound", 128), mels)
        return self.normal(self.batch, mels, self.overrides.get("sound", length))

    def one(self, name: str) -> Any:
        """An input by its name, or None."""
        given = self.overrides.get("inputs", {})
        if name in given:
            return self.given(given[name])
        batch, height = self.batch, self.image()[0]
        makers: dict[str, Any] = {
            "input_ids": self.ids,
            "decoder_input_ids": lambda: self.ids(6),
            "text_input_ids": self.ids,
            "qformer_input_ids": self.ids,
            "bool_masked_pos": lambda: self.torch.ones(batch, (height // self.number("patch_size", 16)) ** 2).bool(),
            "pixel_values": self.pixels,
            "pixel_values_videos": lambda: self.normal(
                batch, self.number("num_frames", 4), self.channels(), *self.image()
            ),
            "video": lambda: self.normal(batch, self.number("num_frames", 4), self.channels(), *self.image()),
            "input_values": lambda: self.normal(batch, self.overrides.get("samples", 4000)),
            "input_features": self.sound,
            "audio_values": lambda: self.normal(batch, 1, self.overrides.get("samples", 4000)),
            "bbox": lambda: self.torch.randint(0, 50, (batch, LENGTH, 4), generator=self.generator).sort(-1).values,
            "boxes": lambda: self.torch.rand(batch, LENGTH, 4, generator=self.generator),
            "image": self.pixels,
            "images": self.pixels,
            "pixel_mask": lambda: self.ones(batch, height, height),
            "prompt_pixel_values": self.pixels,
            "prompt_masks": self.pixels,
            "input_points": lambda: self.torch.rand(batch, 1, 2, 2, generator=self.generator) * height,
            "attention_mask": self.mask,
            "token_type_ids": lambda: self.zeros(batch, LENGTH),
            "visual_embeds": lambda: self.normal(batch, 4, self.number("visual_embedding_dim", 64)),
            "visual_feats": lambda: self.normal(batch, 4, self.number("visual_feat_dim", 64)),
            "visual_pos": lambda: self.torch.rand(batch, 4, 4, generator=self.generator),
            "task_inputs": lambda: self.ids(self.number("task_seq_len", 77)),
            "context_input_ids": self.ids,
            "past_values": lambda: self.series(self.number("context_length", 8), lags=True),
            "past_time_features": lambda: self.features(True),
            "past_observed_mask": lambda: self.torch.ones_like(
                self.series(self.number("context_length", 8), lags=True)
            ),
            "future_time_features": lambda: self.features(False),
            "future_values": lambda: self.series(self.number("prediction_length", 4), lags=False),
            "states": lambda: self.normal(batch, 4, self.number("state_dim", 17)),
            "actions": lambda: self.normal(batch, 4, self.number("act_dim", 4)),
            "rewards": lambda: self.normal(batch, 4, 1),
            "returns_to_go": lambda: self.normal(batch, 4, 1),
            "timesteps": lambda: self.torch.arange(4).repeat(batch, 1),
            "next_sentence_label": lambda: self.zeros(batch),
        }
        return makers[name]() if name in makers else None

    def mask(self) -> Any:
        return self.ones(self.batch, LENGTH + sum(count for name, count in self.tokens.items() if name != "edge"))

    def given(self, spec: Any) -> Any:
        """An input of the table of overrides: ["normal", shape], ["int", shape, low, high], ["ones", shape] ..."""
        if not isinstance(spec, (list, tuple)) or not spec or not isinstance(spec[0], str):
            return spec
        kind, *rest = spec
        if kind == "normal":
            return self.normal(*rest[0])
        if kind == "rand":
            return self.torch.rand(*rest[0], generator=self.generator)
        if kind == "int":
            return self.torch.randint(rest[1], rest[2], rest[0], generator=self.generator)
        if kind == "tensor":
            return self.torch.tensor(rest[0])
        if kind == "bool":
            return self.torch.ones(rest[0], dtype=self.torch.bool)
        return (self.torch.ones if kind == "ones" else self.torch.zeros)(rest[0], dtype=self.torch.int64)

    def series(self, length: int, lags: bool) -> Any:
        lagged = max(getattr(self.config, "lags_sequence", None) or [0]) if lags else 0
        size = self.number("input_size num_input_channels", 1)
        shape = [self.batch, length + lagged]
        return (
            self.normal(*shape, size) if size > 1 or hasattr(self.config, "num_input_channels") else self.normal(*shape)
        )

    def features(self, past: bool) -> Any:
        lagged = max(getattr(self.config, "lags_sequence", None) or [0]) if past else 0
        length = self.number("context_length", 8) + lagged if past else self.number("prediction_length", 4)
        return self.normal(self.batch, length, self.number("num_time_features", 1))

    # --- candidates ---------------------------------------------------------------------------------------------------

    def candidates(self) -> Iterator[dict[str, Any]]:
        names = self.names
        must = list(self.overrides.get("inputs", {}))
        main = getattr(self.model, "main_input_name", "input_ids")
        if any(name in names for name in ("input_ids", "decoder_input_ids")):
            text = [name for name in ("input_ids", "attention_mask", "decoder_input_ids", "bbox") if name in names]
        else:
            text = []
        if "decoder_input_ids" in names and "input_ids" not in names:
            text = [name for name in text if name != "attention_mask"]
        others = [
            name
            for name in (
                "pixel_values", "pixel_values_videos", "input_features", "input_values", "visual_embeds",
                "visual_feats", "visual_pos", "task_inputs", "past_values", "past_time_features", "past_observed_mask",
                "future_time_features", "future_values", "states", "actions", "rewards", "returns_to_go", "timesteps",
                "context_input_ids", "prompt_pixel_values", "prompt_masks", "audio_values", "image", "images", "boxes",
                "input_points",
            )
            if name in names
        ]  # fmt: skip
        required = [
            name
            for name, parameter in inspect.signature(self.model.forward).parameters.items()
            if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        if "image_grid_thw" in names and "pixel_values" in names:
            made = self.make([*text, *must, *required]) | self.patches()
            if "mm_token_type_ids" in names:
                made["mm_token_type_ids"] = (made["input_ids"] == self.number("image_token_id", -1)).long()
            yield made
        pictures = [name for name in others if name != "pixel_values_videos"]
        yield self.make([*text, *pictures, *must, *required])
        if len(pictures) > 1:
            yield self.make([*text, main, *must, *required])
        yield self.make([main, *must, *required])
        if text:
            yield self.make([*text, *must, *required])
        if others:
            yield self.make([*others, *must, *required])

    def make(self, names: list[str]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name in names:
            if name in self.names and name not in made:
                value = self.one(name)
                if value is not None:
                    made[name] = value
        return made | {name: self.given(value) for name, value in self.overrides.get("extra", {}).items()}

    def adapted(self, error: str) -> bool:
        """Whether the error tells how many placeholder tokens are needed, or that images have to be larger."""
        if "selected index k out of range" in error and self.tokens.get("edge", 0) < 256:
            self.tokens["edge"] = 256
            return True
        said = re.search(
            r"(?i)(image|video|audio|speech)[\w ]*features? and [\w ]*tokens? do not match[^\d]*(\d+)[^\d]+(\d+)", error
        )
        if not said:
            return False
        features = int(said[3])
        names = {
            "image": "image_token_id image_token_index media_token_id",
            "video": "video_token_id video_token_index",
        }
        names["audio"] = names["speech"] = "audio_token_id audio_token_index"
        for name in names[said[1].lower()].split():
            if self.number(name, -1) >= 0:
                each = features / self.batch
                if each != int(each) or each > 4000 or self.tokens.get(name) == int(each):
                    each = features / self.number("hidden_size d_model", 1, "text|llm") / self.batch
                if each != int(each) or self.tokens.get(name) == int(each):
                    return False
                self.tokens[name] = math.floor(each)
                return True
        return False
