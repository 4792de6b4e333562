"""Exceptions caught inside the region: an operator of the graph raises past the traced ``try``."""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Context, Facts
from graphmend_lsp.mend.base import Site

_CONVERSIONS = frozenset({"format", "item", "tolist", "numpy", "int", "float", "bool", "complex"})


def around(site: Site, what: str, *, handlers_only: bool = False) -> str | None:
    """Why an exception raised at the site may not leave the region; None if it does.

    ``what`` names the site in messages. With ``handlers_only`` a ``try`` that only cleans up is no reason.
    """
    if _tries(site.event.context, handlers_only):
        return f"a `try` around {what} may catch the exception" + ("" if handlers_only else ", or clean up after it")
    for context in site.event.context.withs:
        if _swallows(context):
            return f"`with {context}` catches the exception"
    for facts, _, contexts in calls_of(site):
        for context in contexts:
            if _tries(context, handlers_only) or any(_swallows(name) for name in context.withs):
                return f"`{facts.function.qualname}` calls the function with {what} where the exception may be caught"
    return None


def may_raise(target: ast.stmt) -> bool:
    """Whether an effect can fail by its values: a test, a format specification, a value read to the host."""
    for node in ast.walk(target):
        if isinstance(node, (ast.If, ast.Subscript)):
            return True
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _CONVERSIONS:
                return True
    return False


def calls_of(site: Site) -> list[tuple[Facts, ast.AST, list[Context]]]:
    """Every call in the region that leads to the site: the caller, the function it calls, what is around the call."""
    found: list[tuple[Facts, ast.AST, list[Context]]] = []
    todo: list[ast.AST] = [site.function.node]
    seen: set[ast.AST] = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for facts in site.callers.get(node, ()):
            found.append((facts, node, facts.call_contexts.get(node, [])))
            todo.append(facts.function.node)
    return found


def _tries(context: Context, handlers_only: bool) -> bool:
    return any(block.catches or not handlers_only for block in context.tries)


def _swallows(context: str) -> bool:
    return "suppress" in context or "raises" in context or "ExitStack" in context
