"""Tensors to be made up: their shapes, kinds and values."""

from __future__ import annotations

import ast
import operator
import re
from typing import Any, Mapping, NamedTuple, Union, cast

import torch

Axis = Union[int, str]
"""A size, or the name of one: the same everywhere in a call."""

SIZES: Mapping[str, int] = {"batch": 2, "seq": 8, "features": 32, "height": 32, "width": 32, "heads": 4, "few": 4}


class Spec(NamedTuple):
    """One tensor.

    Args:
        shape: the sizes.
        dtype: of the values; a whole-number tensor has values below ``high``.
        origin: what it was concluded from, for the user.
        trailing: so many axes at the end are what was asked for; the others are free.  0 if all are meant.
        fixed: the numbers in the shape are the user's own.
        ones: all values are one, as those of a mask that hides nothing.
    """

    shape: tuple[Axis, ...]
    dtype: torch.dtype = torch.float32
    origin: str = ""
    high: int = 0
    trailing: int = 0
    fixed: bool = False
    ones: bool = False

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point or self.dtype.is_complex

    @property
    def is_image(self) -> bool:
        return "height" in self.shape


class Try(NamedTuple):
    """One try: the arguments by name (containers of specs, specs, or plain values), and the sizes of named axes.

    ``fill`` says with which values: "normal", "positive", "increasing", "ones" or "zeros".
    """

    arguments: Mapping[str, Any]
    sizes: Mapping[str, int]
    fill: str = "normal"

    def key(self) -> str:
        """Equal for tries that would be the same."""
        shown = {name: repr(map_specs(value, self._concrete)) for name, value in self.arguments.items()}
        return f"{shown} {self.fill}"

    def _concrete(self, spec: Spec) -> Any:
        return size_of(spec, self.sizes), spec.dtype, spec.high

    def made(self) -> dict[str, Any]:
        """The arguments themselves."""
        return {name: map_specs(value, self._tensor) for name, value in self.arguments.items()}

    def _tensor(self, spec: Spec) -> torch.Tensor:
        return tensor(spec, self.sizes, self.fill)

    def specs(self) -> list[Spec]:
        """All tensors."""
        found: list[Spec] = []
        map_specs(list(self.arguments.values()), found.append)
        return found

    def changed(self, change: Any) -> Try:
        """The same with every tensor as ``change`` gives it."""
        return self._replace(arguments={name: map_specs(value, change) for name, value in self.arguments.items()})


def map_specs(value: Any, change: Any) -> Any:
    """A container with its specs changed."""
    if isinstance(value, Spec):
        return change(value)
    if isinstance(value, dict):
        return {name: map_specs(item, change) for name, item in cast("dict[Any, Any]", value).items()}
    if type(value) in (list, tuple):
        return type(value)([map_specs(item, change) for item in cast("list[Any]", value)])
    return value


def size_of(spec: Spec, sizes: Mapping[str, int]) -> list[int]:
    """The shape in numbers."""
    return [axis if isinstance(axis, int) else _size(axis, sizes) for axis in spec.shape]


def tensor(spec: Spec, sizes: Mapping[str, int], fill: str = "normal") -> torch.Tensor:
    """Make one; whoever wants the same values again seeds the generator."""
    shape = size_of(spec, sizes)
    if spec.ones or fill == "ones":
        return torch.ones(shape, dtype=spec.dtype)
    if fill == "zeros":
        return torch.zeros(shape, dtype=spec.dtype)
    if spec.dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if not spec.is_float:
        return torch.randint(0, max(1, spec.high or 10), shape).to(spec.dtype)
    if fill == "normal":
        return torch.randn(shape, dtype=spec.dtype)
    positive = torch.rand(shape, dtype=spec.dtype) + 0.1
    return positive.cumsum(-1) if fill == "increasing" and shape else positive


def shown(spec: Spec, sizes: Mapping[str, int]) -> str:
    """For the user: ``float32[2, 32]``."""
    return f"{str(spec.dtype).rpartition('.')[2]}{size_of(spec, sizes)}"


