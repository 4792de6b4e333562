"""How the behaviour of one run differs from that of another."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import torch

from .observe import Behaviour, Said
from .snapshot import Tree, digest

_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}
"""Largest deviation of compiled results, relative to the larger of 1, the value and the tensor's largest value.

Fused kernels round in another order; ten times and less of what ``torch.testing`` allows.
"""

_DECIMAL = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
_GRAD = re.compile(r",\s+(?:grad_fn=<[^>]*>|requires_grad=True)")
_ORDINARY = 1e5
"""Beyond this squares overflow in float16 and sums in float32 lose their digits: gradients are not compared."""


class Difference(NamedTuple):
    """``part`` is one of outputs, arguments, state, aliasing, text, exception, gradients, random."""

    part: str
    message: str


def differences(before: Behaviour, after: Behaviour, exact: bool = True) -> list[Difference]:
    """What of ``before`` is not so in ``after``; floats may deviate by rounding unless ``exact``."""
    found: list[Difference] = []
    said, then = (before.said, after.said) if exact else (_without_grad(before.said), _without_grad(after.said))
    if not _same_words(said, then, exact):
        found.append(Difference("text", _said_difference(said, then, exact)))
    if not _same_words(before.error, after.error, exact):
        found.append(Difference("exception", f"{_raised(before)} -> {_raised(after)}"))
        return found
    places = _Places() if exact else None
    if places is not None:
        places.meet(before.given, after.given)
        for name in before.initial.keys() & after.initial.keys():
            places.meet(before.initial[name], after.initial[name])
    for number, (old, new) in enumerate(zip(before.outputs, after.outputs)):
        _compare(old, new, places, "outputs", f"output of call {number + 1}", found)
    _compare(before.arguments, after.arguments, places, "arguments", "arguments", found)
    for name, old in before.state.items():
        if name in after.state:
            _compare(old, after.state[name], places, "state", name, found)
        else:
            found.append(Difference("state", f"{name} is gone"))
    _compare_gradients(before, after, found)
    aliasing = [difference for difference in found if difference.part == "aliasing"]
    found = [d for d in found if d.part != "aliasing" or d is aliasing[0]]  # the first one shifts all later numbers
    if before.random != after.random:
        found.append(Difference("random", "other random numbers are drawn"))
    return found


def _same_words(old: Any, new: Any, exact: bool) -> bool:
    """Whether what was said, or raised, is the same; the decimals in it may deviate by rounding unless ``exact``."""
    if exact or old == new:
        return bool(old == new)
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        olds, news = _items(old), _items(new)
        return len(olds) == len(news) and all(_same_words(x, y, exact) for x, y in zip(olds, news))
    if not isinstance(old, str) or not isinstance(new, str) or _DECIMAL.sub("", old) != _DECIMAL.sub("", new):
        return False
    numbers = [(float(a), float(b)) for a, b in zip(_DECIMAL.findall(old), _DECIMAL.findall(new))]
    largest = max((abs(number) for pair in numbers for number in pair), default=0.0)
    return all(abs(x - y) <= _TOLERANCE[torch.float32] * max(1.0, largest) for x, y in numbers)


def _items(value: Any) -> list[Any]:
    return list(value)


def _without_grad(said: list[Said]) -> list[Said]:
    """Printed tensors name their gradient function: compiled, another one, and inside of a graph none."""
    return [tuple(_GRAD.sub("", part) for part in each) for each in said]


def _raised(run: Behaviour) -> str:
    if run.error is None:
        return "no exception"
    name = run.error[0][len("builtins.") :] if run.error[0].startswith("builtins.") else run.error[0]
    return f"{name}: {_short(run.error[1])}"


def _short(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _said_difference(before: list[Said], after: list[Said], exact: bool) -> str:
    for old, new in zip(before, after):
        if not _same_words(old, new, exact):
            return f"{_shown(old)} -> {_shown(new)}"
    more, what = (before, "no longer said") if len(before) > len(after) else (after, "said in addition")
    return f"{what}: {_shown(more[min(len(before), len(after))])}"


def _shown(said: Said) -> str:
    if said[0] in ("out", "err"):
        return f"{_short(repr(said[1]))} on std{said[0]}"
    if said[0] == "record":
        return f"{said[2]} of logger {said[1]} in {said[4]}: {_short(repr(said[3]))}"
    return f"{said[1]} in {said[3]}: {_short(repr(said[2]))}"


class _Places:
    """Which object, and which memory, of one run is which of the other: the same ones throughout."""

    def __init__(self) -> None:
        self._there: dict[tuple[str, int], int] = {}
        self._back: dict[tuple[str, int], int] = {}

    def agree(self, what: str, old: int, new: int) -> bool:
        """Whether these two may be each other's counterpart; from then on they are."""
        return self._there.setdefault((what, old), new) == new and self._back.setdefault((what, new), old) == old

    def meet(self, old: Tree | None, new: Tree | None) -> None:
        """Take what stands at the same place in two trees for the same."""
        if old is None or new is None or old[0] != new[0]:
            return
        if old[0] == "tensor":
            self.agree("object", old[1], new[1])
            self.agree("memory", old[2], new[2])
        elif old[0] in ("items", "fields"):
            self.agree("object", old[1], new[1])
            if old[0] == "items":
                pairs = zip(old[3], new[3])
            else:
                known = dict(new[3])
                pairs = ((item, known.get(name)) for name, item in old[3])
            for a, b in pairs:
                self.meet(a, b)


