"""How a call is avoided that stands under a condition on a parameter: by what the function is passed.

Libraries warn about deprecated and missing arguments (``if attention_mask is None: logger.warning(...)``): a break that
goes away where the caller passes what is asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.flow.events import Event
from graphmend_lsp.model.walk import own_nodes

_Condition = tuple[ast.expr, bool]
"""A test, and the answer that leads to the place."""


def avoided(event: Event) -> str:
    """What to pass so that the place is not reached, as the end of a message; "" where that is not in sight."""
    node = event.function.node
    if isinstance(node, ast.Lambda):
        return ""
    for test, answer in reversed(_around(node.body, event.stmt)):
        for part, truth in _needed(test, answer):
            words = _Parameters(event, test.lineno).words(part, truth=truth)
            if words:
                return f"; {words}, and it is not reached"
    return ""


def _around(body: list[ast.stmt], stmt: ast.stmt) -> list[_Condition]:
    """The conditions around a statement, the outermost first."""
    todo: list[tuple[list[ast.stmt], list[_Condition]]] = [(body, [])]
    while todo:
        block, found = todo.pop()
        for item in block:
            if item is stmt:
                return found
            if isinstance(item, ast.If):
                todo += [(item.body, [*found, (item.test, True)]), (item.orelse, [*found, (item.test, False)])]
            elif isinstance(item, (ast.For, ast.AsyncFor, ast.While)):
                todo += [(item.body, found), (item.orelse, found)]
            elif isinstance(item, (ast.With, ast.AsyncWith)):
                todo.append((item.body, found))
            elif isinstance(item, ast.Try):
                handlers = [(handler.body, found) for handler in item.handlers]
                todo += [(item.body, found), *handlers, (item.orelse, found), (item.finalbody, found)]
    return []


def _needed(test: ast.expr, answer: bool) -> Iterator[_Condition]:
    """The parts of a test that must all have their answers: one that has not is enough."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _needed(test.operand, not answer)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if answer else ast.Or):
        for value in test.values:
            yield from _needed(value, answer)
    else:
        yield test, answer


class _Parameters:
    """The parameters of an event's function that still are what was passed, at a line."""

    def __init__(self, event: Event, line: int) -> None:
        function = event.function
        node = function.node
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        defaults = dict(zip(reversed(positional), reversed(args.defaults), strict=False))
        defaults.update({a: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None})
        stores = [n for n in own_nodes(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        changed = {n.id for n in stores if event.context.loops or n.lineno < line}
        self._event = event
        self._default = {a.arg: defaults.get(a) for a in (*positional, *args.kwonlyargs) if a.arg not in changed}
        self._rest = args.kwarg.arg if args.kwarg is not None and args.kwarg.arg not in changed else ""

    def words(self, node: ast.expr, *, truth: bool) -> str:
        """What to pass so that a test has the other answer."""
        if isinstance(node, ast.Name):
            default = self._default.get(node.id)
            known = isinstance(default, ast.Constant) and isinstance(default.value, bool)
            return f"pass `{node.id}={not truth}`" if known else ""
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, truth=truth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            if len(node.args) == 2 and isinstance(node.args[0], ast.Name) and node.args[0].id in self._default:
                name, kind = node.args[0].id, " ".join(self._event.function.chunk.source_of(node.args[1]).split())
                return f"pass `{name}` as something else than `{kind}`" if truth else f"pass `{name}` as `{kind}`"
        return ""

    def _compared(self, node: ast.Compare, *, truth: bool) -> str:
        left, right, op = node.left, node.comparators[0], node.ops[0]
        if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            if not isinstance(left, ast.Name) or left.id not in self._default:
                return ""
            if isinstance(op, ast.Is) is truth:
                return f"pass `{left.id}`"
            default = self._default[left.id]
            left_out = isinstance(default, ast.Constant) and default.value is None
            return f"leave out `{left.id}`" if left_out else f"pass None as `{left.id}`"
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, ast.Name) and right.id == self._rest:
            if isinstance(left, ast.Constant) and isinstance(left.value, str):
                return f"{'leave out' if isinstance(op, ast.In) is truth else 'pass'} `{left.value}`"
        return ""
