"""In the measuring interpreter: configurations of transformers made small.

Structure is what matters, not size: few layers of each kind, few experts, a small vocabulary, and widths divided by
one power of two in all parts of a model, so that what is a multiple of something else stays one. Heads keep their
size, so that rotary tables still fit. Several strategies are offered; the first that builds and runs is used.
"""

from __future__ import annotations

import math
import re
from typing import Any

VOCABULARY = 1024
STRATEGIES = ("divided", "tiny", "shallow")

_LAYERS = re.compile(r"^(num_|n_)?([a-z_]*_)?(layers?|blocks|depth|layers_per_block)$")
_NOT_LAYERS = re.compile(
    r"feat_extract|conv|mlp|dense|kv_shared|shared|nextn|fusion|skip|proj_layers|speech_decoder_pre"
)
_FEW_LAYERS = re.compile(r"(dense_replace|dense_layers|nextn_predict_layers|kv_shared_layers|num_hash_layers)$")
_WIDTH = re.compile(
    r"(hidden_size|d_model|embed_dim|_dim|^dim|_size|_dims|n_embd|d_ff|d_inner|n_inner|width|_channels|rank|inner|dim_ff)$"
    r"|^(encoder|decoder)_ffn_dim$|^hidden_sizes$"
)
_NOT_WIDTH = re.compile(
    r"vocab|image|patch|kernel|window|head_dim|head_size|d_kv|state|stride|chunk|batch|frame|codebook|temporal|group|buffer|"
    r"num_channels|in_channels|input_channels|rope_dim|rotary|qk_|v_head|queue|tile|grid|pool|memory|sample|scale|max_|"
    r"min_|position|bin|bucket|mel|crop|per_head|short|block|spatial|merge|field|resolution|input_dim|num_|conv_dim|conv_bias|topk|"
    r"tdnn|dt_|time_step|mask_feature|upsampl|codevector"
)
_HEADS = re.compile(r"(heads|num_head|n_head|n_heads|_heads_kv|num_query_groups)$")
_EXPERTS = re.compile(r"^(num_experts|n_routed_experts|num_local_experts|moe_num_experts|num_routed_experts)$")
_ACTIVE = re.compile(r"(experts_per_tok(en)?|moe_topk|^top_k|moe_k|num_selected_experts|num_experts_per_token)$")
_EVERY = re.compile(r"(period|interval|pattern|every_n_layers?|freq|sparse_step|layer_step|every)$")
_INDEXES = re.compile(r"(index(es)?|indices|layers|layer_ids|_idx|layer_idxs|layers_block|layers_index)$")
_STAGES = ("depths", "num_blocks", "layers", "encoder_layers", "stage_depths", "n_blocks", "stage_num_blocks")
_TOKEN = re.compile(r"(token_id|token_index|_token|token_ids|_ids?|token_idx)$")


def small(kind: Any, strategy: str, overrides: dict[str, Any]) -> Any:
    """A small configuration of class ``kind``. ``overrides`` are for the constructor, and are kept as they are."""
    base = kind(**overrides.get("init", {}))
    values = base.to_dict()
    if strategy == "tiny":
        _walk(values, _tiny, backbones=False)
    elif strategy == "divided":
        factor = _factor(values)
        _walk(values, lambda part: _divide(part, factor), backbones=False)
    if overrides.get("depth", True):
        _walk(values, _shallow)
    _walk(values, _experts)
    if not overrides.get("keep_images"):
        _walk(values, _images)
    _walk(values, _fill)
    _tokens(values)
    _join(values)
    _update(values, overrides.get("set", {}))
    for name in ("transformers_version", "architectures", "id2label", "label2id", "dtype"):
        values.pop(name, None)
    return kind.from_dict(values)


