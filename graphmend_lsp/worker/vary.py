"""Inputs beside the user's own, made from them so that code takes other paths."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import torch

from .entries import Call
from .snapshot import map_tensors, tensors_in


class Variation(NamedTuple):
    """``ordinary`` inputs are finite, so that gradients count; ``dtype`` is what the module is cast to as well
    (to floating-point ones only)."""

    label: str
    call: Call
    ordinary: bool = True
    dtype: torch.dtype | None = None


class Target(NamedTuple):
    """Where modules and inputs are moved first; None leaves them."""

    dtype: torch.dtype | None = None
    device: str | None = None


_Change = Callable[[torch.Tensor], torch.Tensor]
_OTHER_DTYPES = (torch.float64, torch.float16, torch.bfloat16)
DTYPES = ("float64", "float16", "bfloat16", "int64")
"""Labels of the variations that change the dtype, which code need not accept."""


def variations(call: Call) -> list[Variation]:
    """The call with its tensors zeroed, negated, scaled, with a NaN or infinity, and in other dtypes."""
    found = [
        Variation("zeros", _changed(call, torch.zeros_like)),
        Variation("negated", _changed(call, _negated)),
    ]
    floats = [t for t in tensors_in([list(call.args), dict(call.kwargs)]) if t.is_floating_point()]
    if not floats:
        return found
    found += [
        Variation("scaled by 50", _changed(call, _floating(lambda t: t * 50))),
        Variation("scaled by 0.01", _changed(call, _floating(lambda t: t * 0.01))),
        Variation("with a NaN", _changed(call, _floating(_with(float("nan")))), ordinary=False),
        Variation("with an infinity", _changed(call, _floating(_with(float("inf")))), ordinary=False),
    ]
    present = {tensor.dtype for tensor in floats}
    for dtype in _OTHER_DTYPES:
        if present != {dtype}:
            name = str(dtype).rpartition(".")[2]
            found.append(Variation(name, moved(call, Target(dtype)), ordinary=False, dtype=dtype))
    found.append(Variation("int64", _changed(call, _floating(_whole)), ordinary=False, dtype=torch.int64))
    return found


def moved(call: Call, target: Target) -> Call:
    """The call with its tensors on another device, those of floating point in another dtype."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        dtype = target.dtype if tensor.is_floating_point() else None
        return tensor.to(device=target.device or tensor.device, dtype=dtype or tensor.dtype)

    return call if target == Target() else _changed(call, change)


def entry_moved(build: Callable[[], Any], target: Target) -> Callable[[], Any]:
    """The same entry with its module, or its method's, in another dtype or on another device."""
    if target == Target():
        return build

    def build_and_move() -> Any:
        entry = build()
        owner = getattr(entry, "__self__", entry)
        if isinstance(owner, torch.nn.Module):
            owner.to(device=target.device, dtype=target.dtype)
        return entry

    return build_and_move


def _changed(call: Call, change: _Change) -> Call:
    memo: dict[int, Any] = {}  # an argument that is given twice stays one

    def once(tensor: torch.Tensor) -> Any:
        if id(tensor) not in memo:
            memo[id(tensor)] = change(tensor.detach())
        return memo[id(tensor)]

    return Call(map_tensors(call.args, once), map_tensors(dict(call.kwargs), once))


def _negated(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype == torch.bool:
        return ~tensor
    return -tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.clone()


def _floating(change: _Change) -> _Change:
    return lambda tensor: change(tensor) if tensor.is_floating_point() else tensor.clone()


def _with(value: float) -> _Change:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        changed = tensor.clone()
        if changed.numel():
            changed.reshape(-1)[0:1] = value  # a copy of what is not contiguous: then nothing changes
        return changed

    return change


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor * 10).round().to(torch.int64)
