"""Which tensors a parameter may be, from the layer that uses it, from its name, or from nothing."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from .demands import Use, wanted
from .shapes import Spec

_WHOLE = torch.int64
FIRST_LAYER = "the first layer"
"""The origin of a mere guess: nothing shows that the parameter is what that layer gets."""
_HIDDEN = ("batch", "seq", "features")

_IDS = re.compile(r"(^|_)(ids?|idx|tokens?|indices|input_ids|token_ids|sentences?|words?|chars)$")
_IMAGE = re.compile(r"pixel|image|^imgs?$|^img|frame|picture")
_STATES = re.compile(
    r"hidden_states?|embeds?$|embeddings?$|^(query|key|value|q|k|v|context|memory|queries|keys|values)$"
)
MASK = re.compile(r"mask")
_SEQUENCE = re.compile(r"attention|attn|transformer|block|encoder|decoder", re.IGNORECASE)


def tensors(name: str, use: Use, owner: Any) -> list[Spec]:
    """The tensors that a parameter may be, the likeliest first."""
    low = name.lower()
    by_name = "its name"
    if use.spec is not None:
        return _of_rank(_free(use.spec, owner, low), use.rank)
    options = _generic(owner)
    if MASK.search(low):
        options = [
            Spec(("batch", "seq"), _WHOLE, by_name, 2, ones=True),
            Spec(("seq", "seq"), torch.bool, by_name, ones=True),
            Spec(("batch", "seq"), torch.bool, by_name, ones=True),
            Spec(("seq", "seq"), origin=by_name),
            Spec(("batch", 1, "seq", "seq"), torch.bool, by_name, ones=True),
        ]
    elif re.search(r"token_type|segment", low):
        options = [Spec(("batch", "seq"), _WHOLE, by_name, 2)]
    elif low == "cache_position":
        options = [Spec(("seq",), _WHOLE, by_name, 8)]
    elif re.search(r"position_ids|positions?$|input_pos", low):
        options = [Spec(("batch", "seq"), _WHOLE, by_name, 8), Spec(("seq",), _WHOLE, by_name, 8)]
    elif re.search(r"length|lens$", low):
        options = [Spec(("batch",), _WHOLE, by_name, 8, ones=True)]
    elif re.search(r"time_?steps?$|^t$", low):
        options = [Spec(("batch",), _WHOLE, by_name, 10), Spec(("batch",), origin=by_name)]
    elif re.search(r"^(dones?|terminated|truncated|resets?|is_first)$", low):
        options = [Spec(("batch",), torch.bool, by_name), *options]
    elif re.search(r"label|target", low):
        options = [Spec(("batch",), _WHOLE, by_name, 2), Spec(("batch", "seq"), _WHOLE, by_name, 2), *options]
    elif _IDS.search(low):
        high = vocabulary(owner)
        options = [Spec(("batch", "seq"), _WHOLE, by_name, high), Spec(("seq",), _WHOLE, by_name, high), *options]
    elif _IMAGE.search(low):
        options = [Spec(("batch", channels, "height", "width"), origin=by_name) for channels in (_channels(owner), 1)]
    elif re.search(r"input_features", low):
        options = [Spec(("batch", 80, 32), origin=by_name)]
    elif re.search(r"audio|wav|input_values|signal", low):
        options = [Spec(shape, origin=by_name) for shape in (("batch", 1600), ("batch", 1, 1600))]
    elif _STATES.search(low):
        options = [
            Spec(_HIDDEN, origin=by_name),
            Spec(("batch", "heads", "seq", "features"), origin=by_name),
            Spec(("batch", "features"), origin=by_name),
        ]
    return _of_rank(options, use.rank)


def _free(spec: Spec, owner: Any, name: str) -> list[Spec]:
    """A tensor that a layer wants, with as many axes before as it may have."""
    if not spec.trailing:
        return [spec]
    if not spec.is_float:
        return [spec, spec._replace(shape=("seq",)), spec._replace(shape=("batch",))]
    last = spec.shape[len(spec.shape) - spec.trailing :]
    flat, long = spec._replace(shape=("batch", *last)), spec._replace(shape=("batch", "seq", *last))
    sequence = _STATES.search(name) or _SEQUENCE.search(type(owner).__name__) or len(spec.shape) > spec.trailing + 1
    four = spec._replace(shape=("batch", "few", "seq", *last))
    return [long, flat, four] if sequence else [flat, long, four]


def _of_rank(options: list[Spec], rank: int) -> list[Spec]:
    """Those with so many axes first, if the source says how many there are; one of another kind at least."""
    if not rank or not options:
        return options
    first = [spec for spec in options if len(spec.shape) == rank]
    if not first:
        first = [with_rank(options[0], rank, rank == 4 and not options[0].trailing)]
    return [*first, *(spec for spec in options if spec not in first)]


def with_rank(spec: Spec, rank: int, image: bool = False) -> Spec:
    """The same with another number of axes, if that is possible by adding or leaving out those in the middle."""
    shape = spec.shape
    if image and rank == 4:
        return spec._replace(shape=("batch", 3, "height", "width"), trailing=0)
    middle = ("heads", "seq", "few")
    if rank == 1:
        return spec._replace(shape=shape[-1:] or ("seq",))
    if len(shape) > rank:
        return spec._replace(shape=(*shape[: rank - 1], shape[-1]))
    base = shape if len(shape) > 1 else ("batch", *(shape or ("features",)))
    added = middle[1:2] if rank - len(base) == 1 and "seq" not in base else middle[: rank - len(base)]
    return spec._replace(shape=(*base[:1], *added, *base[1:]))


def _generic(owner: Any) -> list[Spec]:
    """Tensors of which nothing is known."""
    flat, long, square = Spec(("batch", "features")), Spec(_HIDDEN), Spec(("features", "features"))
    image, ids = Spec(("batch", 3, "height", "width")), Spec(("batch", "seq"), _WHOLE, high=10)
    line, scalar = Spec(("features",)), Spec(())
    if owner is None:
        return [flat, long, square, line, scalar, image, ids]
    first = (
        next((one for one in map(wanted, owner.modules()) if one is not None), None)
        if isinstance(owner, nn.Module)
        else None
    )
    guesses = [] if first is None else [first._replace(origin=FIRST_LAYER)]
    return [*guesses, flat, long, image, ids, line, scalar]


def vocabulary(owner: Any) -> int:
    if isinstance(owner, nn.Module):
        layer = next((one for one in owner.modules() if isinstance(one, nn.Embedding)), None)
        if layer is not None:
            return layer.num_embeddings
    return 10


def _channels(owner: Any) -> int:
    known = getattr(getattr(owner, "config", None), "num_channels", None)
    if isinstance(known, int):
        return known
    if isinstance(owner, nn.Module):
        layers = [one for one in owner.modules() if isinstance(one, nn.Conv2d)]
        if layers:
            return layers[0].in_channels
    return 3
