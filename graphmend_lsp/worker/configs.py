"""Sizes by name, and the configurations of models that are not of Hugging Face."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import types
from typing import Any, Mapping, cast

from . import hf_config
from .signatures import is_named, parameters

WHOLE: tuple[tuple[str, int], ...] = (
    (r"(kv|key_value)_?(n_?)?heads?$", 2),
    (r"head_(dim|size)|dim_?head|(^|_)d_?(k|v|kv|head)$|head_features", 8),
    (r"heads?$", 4),
    (r"(pad|bos|eos|unk|mask|blank)\w*(id|idx|index|token)$", 0),
    (r"(idx|index|seed|rank|layer_id|level)$", 0),
    (r"layers?$|depth|blocks$|num_stages|n_convs|repeats?$|n_layer", 2),
    (r"block_size|(^|_)ctx|context|(^|_)seq|max_?len|max_?pos|length|position|window|steps|horizon", 16),
    (r"vocab|num_embeddings|(^|_)n?_?tokens?$|codebook_size|ntoken", 128),
    (r"kernel|^ks$", 3),
    (r"stride|dilation|^groups$", 1),
    (r"padding$|^pad$", 1),
    (r"patch", 8),
    (r"(image|img)_?(size|res)|resolution|(^|_)(height|width)$", 32),
    (r"(image|img)_ch|in_chans", 3),
    (r"class|label|actions?$|n_?out$|num_outputs", 10),
    (r"experts?$", 4),
    (r"top_?k|^k$|^n$|order|degree|scale_factor|ratio|mult|factor|expansion|reduction|batch|growth", 2),
    (r"^groups|num_groups|n_groups|^r$|lora", 4),
    (r"ffn?(_|$)|intermediate|inner|mlp|feed_?forward|(^|_)d_?ff", 64),
    (r"dim|hidden|embd|embed|d_model|features?|channels?|width|planes|filters|units|(^|_)size|^d$|ninp|nhid", 32),
)
"""Sizes that go together: the heads divide the widths, positions are enough for the calls that are made up."""

REAL: tuple[tuple[str, float], ...] = (
    (r"drop|(^|_)prob|^p$", 0.0),
    (r"eps", 1e-5),
    (r"theta|base$", 10000.0),
    (r"ratio|mult|factor|expansion", 2.0),
    (r"temp|scale|alpha|gamma|std|sigma|weight|radius", 1.0),
    (r"momentum|beta|lr|slope|rate", 0.1),
)
_CONFIG_CLASS = re.compile(r"(Config|Configuration|Args|Arguments|Params|Hparams|HParams|Options|Settings)$")


def whole(name: str) -> int | None:
    """The size that a name stands for."""
    found = matching(WHOLE, name.lower())
    return None if found is None else int(found)


def matching(table: tuple[tuple[str, Any], ...], name: str) -> Any:
    return next((value for pattern, value in table if re.search(pattern, name)), None)


def smaller(kind: Any) -> dict[str, Any]:
    """Sizes below the defaults of a configuration; the heads in any case, so that they divide the width."""
    found: dict[str, Any] = {}
    for one in parameters(kind):
        size = whole(one.name)
        if type(one.default) is int and size:
            if one.default > size or (size in (2, 4) and "head" in one.name and 1 < one.default != size):
                found[one.name] = size
    return found


def config_classes(owner: type, module: types.ModuleType) -> list[type]:
    """Configurations that the file knows, those first whose name begins like the class's."""
    kinds = [
        value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and (hf_config.is_config(value) or _CONFIG_CLASS.search(name))
        and not hf_config.is_base(value)
        and value is not owner
        and not is_named(value, "Module")
    ]

    def common(kind: type) -> int:
        pairs = zip(kind.__name__.lower(), owner.__name__.lower())
        return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(kind.__name__), len(owner.__name__)))

    return sorted(kinds, key=lambda kind: (-common(kind), not dataclasses.is_dataclass(kind), len(kind.__name__)))


def fields_read(name: str, module: types.ModuleType) -> tuple[list[str], list[str]]:
    """The attributes and the keys that a file reads of what it calls ``name``."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return [], []
    attributes: dict[str, None] = {}
    keys: dict[str, None] = {}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            continue
        owner = node.value
        if (
            owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        ) != name:
            continue
        if isinstance(node, ast.Attribute):
            attributes[node.attr] = None
        else:
            index: Any = getattr(node.slice, "value", None)
            index = getattr(index, "value", index)
            if isinstance(index, str):
                keys[index] = None
    return list(cast("Mapping[str, None]", attributes)), list(keys)
