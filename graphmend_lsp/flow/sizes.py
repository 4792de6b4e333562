"""Tests whether a tensor is empty whose size is data: ``idx.numel() == 0`` after ``idx = mask.nonzero()``.

Where TorchDynamo captures operators with such a result, the size is a symbol of which it knows that it is not
negative.  Measured with torch 2.13 (``fullgraph=True``): to ask whether it is zero raises, by ``numel()``, ``len()``,
``shape[0]`` or ``size(0)``, through arithmetic by elements (the truth of the size raises even without ``fullgraph``).
To ask whether it is at least zero, for the number of dimensions, or for a dimension that is not data does not, nor does
computing with it.  Other comparisons depend on what bounds the size.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.values import UNKNOWN, Kind, Value

_ROWS = frozenset({"nonzero", "argwhere", "where", "masked_select", "x[mask]"})
"""Operators whose first dimension is data."""
_COUNTED = _ROWS | {"x[:, mask]", "unique", "repeat_interleave"}
_ASKED: dict[type[ast.cmpop], int] = {ast.Eq: 0, ast.NotEq: 0, ast.Gt: 0, ast.LtE: 0, ast.GtE: 1, ast.Lt: 1}
"""With which number a size is compared to ask whether it is zero."""
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.Lt,
    ast.Lt: ast.Gt,
    ast.GtE: ast.LtE,
    ast.LtE: ast.GtE,
}


def emptiness(node: ast.expr, values: Mapping[int, Value], sized: Mapping[int, str]) -> Value | None:
    """The tensor whose size is data, if a test asks whether it is empty.

    ``values`` are those of the expressions, ``sized`` the names of the operators whose results have such a size, both
    by ``id`` of the node.
    """
    if isinstance(node, ast.Compare):
        if len(node.ops) != 1:
            return None
        kind, left, right = type(node.ops[0]), node.left, node.comparators[0]
        if isinstance(left, ast.Constant):
            kind, left, right = _MIRRORED.get(kind, kind), right, left
        if not isinstance(right, ast.Constant) or type(right.value) is not int or _ASKED.get(kind) != right.value:
            return None
        node = left
    asked = _size_of(node)
    if asked is None:
        return None
    of, rows = asked
    value = values.get(id(of), UNKNOWN)
    if value.kind is not Kind.TENSOR or value.mixed or value.array:
        return None
    token: Any = value.shape
    if tensors.tag(token) == "dense":
        token = token[1]
    if tensors.tag(token) in ("op", "item") and token[1] in sized:
        name = sized[token[1]]
    elif value.roots and all(len(root) == 2 and root[0] == "op" and root[1] in sized for root in value.roots):
        name = sized[next(iter(value.roots))[1]]
    else:
        return None
    return value if name.rpartition(".")[2] in (_ROWS if rows else _COUNTED) else None


def _size_of(node: ast.expr) -> tuple[ast.expr, bool] | None:
    """The tensor whose size an expression is, and whether that is the size of its first dimension."""
    if isinstance(node, ast.Subscript):
        owner, index = node.value, node.slice
        first = isinstance(index, ast.Constant) and index.value == 0
        if isinstance(owner, ast.Call) and not owner.args and _named(owner.func, "size") is not None:
            owner = owner.func
        of = _named(owner, "shape") or _named(owner, "size")
        return (of, True) if of is not None and first else None
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        return node.args[0], True
    if not node.args:
        of = _named(node.func, "numel") or _named(node.func, "nelement")
        return None if of is None else (of, False)
    of = _named(node.func, "size")
    first = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
    return (of, True) if of is not None and first else None


def _named(node: ast.expr, name: str) -> ast.expr | None:
    return node.value if isinstance(node, ast.Attribute) and node.attr == name else None