def _update(values: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            _update(values[name], value)
        else:
            values[name] = value


def _walk(values: dict[str, Any], change: Any, backbones: bool = True) -> None:
    """Apply ``change`` to a configuration and all those inside it."""
    change(values)
    for name, part in list(values.items()):
        if isinstance(part, dict) and ("model_type" in part or name.endswith("_config")):
            if backbones or "backbone" not in name:
                _walk(part, change, backbones)


def _numbers(values: dict[str, Any], pattern: re.Pattern[str], exclude: re.Pattern[str] | None = None) -> list[str]:
    return [
        name
        for name, value in values.items()
        if type(value) is int and pattern.search(name) and not (exclude and exclude.search(name))
    ]


# --- layers -----------------------------------------------------------------------------------------------------------


def _shallow(values: dict[str, Any]) -> None:
    """Two layers, or as many as there are kinds of layers."""
    stages = next((len(values[name]) for name in _STAGES if isinstance(values.get(name), (list, tuple))), 0)
    names = [name for name in _numbers(values, _LAYERS, _NOT_LAYERS) if values[name] > 2 and values[name] != stages]
    main = next((name for name in names if name == "num_hidden_layers"), names[0] if names else None)
    total = values[main] if main else 0
    chosen = _chosen(values, total)
    for name in names:
        values[name] = len(chosen) if values[name] == total else 2
    for name, value in list(values.items()):
        if isinstance(value, (list, tuple)) and len(value) == total > 2 and name not in ("conv_dim", "conv_kernel"):
            values[name] = [value[number] for number in chosen]
        elif isinstance(value, (list, tuple)) and value and all(type(part) is int for part in value):
            if _INDEXES.search(name) and total and max(value) >= len(chosen):
                values[name] = sorted({min(part, len(chosen) - 1) for part in value})
            elif name in _STAGES:
                values[name] = [min(part, 2) for part in value]
    if names and not stages:  # the names of stages follow from the number of layers
        for name in ("out_features", "out_indices", "stage_names", "_out_features", "_out_indices"):
            values.pop(name, None)
    if isinstance(values.get("per_layer_config"), dict):
        places = {str(number): place for place, number in enumerate(chosen)}
        kept = {places[str(key)]: part for key, part in values["per_layer_config"].items() if str(key) in places}
        values["per_layer_config"] = kept
    for name in _numbers(values, _EVERY):
        values[name] = min(values[name], 2)
    for name in _numbers(values, re.compile(r"_offset$")):
        values[name] = min(values[name], 1)
    for name in _numbers(values, _FEW_LAYERS):
        values[name] = min(values[name], 1)


def _chosen(values: dict[str, Any], total: int) -> list[int]:
    """The numbers of the layers that are kept: the first of each kind, at least two."""
    columns = [
        value
        for name, value in values.items()
        if isinstance(value, (list, tuple)) and len(value) == total and re.search("type|pattern|schedule", name)
    ]
    kept: dict[str, int] = {}
    for number in range(total):
        kept.setdefault(repr([column[number] for column in columns]), number)
    numbers = sorted(kept.values())[:6]
    for number in range(total):
        if len(numbers) >= 2:
            break
        if number not in numbers:
            numbers.append(number)
    return sorted(numbers) or [0, 1]


# --- widths -----------------------------------------------------------------------------------------------------------


def _factor(values: dict[str, Any]) -> int:
    """The largest power of two, at most 16, by which all numbers of heads can be divided."""
    factor = 16
    widths: list[int] = []

    def look(part: dict[str, Any]) -> None:
        nonlocal factor
        for name in _numbers(part, _HEADS):
            if part[name] > 1 and not re.search("kv|key_value|group|index", name):
                factor = math.gcd(factor, part[name])
        for name in _numbers(part, re.compile(r"^(hidden_size|d_model|n_embd|embed_dim|dim)$")):
            widths.append(part[name])

    _walk(values, look)
    while factor > 1 and widths and min(widths) // factor < 32:
        factor //= 2
    return factor


def _divide(values: dict[str, Any], factor: int) -> None:
    for name in _numbers(values, _HEADS):
        values[name] = max(1, values[name] // factor)
    for name in _numbers(values, _WIDTH, _NOT_WIDTH):
        if values[name] >= 64 and values[name] % factor == 0:
            values[name] //= factor


def _tiny(values: dict[str, Any]) -> None:
    """Every width 64, or 128 where it was larger than the hidden size; 4 heads."""
    hidden = next((values[n] for n in ("hidden_size", "d_model", "n_embd", "dim") if type(values.get(n)) is int), 0)
    for name in _numbers(values, _HEADS):
        values[name] = min(values[name], 2 if re.search("kv|key_value", name) else 4)
    for name in _numbers(values, _WIDTH, _NOT_WIDTH):
        if values[name] > 64:
            values[name] = 128 if values[name] > hidden > 0 else 64
    for name in ("head_dim", "d_kv", "attention_head_size"):
        if type(values.get(name)) is int:
            values[name] = 16


# --- the rest ---------------------------------------------------------------------------------------------------------


def _experts(values: dict[str, Any]) -> None:
    for name in _numbers(values, _EXPERTS):
        values[name] = min(values[name], 4)
    for name in _numbers(values, _ACTIVE):
        values[name] = min(values[name], 2)
    for name in ("n_group", "topk_group"):
        if type(values.get(name)) is int:
            values[name] = 1
    for name in ("max_position_embeddings", "n_positions", "max_sequence_length"):
        if type(values.get(name)) is int:
            values[name] = min(values[name], 2048)


def _join(values: dict[str, Any]) -> None:
    """What comes out of the vision tower is as wide as the text, where one number says so."""
    text, vision = values.get("text_config"), values.get("vision_config")
    if isinstance(text, dict) and isinstance(vision, dict) and type(text.get("hidden_size")) is int:
        if "out_hidden_size" in vision:
            vision["out_hidden_size"] = text["hidden_size"]
        elif "embed_dim" in vision and "hidden_size" in vision:
            vision["hidden_size"] = text["hidden_size"]


def _images(values: dict[str, Any]) -> None:
    size, patch = values.get("image_size"), values.get("patch_size")
    patch = patch if type(patch) is int else 16
    if type(size) is int and size > 256:
        values["image_size"] = patch * max(4, 128 // patch // 4 * 4)


def _fill(values: dict[str, Any]) -> None:
    """What has no default, but has to have a value."""
    if "rope_parameters" in values:
        rope = values["rope_parameters"]
        if rope is None:
            values["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0}
        elif isinstance(rope, dict) and "rope_theta" in rope and rope["rope_theta"] is None:
            rope["rope_theta"] = 10000.0
    if "vocab_size" in values and values["vocab_size"] is None:
        values["vocab_size"] = 64


def _tokens(values: dict[str, Any]) -> None:
    """A small vocabulary, with the special tokens at its end, the same one for the same one."""
    parts: list[dict[str, Any]] = []
    _walk(values, parts.append)
    for part in parts:
        if type(part.get("vocab_size")) is int:
            part["vocab_size"] = min(part["vocab_size"], VOCABULARY)
    given: dict[int, int] = {}

    def new(value: Any) -> Any:
        if type(value) is int and value >= VOCABULARY - 64:
            return given.setdefault(value, VOCABULARY - 1 - len(given))
        return [new(one) for one in value] if isinstance(value, (list, tuple)) else value

    for part in parts:
        for name, value in part.items():
            if _TOKEN.search(name) and not isinstance(value, (str, bool)):
                part[name] = new(value)