# -- jaxtyping ---------------------------------------------------------------------------------------

_TEXT = re.compile(r"\b(\w+)\[\s*[\w.]+\s*,\s*f?[\"']([^\"']*)[\"']\s*\]")
_LETTERS: Mapping[str, str] = {
    "b": "batch", "bs": "batch", "n": "batch", "batch_size": "batch",
    "s": "seq", "t": "seq", "l": "seq", "time": "seq", "length": "seq", "seq_len": "seq", "tokens": "seq",
    "d": "features", "dim": "features", "d_model": "features", "hidden": "features", "embed": "features",
    "h": "height", "w": "width",
}  # fmt: skip
_NAMED: Mapping[str, int] = {
    "c": 3,
    "channels": 3,
    "channel": 3,
    "head": 4,
    "n_heads": 4,
    "num_heads": 4,
    "q": 8,
    "k": 8,
}


def annotated(hint: Any) -> Spec | None:
    """The tensor that a jaxtyping annotation, or its text, describes; None for any other annotation."""
    if isinstance(hint, str):
        found = _TEXT.search(hint)
        return None if found is None else _described(found[2], _dtype_of_class(found[1]))
    text = getattr(hint, "dim_str", None)
    if not isinstance(text, str):
        return None
    dtypes = getattr(hint, "dtypes", None)
    names = (
        [str(name) for name in cast("list[Any]", dtypes)] if isinstance(dtypes, (list, tuple, set, frozenset)) else []
    )
    return _described(text, _dtype_of_names(names))


def _dtype_of_class(name: str) -> torch.dtype:
    """``Float32`` and the like name one dtype, ``Float`` any of a kind."""
    exact = getattr(torch, name.lower(), None)
    if isinstance(exact, torch.dtype) and name[-1].isdigit():
        return exact
    if name.startswith(("Int", "UInt", "Integer")) and name != "Inexact":
        return torch.int64
    return {"Bool": torch.bool, "Complex": torch.complex64}.get(name, torch.float32)


def _dtype_of_names(names: list[str]) -> torch.dtype:
    for usual in ("float32", "int64", "bool", "complex64"):
        if usual in names:
            return getattr(torch, usual)
    known = [getattr(torch, name, None) for name in names]
    return next((dtype for dtype in known if isinstance(dtype, torch.dtype)), torch.float32)


def _described(text: str, dtype: torch.dtype) -> Spec:
    axes: list[Axis] = []
    for word in text.replace(",", " ").split():
        word = word.lstrip("#?")
        name, _, value = word.partition("=")
        if value.isdigit():
            word = value
        elif value:
            word = value.lstrip("#?")
        if word == "...":
            axes.append("batch")
        elif word.startswith("*"):
            axes.append(word.lstrip("*#?_") or "batch")
        elif word.startswith("_"):
            axes.append("few")
        elif word.lstrip("-").isdigit():
            axes.append(int(word))
        else:
            axes.append(word)
        del name
    return Spec(tuple(axes), dtype, "its annotation", 10, fixed=True)


def known_size(axis: str) -> int:
    """The size that a name stands for, before anything is known of the model."""
    low = axis.lower()
    if low in SIZES:
        return SIZES[low]
    return SIZES[_LETTERS[low]] if low in _LETTERS else _NAMED.get(low, 8)


def _divide(a: int, b: int) -> int:
    return a // b


_OPERATIONS: Mapping[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: _divide,
    ast.Div: _divide,
}


def _size(axis: str, sizes: Mapping[str, int]) -> int:
    """Of a named axis, or of a term such as ``2*dim+1``."""
    if axis in sizes:
        return sizes[axis]
    if axis.isidentifier():
        return known_size(axis)
    try:
        return max(1, _term(ast.parse(axis, mode="eval").body, sizes))
    except (SyntaxError, ValueError, ZeroDivisionError):
        return 8


def _term(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return _size(node.id, sizes)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_term(node.left, sizes), _term(node.right, sizes))
    raise ValueError(ast.dump(node))
