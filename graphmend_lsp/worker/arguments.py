"""Arguments for calls: by jaxtyping annotation, by the layers that use them, by annotation, by name."""

from __future__ import annotations

import collections.abc
import enum
import inspect
import re
import typing
from typing import Any, Iterator, Mapping, NamedTuple, cast

import torch
from torch import nn

from . import hf_config
from .demands import Use, first_use, uses, wanted
from .shapes import SIZES, Spec, Try, annotated, map_specs
from .signatures import Parameter, parameters, without_none
from .tensors import FIRST_LAYER, MASK, tensors, vocabulary

_WHOLE = torch.int64
_CALLABLE: Any = collections.abc.Callable
_HIDDEN = ("batch", "seq", "features")

_NUMBER = re.compile(
    r"^(n|num_\w+|n_\w+|\w+_size|steps?|size|length|count|repeats|times|index|i|j|layer_idx|start_pos)$"
)
_AXIS = re.compile(r"^(dim|axis)$")
_FLAG = re.compile(
    r"^(use|is|return|output|with|do|has|enable|apply)_|training|flag|causal|verbose|^(train|debug|inverse|reverse)$"
)
_REAL = re.compile(r"eps|alpha|beta|temperature|threshold|scale$|factor|^(lr|rate|tau)$|dropout")
_WIDTH = ("hidden_size", "d_model", "n_embd", "embed_dim", "hidden_dim", "dim", "width", "in_features", "input_size")
_SIDE = ("image_size", "img_size", "input_resolution", "resolution")


class Choice(NamedTuple):
    """What can be given for a parameter, the likeliest first; ``known`` says that there was a reason for it."""

    name: str
    options: tuple[Any, ...]
    known: bool


class Wanted(NamedTuple):
    """The parameters of an entry that get something, the sizes known, and parameters with the default None."""

    choices: tuple[Choice, ...]
    left: tuple[Choice, ...]
    sizes: Mapping[str, int]
    first_by_position: int
    """So many are given by position, the others by name."""
    several: str = ""
    """The parameter ``*args``, which has a list of what is given."""


def wanted_by(entry: Any) -> Wanted:
    """What to give an entry: an ``nn.Module``, a bound method or a function."""
    function: Any = entry.forward if isinstance(entry, nn.Module) else entry
    owner: Any = getattr(function, "__self__", None)
    found = uses(function)
    every = parameters(function)
    sizes = _sizes(owner, found)
    choices: list[Choice] = []
    left: list[Choice] = []
    positions = 0
    several = next((one.name for one in every if one.several), "")
    for one in every:
        if one.required or one.several:
            choices.append(_choice(one, found.get(one.name, Use()), owner, sizes))
            positions += one.by_position and positions == len(choices) - 1 and not left
        elif one.default is None and not _FLAG.search(one.name):
            left.append(_choice(one, found.get(one.name, Use()), owner, sizes))
    if any(one.name == "hidden_states" for one in every):  # the model around this layer made the mask, or left it out
        choices = [one._replace(options=(None, *one.options)) if MASK.search(one.name) else one for one in choices]
    return Wanted(tuple(choices), tuple(left), sizes, positions, several)