def _compare(
    before: Tree | None, after: Tree | None, places: _Places | None, part: str, where: str, found: list[Difference]
) -> None:
    """Walk two trees side by side; a subtree's first difference is enough.  Without ``places`` values may round."""
    exact = places is not None
    stack: list[tuple[Any, Any, str]] = [(before, after, where)]
    while stack:
        old, new, place = stack.pop()
        if old is None or new is None:
            if old is not new:
                found.append(Difference(part, f"{place}: {old} -> {new}"))
            continue
        if old[0] != new[0]:
            found.append(Difference(part, f"{place}: {_named(old)} -> {_named(new)}"))
        elif old[0] == "value":
            if not _same_value(old[1], new[1], exact):
                found.append(Difference(part, f"{place}: {_short(repr(old[1]))} -> {_short(repr(new[1]))}"))
        elif old[0] == "tensor":
            difference = _tensor_difference(old, new, places, part)
            if difference is not None:
                aliasing = difference.startswith("shares")
                found.append(Difference("aliasing" if aliasing else part, f"{place} {difference}"))
        elif old[0] == "again":
            if places is not None and not places.agree("object", old[1], new[1]):
                found.append(Difference("aliasing", f"{place} is another object"))
        elif old[0] in ("opaque", "generator"):
            if old[1] != new[1]:
                words = f"{old[1]} -> {new[1]}" if old[0] == "opaque" else "other random numbers are drawn from it"
                found.append(Difference(part, f"{place}: {words}"))
        else:
            if old[2] != new[2]:
                found.append(Difference(part, f"{place}: {old[2]} -> {new[2]}"))
            elif places is not None and not places.agree("object", old[1], new[1]):
                found.append(Difference("aliasing", f"{place} is another object"))
            elif old[0] == "items":
                if len(old[3]) != len(new[3]):
                    found.append(Difference(part, f"{place}: {len(old[3])} items -> {len(new[3])}"))
                pairs = [(a, b, f"{place}[{n}]") for n, (a, b) in enumerate(zip(old[3], new[3]))]
                stack.extend(reversed(pairs))
            else:
                names, others = [name for name, _ in old[3]], [name for name, _ in new[3]]
                known = dict(new[3])
                missing = [name for name in names if name not in known]
                if missing or (names != others and (part != "state" or old[2] == "dict")):
                    found.append(Difference(part, f"{place}: fields {names} -> {others}"))
                pairs = [(item, known[name], f"{place}.{name}") for name, item in old[3] if name in known]
                stack.extend(reversed(pairs))


def _named(tree: Tree) -> str:
    return _short(repr(tree[1])) if tree[0] in ("value", "opaque") else tree[0]


def _same_value(old: Any, new: Any, exact: bool) -> bool:
    if type(old) is not type(new):
        return False
    if isinstance(old, float) and (old != old or new != new):
        return old != old and new != new
    if not exact and isinstance(old, (float, complex)):
        return old == new or abs(old - new) <= _TOLERANCE[torch.float32] * max(1.0, abs(old))
    return bool(old == new)


