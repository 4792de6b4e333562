"""Whether a function has anything that may break a graph, by the look of it."""

from __future__ import annotations

import ast
from functools import cache
from weakref import WeakKeyDictionary

from graphmend_lsp.flow import host, ops, untraceable
from graphmend_lsp.model.module import FunctionNode
from graphmend_lsp.model.walk import children, last_name, walk

_COMPUTING = frozenset({"torch", "F", "np", "numpy", "th"})
_LOOKS = frozenset({"isinstance", "hasattr", "len", "callable", "getattr", "issubclass", "type"})

_EFFECTS = frozenset(
    {name.rpartition(".")[2] for name in host.PRINTS | host.WARNS | host.CHECKS | host.DELIBERATE}
    | host.LOG_METHODS
    | {"str", "repr", "any", "all", "sorted", "filter", "_assert", "append", "extend", "insert", "appendleft"}
)
_BUILTINS = frozenset(
    {"int", "float", "bool", "complex", "round", "range", "list", "tuple", "set", "min", "max", "sum"}
)
_REDUCTIONS = frozenset({"sum", "max", "min", "amax", "amin", "prod", "argmax", "argmin"})


_known: WeakKeyDictionary[FunctionNode, bool] = WeakKeyDictionary()
"""Trees never change, and those that an edit does not touch stay."""


def may_break(node: FunctionNode) -> bool:
    """False for a function whose tests only look at None, types and attributes, and which calls and indexes nothing
    that may print, wait for the device or have a size that is data.

    A superset of what the rules flag, which need not be exact: it saves work.
    """
    known = _known.get(node)
    if known is None:
        known = _known[node] = _may_break(node)
    return known


def _may_break(node: FunctionNode) -> bool:
    nodes = list(walk(node))
    local = {item.id for item in nodes if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    local |= {item.arg for item in nodes if isinstance(item, ast.arg)}
    return any(_suspect(item, local) for item in nodes)


def _suspect(item: ast.AST, local: set[str]) -> bool:
    if isinstance(item, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return not _static(item.test, local)
    if isinstance(item, ast.comprehension):
        return not all(_static(test, local) for test in item.ifs)
    if isinstance(item, (ast.BoolOp, ast.Match)):
        return not _static(item.subject if isinstance(item, ast.Match) else item, local)
    if isinstance(item, ast.For):
        return isinstance(item.iter, ast.Call) or not _static(item.iter, local)
    if isinstance(item, ast.AugAssign):
        return not isinstance(item.target, ast.Name) or item.target.id not in local
    if isinstance(item, ast.Subscript):
        return isinstance(item.ctx, ast.Load) and not _static_index(item.slice, local)
    if isinstance(item, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(item, ast.Attribute):
        return isinstance(item.ctx, ast.Store) and item.attr in ("requires_grad", "data")
    return isinstance(item, ast.Call) and _may_wait(item)


def _may_wait(call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Name) and func.id in _BUILTINS:
        return True
    return last_name(func) in _calls() or _last_two(func) in _calls() or any(map(_reduces, call.args))


@cache
def _calls() -> frozenset[str]:
    return _EFFECTS | ops.data_dependent() | untraceable.plain_names()


def _last_two(node: ast.expr) -> str:
    """``b.c`` of ``a.b.c``; empty for a plain name."""
    return f"{last_name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def _reduces(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _REDUCTIONS


def _size(item: ast.AST) -> bool:
    called = item.func if isinstance(item, ast.Call) else item
    return isinstance(called, ast.Attribute) and called.attr in ("shape", "ndim", "size", "dim", "numel")


def _is_self(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def _static_index(node: ast.expr, local: set[str]) -> bool:
    """Whether an index is made of constants, of sizes, of what ``self`` holds and of what is not local (a type)."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    if all(isinstance(p, ast.Attribute) and last_name(p.value) in _COMPUTING for p in parts):
        return True  # an annotation
    bounds = [b for p in parts for b in ((p.lower, p.upper, p.step) if isinstance(p, ast.Slice) else (p,)) if b]
    return all(_static(b, local, sizes=True) for b in bounds)


def _static(test: ast.expr, local: set[str], *, sizes: bool = False) -> bool:
    """Whether a test reads no local name but to look at it (or, with ``sizes``, at its sizes), and computes nothing."""
    todo: list[ast.AST] = [test]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in item.ops):
            continue
        if isinstance(item, ast.Call) and last_name(item.func) in _LOOKS:
            continue
        if sizes and (_size(item) or (isinstance(item, ast.Attribute) and _is_self(item.value))):
            continue
        if isinstance(item, ast.Name) and (item.id in local or item.id in _COMPUTING):
            return False
        todo += children(item)
    return True
