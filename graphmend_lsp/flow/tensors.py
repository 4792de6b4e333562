"""Metadata of tensors: which dtype and shape a result has, as tokens.

A dtype token is a concrete name (``"float16"``), ``("floating", root)`` for an unknown floating dtype or
``("any", root)`` for an unknown one; equal tokens mean equal dtypes.  A shape token is ``()`` for a 0-d
tensor or something opaque; equal tokens mean equal shapes and strides.  What is computed element by element has the
strides of its operand only if that is dense, which a view need not be: ``("view", root)``, ``("item", ...)`` and
``("spread", root)`` (several elements in one place) become ``("dense", token)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from graphmend_lsp.flow.ops import Argument, OpFact
from graphmend_lsp.flow.values import MISSING, Kind, Value, holds_tensor

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "half", "float", "double"})
_USUAL = {"half": "float16", "float": "float32", "double": "float64", "long": "int64", "int": "int32", "short": "int16"}
DTYPES = frozenset(
    "float16 bfloat16 float32 float64 half float double int8 uint8 int16 int32 int64 long int short bool "
    "complex64 complex128".split()
)
CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
}


NUMPY_FLOAT = "numpy float"
"""The dtype token of what numpy makes of plain numbers: an array whose float is known while tracing."""
SPREADING = frozenset("expand expand_as broadcast_to broadcast_tensors as_strided unfold".split())
_PARTS = frozenset("narrow select diagonal".split())
_RELAID = frozenset("contiguous cumsum cumprod logcumsumexp masked_fill roll tril triu logsigmoid".split())
"""Same shape, but strides of their own."""


def dtype_name(dotted: str) -> str | None:
    """``torch.half`` -> ``float16``; None if it is not a dtype."""
    name = dotted.removeprefix("torch.")
    return _USUAL.get(name, name) if name in DTYPES and dotted.startswith("torch.") else None


def is_floating(token: Any) -> bool:
    return token in FLOATS if isinstance(token, str) else isinstance(token, tuple) and token[:1] == ("floating",)


def is_known_float(value: Value) -> bool:
    """Whether it is what numpy makes of plain numbers, a float that is known while tracing."""
    return value.kind is Kind.TENSOR and value.dtype == NUMPY_FLOAT and not value.mixed


def promote(values: Iterable[Value]) -> Any:
    """dtype token of an arithmetic result, None where it is not known.

    Assumes arithmetic dtypes: a tensor of unknown dtype is not bool where it is added to an int.
    """
    tensors: list[Value] = []
    numbers: list[Value] = []
    for value in values:
        (tensors if value.kind is Kind.TENSOR else numbers).append(value)
    if tensors and all(is_known_float(t) for t in tensors) and all(n.kind is Kind.PYTHON for n in numbers):
        return NUMPY_FLOAT
    if not tensors or any(t.dtype is None or t.mixed or t.array for t in tensors):
        return None
    tokens = {t.dtype for t in tensors}
    if len(tokens) > 1:
        full = {t.dtype for t in tensors if t.shape != ()}
        if len(full) != 1 or not all(is_floating(t) for t in tokens):
            return None
        tokens = full
    token = tokens.pop()
    if is_floating(token):
        return token if all(n.kind is not Kind.SCALAR and n.dtype != "complex" for n in numbers) else None
    for value in numbers:
        if value.dtype in ("int", "bool") and token != "bool":
            continue
        return None
    return token


def shape_of(values: Iterable[Value], fresh: Any) -> Any:
    """Shape token of a broadcast result: the common one, or ``fresh``."""
    shapes = {v.shape for v in values if v.kind is Kind.TENSOR}
    if len(shapes) > 1:
        shapes.discard(())
    if len(shapes) == 1:
        only = shapes.pop()
        return fresh if only is None else computed(only)
    return fresh


def computed(shape: Any) -> Any:
    """Shape token of what is computed element by element from a tensor with this one."""
    return ("dense", shape) if tag(shape) in ("view", "spread", "item") else shape


def is_element(shape: Any) -> bool:
    """Whether a shape token is that of a part that an index or an iteration took from a tensor."""
    return tag(shape) == "item"


def tag(shape: Any) -> Any:
    """What sort of shape token it is; None where nothing is known, or it is a shape."""
    return cast("tuple[Any, ...]", shape)[0] if isinstance(shape, tuple) and shape else None


def view_shape(name: str, source: Any, root: Any) -> Any:
    """Shape token of a view of a tensor with the shape token ``source``."""
    if name in SPREADING:
        return ("spread", root)
    return ("view", root) if name in _PARTS or computed(source) != source else root


def may_overlap(shape: Any) -> bool:
    """Whether several elements may lie in one place, so that writing in place raises."""
    return tag(shape) == "spread"


def relaid(name: str, shape: Any, root: Any) -> Any:
    """The shape token, another one for an operation that has strides of its own."""
    return root if name in _RELAID and shape != () else shape


def device_of(values: Iterable[Value]) -> Any:
    devices = {v.device for v in values if v.kind is Kind.TENSOR}
    return devices.pop() if len(devices) == 1 else None


def result_dtype(rule: str | None, first: Value | None, operands: list[Value]) -> Any:
    """dtype token of an op's result by the rule of its fact."""
    if rule is None:
        return None
    token = first.dtype if first is not None and first.kind is Kind.TENSOR and not first.array else None
    if rule == "same":
        return token
    if rule in ("float", "sum"):
        if is_floating(token):
            return token
        return "int64" if rule == "sum" and token in ("int64", "bool", "int32") else None
    if rule == "promote":
        return promote(operands)
    if rule == "promote_float":
        found = promote(operands)
        return found if is_floating(found) else None
    return rule


def argument(value: Value) -> Argument:
    """How ``OpFact.for_call`` wants an argument described."""
    if value.kind is Kind.TENSOR:
        if value.mixed:
            return "unknown"
        return "bool_tensor" if value.dtype == "bool" else "tensor"
    if value.const is not MISSING:
        if value.const is None:
            return "none"
        if value.const is True:
            return "true"
        if value.const is False:
            return "false"
        name = type(value.const).__name__
        return name if name in ("int", "float", "str") else "other"  # type: ignore[return-value]
    if value.kind is Kind.PYTHON:
        if value.null:
            return "unknown"
        if value.dtype in ("int", "float", "str", "bool"):
            return value.dtype
        return "sequence" if value.dtype == "size" else "unknown"
    if value.kind is Kind.CONTAINER:
        return "sequence"
    if value.kind in (Kind.NAMESPACE, Kind.MODULE, Kind.FUNCTION):
        return "other"
    return "unknown"


def decided(fact: OpFact, positional: list[Value], keywords: dict[str, Value]) -> OpFact:
    """The fact for one call."""
    if not fact.variants:
        return fact
    return fact.for_call([argument(v) for v in positional], {k: argument(v) for k, v in keywords.items()})


def uses_tensor(values: Iterable[Value]) -> bool:
    return any(holds_tensor(v) for v in values)