def _tensor_difference(old: Tree, new: Tree, places: _Places | None, part: str) -> str | None:
    a, b = old[7], new[7]
    exact = places is not None
    if old[5] != new[5]:
        return f"is of {new[5]}, not {old[5]}"
    if isinstance(a, str) or isinstance(b, str):  # unchanged weights, as a digest
        a, b = (data if isinstance(data, str) else digest(data) for data in (a, b))
        if a != b:
            return "has other values"
        return _other_place(old, new, places)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"is {_kind(b)}, not {_kind(a)}"
    if (
        exact
        and a.numel() > 1
        and any(
            one != other
            for one, other, size in zip(old[4], new[4], a.shape)
            if size != 1  # of one element it is no matter
        )
    ):
        return f"has strides {new[4]}, not {old[4]}"
    values = value_difference(a, b, exact)
    if values is not None:
        return values
    if exact and part == "arguments" and old[6] != new[6]:
        return f"{'requires' if new[6] else 'no longer requires'} a gradient"
    return _other_place(old, new, places)


def _other_place(old: Tree, new: Tree, places: _Places | None) -> str | None:
    if places is None:
        return None
    if not places.agree("object", old[1], new[1]):
        return "shares its identity with something else, or no longer does"
    if not places.agree("memory", old[2], new[2]) or old[3] != new[3]:
        return "shares its memory with something else, or no longer does"
    return None


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}"


def value_difference(a: torch.Tensor, b: torch.Tensor, exact: bool) -> str | None:
    """How the values of two tensors of one dtype and shape differ: not at all (None), or in words."""
    if a.numel() == 0:
        return None
    if not a.is_floating_point() and not a.is_complex():
        wrong: Any = a != b
    else:
        both_nan: Any = torch.isnan(a) & torch.isnan(b)
        wrong = ~(both_nan | (a == b))
        if exact and a.is_floating_point():
            wrong = wrong | (~both_nan & (torch.signbit(a) != torch.signbit(b)))
        if not exact and bool(wrong.any()):
            wide = torch.complex128 if a.is_complex() else torch.float64
            x, y = a.to(wide), b.to(wide)
            finite = x.abs()[torch.isfinite(x)]
            largest = float(finite.max()) if finite.numel() else 0.0
            wrong = ~(both_nan | ((x - y).abs() <= _TOLERANCE.get(a.dtype, 1e-5) * max(1.0, largest)) | (a == b))
    count = int(wrong.sum())
    if not count:
        return None
    first = int(wrong.reshape(-1).nonzero()[0])
    old, new = a.reshape(-1)[first].item(), b.reshape(-1)[first].item()
    return f"differs in {count} of {a.numel()} values, first {old!r} -> {new!r}"


def _is_ordinary(tree: Tree | None) -> bool:
    """Whether all floating-point tensors are finite and of a size that models see."""
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            continue
        if node[0] == "tensor":
            data = node[7]
            if isinstance(data, torch.Tensor) and data.is_floating_point() and not bool((data.abs() < _ORDINARY).all()):
                return False
        elif node[0] in ("items", "fields"):
            stack += [part if node[0] == "items" else part[1] for part in node[3]]
    return True


def _compare_gradients(before: Behaviour, after: Behaviour, found: list[Difference]) -> None:
    """No gradient counts as zeros: a side that is not taken had none.  They count for ordinary finite inputs only.

    They may deviate by rounding in eager mode, too: their sums are added in another order.
    """
    known = [g for g in before.gradients if g is not None]
    if not all(bool(torch.isfinite(g).all()) for g in known) or not _is_ordinary(before.given):
        return
    for number, (old, new) in enumerate(zip(before.gradients, after.gradients)):
        if old is None and new is None:
            continue
        shape: Any = old if old is not None else new
        a = torch.zeros_like(shape) if old is None else old
        b = torch.zeros_like(shape) if new is None else new
        difference = value_difference(a, b, exact=False) if a.shape == b.shape else "has another shape"
        if difference is not None:
            found.append(Difference("gradients", f"gradient {number} {difference}"))
