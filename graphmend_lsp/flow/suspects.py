"""Whether a function has anything that may break a graph, by the look of it."""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from graphmend_lsp.flow import host
from graphmend_lsp.model.module import FunctionNode
from graphmend_lsp.model.walk import children, last_name, walk

_COMPUTING = frozenset({"torch", "F", "np", "numpy", "th"})
_LOOKS = frozenset({"isinstance", "hasattr", "len", "callable", "getattr", "issubclass", "type"})

_EFFECTS = frozenset(
    {name.rpartition(".")[2] for name in host.PRINTS | host.WARNS | host.CHECKS}
    | host.LOG_METHODS
    | {"str", "repr", "any", "all", "sorted", "filter", "_assert", "append", "extend", "insert", "appendleft"}
)


_known: WeakKeyDictionary[FunctionNode, bool] = WeakKeyDictionary()
"""Trees never change, and those that an edit does not touch stay."""


def may_break(node: FunctionNode) -> bool:
    """False for a function whose tests only look at None, types and attributes, and which calls nothing that prints.

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
    return isinstance(item, ast.Call) and last_name(item.func) in _EFFECTS


def _static(test: ast.expr, local: set[str]) -> bool:
    """Whether a test reads no local name but to look at it, and computes nothing."""
    todo: list[ast.AST] = [test]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in item.ops):
            continue
        if isinstance(item, ast.Call) and last_name(item.func) in _LOOKS:
            continue
        if isinstance(item, ast.Name) and (item.id in local or item.id in _COMPUTING):
            return False
        todo += children(item)
    return True
