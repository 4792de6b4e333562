"""Whether a function has anything that may break a graph, by the look of it."""

from __future__ import annotations

import ast

from graphmend_lsp.flow import host
from graphmend_lsp.model.module import FunctionNode
from graphmend_lsp.model.walk import walk

_LOOKS = frozenset({"isinstance", "hasattr", "len", "callable", "getattr", "issubclass", "type"})

_EFFECTS = frozenset(
    {name.rpartition(".")[2] for name in host.PRINTS | host.WARNS | host.CHECKS}
    | host.LOG_METHODS
    | {"str", "repr", "any", "all", "sorted", "filter", "_assert"}
)


def may_break(node: FunctionNode) -> bool:
    """False for a function whose tests only look at None, types and attributes, and which calls nothing that prints.

    A superset of what the rules flag, which need not be exact: it saves work.
    """
    for item in walk(node):
        if isinstance(item, (ast.If, ast.While, ast.IfExp)):
            if not _static(item.test):
                return True
        elif isinstance(item, ast.comprehension):
            if not all(_static(test) for test in item.ifs):
                return True
        elif isinstance(item, (ast.For, ast.Assert, ast.Match)):
            return True
        elif isinstance(item, ast.Call) and _name(item.func) in _EFFECTS:
            return True
    return False


def _static(test: ast.expr) -> bool:
    todo = [test]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.BoolOp):
            todo += item.values
        elif isinstance(item, ast.UnaryOp):
            todo.append(item.operand)
        elif isinstance(item, ast.Compare):
            if not all(isinstance(op, (ast.Is, ast.IsNot)) for op in item.ops):
                return False
        elif isinstance(item, ast.Call):
            if _name(item.func) not in _LOOKS:
                return False
        elif not isinstance(item, (ast.Constant, ast.Attribute)):
            return False
    return True


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
