"""Which assertions TorchDynamo turns into one of the graph."""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Event, Test
from graphmend_lsp.rules.base import fails_always


def is_assertion(event: Event) -> bool:
    """Whether an ``if`` is an assertion of the graph: ``if not t: assert False`` is compiled as ``assert t``."""
    node, test = event.node, event.test
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.UnaryOp) or test is None:
        return False
    first = node.body[0]
    if not isinstance(node.test.op, ast.Not) or not isinstance(first, ast.Assert) or not fails_always(first):
        return False
    return cause_of(ast.Assert(node.test.operand, first.msg), test) is None


def cause_of(node: ast.Assert, test: Test) -> str | None:
    """Why the assertion breaks; None if TorchDynamo turns it into one of the graph."""
    if any(d.kind == "read" for d in test.data):
        return "its test reads a value to the host"
    truths = [d for d in test.data if d.kind == "truth"]
    if not truths:
        formatted = bool(test.carried) and node.msg is not None and not _constant_text(node.msg)
        return "its message is not a constant" if formatted else None
    leaf, negated = _last_operand(node.test)
    if negated:
        return "its test is negated"
    if any(d.node is not leaf for d in truths):
        return "its test asks for the truth of several tensors"
    if isinstance(leaf, ast.IfExp):
        return "its test is a conditional expression"
    if _is_combined(leaf):
        return "its test asks for the truth of several tensors"
    if node.msg is not None and not _constant_text(node.msg):
        return "its message is not a constant"
    return None


def _last_operand(node: ast.expr) -> tuple[ast.expr, bool]:
    negated = False
    while True:
        if isinstance(node, ast.BoolOp):
            node = node.values[-1]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, negated = node.operand, not negated
        else:
            return node, negated


def _is_combined(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return len(node.ops) > 1
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all")


def _constant_text(node: ast.expr) -> bool:
    """Whether a message is a string that the compiler of Python knows: an f-string without a field is one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _constant_text(node.left) and _constant_text(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _constant_text(node.left) and isinstance(node.right, ast.Constant) and type(node.right.value) is int
    if isinstance(node, ast.JoinedStr):
        return all(isinstance(part, ast.Constant) for part in node.values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