def _sizes(owner: Any, found: Mapping[str, Use]) -> dict[str, int]:
    sizes = dict(SIZES)
    if not isinstance(owner, nn.Module):
        return {**sizes, "batch": 4, "features": 8} if owner is None else sizes
    spec = first_use(found)
    last = spec.shape[-1] if spec is not None and spec.is_float and not spec.is_image else None
    leaf = next((one for one in map(wanted, owner.modules()) if one is not None and one.is_float), None)
    if last is None and leaf is not None and not leaf.is_image:
        last = leaf.shape[-1]
    config = getattr(owner, "config", None)
    width = _attribute(config, _WIDTH) or _attribute(owner, _WIDTH) or (last if isinstance(last, int) else 0)
    side = _attribute(config, _SIDE) or next((n for n in (_attribute(m, _SIDE) for m in owner.modules()) if n), 0)
    if not side:
        side = next((_whole(one.default) for one in parameters(type(owner)) if one.name in _SIDE), 0)
    if not side and isinstance(getattr(config, "depths", None), list):
        side = 64
    heads = _attribute(config, ("num_attention_heads",)) or _attribute(owner, ("num_heads", "n_head", "n_heads"))
    sizes.update({"features": width or sizes["features"], "heads": heads or sizes["heads"]})
    head = _attribute(config, ("head_dim",)) or _attribute(owner, ("head_dim",))
    sizes["head"] = head or max(1, sizes["features"] // sizes["heads"])
    if side:
        sizes.update({"height": side, "width": side})
    return sizes


def _attribute(owner: Any, names: tuple[str, ...]) -> int:
    return next((n for n in (_whole(getattr(owner, name, None)) for name in names) if n), 0)


def _whole(value: Any) -> int:
    several = type(value) in (list, tuple) and len(value) > 0
    first = value[0] if several else value
    return first if isinstance(first, int) and first > 0 else 0


def _choice(one: Parameter, use: Use, owner: Any, sizes: dict[str, int]) -> Choice:
    hint, optional = without_none(one.hint)
    if one.several:
        spec = tensors(one.name, use, owner)[0]
        return Choice(one.name, ([spec, spec], [spec]), False)
    if optional and one.required:
        there = _choice(one._replace(hint=hint), use, owner, sizes)
        return Choice(one.name, (None, *there.options), True)
    spec = annotated(hint)
    if spec is not None:
        return Choice(one.name, (_agreed(spec, use.spec, sizes),), True)
    if use.keys and use.spec is None:
        by_key = {key: tensors(key, Use(), owner)[0] for key in use.keys}
        return Choice(one.name, (by_key,), True)
    plain = _plain(one.name, hint, owner)
    if plain is not None and use.spec is None and not (isinstance(plain[0], tuple) and one.name == "hidden_states"):
        return Choice(one.name, plain, True)
    options = tensors(one.name, use, owner)
    return Choice(one.name, tuple(options), options[0].origin not in ("", FIRST_LAYER))


def _agreed(spec: Spec, demand: Spec | None, sizes: dict[str, int]) -> Spec:
    """An annotated tensor: names in its shape that a layer decides get the layer's size."""
    if demand is None:
        return spec
    axes = min(len(spec.shape), len(demand.shape), demand.trailing or len(demand.shape))
    for axis, size in zip(spec.shape[len(spec.shape) - axes :], demand.shape[len(demand.shape) - axes :]):
        if isinstance(axis, str) and isinstance(size, int) and axis.isidentifier():
            sizes[axis] = size
    return spec._replace(high=demand.high or spec.high)


def _plain(name: str, hint: Any, owner: Any) -> tuple[Any, ...] | None:
    """Options of another kind than a tensor; None where it is one."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    low = name.lower()
    if isinstance(hint, str):
        hint = {"int": int, "float": float, "bool": bool, "str": str}.get(hint)
    if hint is bool or (hint is None and _FLAG.search(low)):
        return (False, True)
    if hint is int or (hint is None and (_NUMBER.match(low) or _AXIS.match(low))):
        return (-1, 0, 1) if _AXIS.match(low) else (0, 1, 2) if re.search(r"idx|index|pos", low) else (2, 4, 1, 8)
    if hint is float or (hint is None and _REAL.search(low)):
        return (0.5, 1.0, 2.0)
    if hint is str:
        return (name, "")
    if hint is torch.dtype:
        return (torch.float32,)
    if hint is torch.device:
        return (torch.device("cpu"),)
    if origin is typing.Literal:
        return inner
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return tuple(hint)
    if low == "position_embeddings":  # the cosines and sines of rotary embeddings
        rotary = Spec(("batch", "seq", "head"), origin="its name")
        return ((rotary, rotary), Spec(_HIDDEN))
    kind = cast("Any", origin or hint)
    if inspect.isclass(kind) and kind is not torch.Tensor:
        return _container(name, kind, inner, owner)
    return (nn.Identity(),) if kind is _CALLABLE else None


def _container(name: str, kind: Any, inner: tuple[Any, ...], owner: Any) -> tuple[Any, ...] | None:
    def item(hint: Any) -> Any:
        made = _choice(Parameter(name.rstrip("s") or name, hint, None, True, True, False), Use(), owner, {})
        return made.options[0]

    if hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__"):
        return (kind(**_fields(kind, owner)),)
    if issubclass(kind, tuple) and inner and Ellipsis not in inner:
        return (tuple(item(one) for one in inner),)
    if issubclass(kind, tuple):
        return ((item(inner[0] if inner else None),) * 2,)
    if issubclass(kind, collections.abc.Mapping):
        value = inner[1] if len(inner) > 1 else None
        return ({"x": item(value)},)
    if kind is not torch.Tensor and issubclass(kind, (list, collections.abc.Iterable)) and (inner or kind is list):
        return ([item(inner[0] if inner else None)] * 2,)
    if issubclass(kind, nn.Module):
        return (nn.Identity(),)
    if hf_config.is_config(kind):
        return (hf_config.shrunken(kind).config,)
    return None


def _fields(kind: Any, owner: Any) -> dict[str, Any]:
    """The fields of a class of the user's, made at once: no size in them is changed later."""
    choices = [_choice(one, Use(), owner, {}) for one in parameters(kind) if one.required]
    return Try({one.name: one.options[0] for one in choices}, _sizes(owner, {})).made()


# -- calls -------------------------------------------------------------------------------------------


def calls(entry: Any, want: Wanted) -> Iterator[Try]:
    """Calls to try, the likeliest first."""
    if isinstance(entry, nn.Module) and hf_config.is_model(type(entry)):
        yield from _hugging_face(entry, want)
    most = max([len(one.options) for one in want.choices], default=1)
    for number in range(most):  # all parameters alike first
        yield Try({one.name: one.options[min(number, len(one.options) - 1)] for one in want.choices}, want.sizes)
    for one in want.choices:
        for option in one.options[1:]:
            yield Try({**{other.name: other.options[0] for other in want.choices}, one.name: option}, want.sizes)
    given = {one.name: one.options[0] for one in want.choices}
    for one in sorted(want.left, key=lambda one: not one.known):  # each that is None by default, then more and more
        yield Try({**given, one.name: one.options[0]}, want.sizes)
    for one in want.left:
        given[one.name] = one.options[0]
        yield Try(dict(given), want.sizes)


def _hugging_face(entry: Any, want: Wanted) -> Iterator[Try]:
    """All parameters of these models have defaults; ``main_input_name`` says which one matters."""
    every = {one.name: one.options[0] for one in (*want.left, *want.choices)}
    high = int(getattr(entry.config, "vocab_size", 0) or vocabulary(entry))
    if "input_features" in every:
        length = int(getattr(entry.config, "max_source_positions", 16)) * 2
        every["input_features"] = Spec(
            ("batch", int(getattr(entry.config, "num_mel_bins", 80)), length), origin="the configuration"
        )
    for name in ("input_ids", "decoder_input_ids"):
        if name in every:
            every[name] = every[name]._replace(high=min(high, vocabulary(entry)))
    main = str(getattr(entry, "main_input_name", "input_ids"))
    tries = [
        [main],
        [main, "decoder_input_ids"],
        ["input_ids", "pixel_values"],
        ["inputs_embeds"],
        ["input_ids", "attention_mask"],
    ]
    if getattr(entry.config, "is_encoder_decoder", False):
        tries[:2] = [tries[1], tries[0]]
    for names in tries:
        if all(name in every for name in names):
            yield Try(
                {**{one.name: one.options[0] for one in want.choices}, **{name: every[name] for name in names}},
                want.sizes,
            )
    try:
        dummy = entry.dummy_inputs
    except Exception:
        return
    if isinstance(dummy, dict):
        yield Try(map_specs(dummy, _same), want.sizes)


def _same(spec: Spec) -> Spec:
    return spec
