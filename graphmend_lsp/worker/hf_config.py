"""Configurations of Hugging Face models, made small: so many parameters as shipped would take minutes to compile."""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple, cast

from .signatures import is_named, parameters

LAYERS, WIDTH, HEADS, PAIRS, INNER, VOCABULARY, POSITIONS, IMAGE, PATCH = 2, 64, 4, 2, 128, 128, 64, 32, 8

_SIZES: tuple[tuple[str, int], ...] = (
    (r"(num_|n_)?((text|vision|encoder|decoder|hidden|num_encoder|num_decoder)_)?layers?", LAYERS),
    (r"num_key_value_heads|num_kv_heads|n_head_kv|n_kv_heads", PAIRS),
    (r"(\w+_)?attention_heads|num_heads|n_heads?|num_\w+_heads", HEADS),
    (r"head_dim|d_kv|attention_head_size|kv_channels|v_head_dim", WIDTH // HEADS),
    (r"rotary_dim", WIDTH // HEADS // 2),
    (r"hidden_size|d_model|n_embd|embed_dim|dim|projection_dim|word_embed_proj_dim|embedding_size|d_embed", WIDTH),
    (r"(\w+_)?(intermediate_size|ffn_dim|d_ff|mlp_dim|hidden_dim|n_inner|d_inner)", INNER),
    (r"vocab_size", VOCABULARY),
    (r"max_position_embeddings|n_positions|n_ctx|max_target_positions|max_seq_len|max_sequence_length", POSITIONS),
    (r"max_source_positions", 16),
    (r"image_size", IMAGE),
    (r"patch_size", PATCH),
    (r"num_experts|num_local_experts|n_routed_experts", 4),
    (r"num_experts_per_tok|moe_top_k|moe_k", 2),
)
_LAYERS = re.compile(_SIZES[0][0])
_STAGES = ("depths", "hidden_sizes", "num_heads", "num_attention_heads", "layer_depths")
"""Lists with one item a stage: such models multiply their width from stage to stage, which is left as it is."""


class Small(NamedTuple):
    """A configuration and which of its values were chosen here."""

    config: Any
    chosen: Mapping[str, Any]


def is_config(kind: Any) -> bool:
    """Whether a class is a configuration of ``transformers``, whose classes are not imported for that."""
    return is_named(kind, "PretrainedConfig", "PreTrainedConfig")


def is_base(kind: Any) -> bool:
    """Whether it is the class that all configurations derive from, which says nothing about a model."""
    return is_config(kind) and kind.__name__ in ("PretrainedConfig", "PreTrainedConfig")


def is_model(kind: Any) -> bool:
    """Whether a class is a model of ``transformers``."""
    return is_named(kind, "PreTrainedModel")


def shrunken(kind: Any) -> Small:
    """A small configuration of a class.

    The values are given to its constructor, which derives others from them; what it does not take is set afterwards.
    Where that raises, fewer values are changed, at last none.
    """
    default = kind()
    sizes = _small_values(default)
    layers = {name: value for name, value in sizes.items() if _LAYERS.fullmatch(name)}
    rest = {name: value for name, value in sizes.items() if name not in layers}
    for chosen in (sizes, rest, layers):
        for as_objects in (False, True):
            try:
                return Small(_made(kind, chosen, as_objects), _shown(chosen))
            except Exception:
                continue
    return Small(default, {})


def _made(kind: Any, chosen: Mapping[str, Any], as_objects: bool) -> Any:
    taken = {parameter.name for parameter in parameters(kind)}
    given = {name: value for name, value in chosen.items() if name in taken}
    if not as_objects:  # of the nested ones, some classes take only dictionaries, some only objects
        given = {name: value.to_dict() if is_config(type(value)) else value for name, value in given.items()}
    config = kind(**given)
    for name, value in chosen.items():
        if name not in taken and not is_config(type(value)):
            setattr(config, name, value)
    return config


def _shown(chosen: Mapping[str, Any]) -> dict[str, Any]:
    return {name: "small" if is_config(type(value)) else value for name, value in chosen.items()}


def _small_values(default: Any) -> dict[str, Any]:
    """What to change in a configuration."""
    fields: dict[str, Any] = {**vars(default)}
    for name, other in cast("dict[str, str]", getattr(default, "attribute_map", None) or {}).items():
        if other in fields:
            fields.pop(name, None)
    staged = [name for name in _STAGES if isinstance(fields.get(name), (list, tuple))]
    derived = _derived(default)
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if is_config(type(value)):
            found[name] = shrunken(type(value)).config
        elif type(value) is int and not name.startswith("_") and name not in derived:
            size = _size(name)
            if (
                size is not None
                and not (staged and size in (WIDTH, HEADS, INNER, IMAGE, PATCH))
                and _smaller(size, value)
            ):
                found[name] = size
    depths = fields.get("depths")
    if isinstance(depths, (list, tuple)):
        found["depths"] = [1 for _ in cast("list[Any]", depths)]
    _cut_lists(fields, found, derived)
    vocabulary = found.get("vocab_size", fields.get("vocab_size"))
    if type(vocabulary) is int:
        found.update(_tokens(fields, vocabulary))
    return found


def _derived(default: Any) -> set[str]:
    """Fields that the constructor does not take, although it takes others: it computes them."""
    taken = {parameter.name for parameter in parameters(cast("Any", type(default)))}
    fields = cast("dict[str, Any]", vars(default))
    return {name for name in fields if name not in taken and not name.endswith("token_id")} if taken else set()


def _size(name: str) -> int | None:
    return next((size for pattern, size in _SIZES if re.fullmatch(pattern, name)), None)


def _smaller(size: int, value: int) -> bool:
    """Heads have to divide the width, so these are set even where there are few."""
    return value > size or (size in (HEADS, PAIRS) and 1 < value < size and value % 2 == 1)


def _cut_lists(fields: Mapping[str, Any], found: dict[str, Any], derived: set[str]) -> None:
    """Lists with one item a layer get as many as there are layers now."""
    before = next((fields[name] for name in found if _LAYERS.fullmatch(name)), None)
    for name, value in fields.items():
        if isinstance(value, list) and name not in derived and name not in found:
            items = cast("list[Any]", value)
            if items and len(items) == before:
                found[name] = items[:LAYERS]


def _tokens(fields: Mapping[str, Any], vocabulary: int) -> dict[str, int]:
    """Tokens with a meaning that the smaller vocabulary does not have."""
    found: dict[str, int] = {}
    for name, value in fields.items():
        if re.fullmatch(r"\w+_token_(id|index)", name) and type(value) is int and value >= vocabulary:
            found[name] = 0 if name.startswith("pad") else vocabulary - (2 if name.startswith("bos") else 1)
    return found
