"""Exceptions caught inside the region: an operator of the graph raises past the traced ``try``."""

from __future__ import annotations

import ast
import re

from graphmend_lsp.flow.events import Context, Facts
from graphmend_lsp.flow.host import TRANSPARENT_CONTEXTS
from graphmend_lsp.flow.values import UNKNOWN, Kind, Value
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.names import called_name
from graphmend_lsp.model.walk import walk

_CONVERSIONS = frozenset({"format", "item", "tolist", "numpy", "int", "float", "bool", "complex"})
_REAL = re.compile(r"[-+ ]?0?\d*,?(\.\d+)?[eEfFgG%]")


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


def cleaned_up(site: Site, what: str) -> str | None:
    """A ``finally`` that the exception passes without running it; None if there is none."""
    if any(block.node.finalbody for block in site.event.context.tries):
        return f"a `finally` is to clean up behind {what}"
    for facts, _, contexts in calls_of(site):
        if any(block.node.finalbody for context in contexts for block in context.tries):
            return f"`{facts.function.qualname}` is to clean up in a `finally` behind {what}"
    return None


def entered(site: Site, what: str) -> str | None:
    """A context that a compiled graph may not have left when an operator at the site raises; None if there is none."""
    context = site.event.context
    modes = [name for name in context.withs if name in TRANSPARENT_CONTEXTS]
    if modes or context.no_grad:
        return f"`{modes[0] if modes else 'torch.no_grad'}` is switched on before {what}"
    if context.withs:
        return f"`with {context.withs[0]}` is entered before {what}"
    for facts, _, contexts in calls_of(site):
        for outer in contexts:
            if outer.withs or outer.no_grad:
                name = outer.withs[0] if outer.withs else "torch.no_grad"
                return f"`{name}` is switched on in `{facts.function.qualname}` before {what}"
    return None


def may_raise(site: Site, target: ast.stmt) -> bool:
    """Whether an effect can fail by its values: a test, a format specification, a value read to the host."""
    for node in ast.walk(target):
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.If) and not _decides(site, node.test)):
            return True
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None and not _formats(site, node):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return True
        if isinstance(node, ast.Call) and called_name(node) in _CONVERSIONS and not _is_number(_operand(site, node)):
            return True
    return False


def _decides(site: Site, test: ast.expr) -> bool:
    """Whether a test surely has one truth."""
    if isinstance(test, ast.BoolOp):
        return all(_decides(site, part) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _decides(site, test.operand)
    return _is_number(site.value(test))


def _formats(site: Site, node: ast.FormattedValue) -> bool:
    """Whether a number is surely formatted by a specification for real numbers."""
    spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
    text = spec[0].value if len(spec) == 1 and isinstance(spec[0], ast.Constant) else ""
    return isinstance(text, str) and bool(_REAL.fullmatch(text)) and _is_number(site.value(node.value))


def _is_number(value: Value) -> bool:
    if value.kind is Kind.PYTHON:
        return value.dtype in ("int", "float", "bool")
    return value.kind is Kind.SCALAR or (value.kind is Kind.TENSOR and value.shape == ())


def _operand(site: Site, node: ast.Call) -> Value:
    """What a conversion converts: the receiver of ``.item()``, the argument of ``float()``."""
    if isinstance(node.func, ast.Attribute):
        return site.value(node.func.value) if not node.args else UNKNOWN
    return site.value(node.args[0]) if len(node.args) == 1 else UNKNOWN


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
    return any(block.catches or not handlers_only or _ends(block.node.finalbody) for block in context.tries)


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a ``finally`` may end an exception by leaving it."""
    leaving = (ast.Return, ast.Break, ast.Continue, ast.Raise)
    return any(isinstance(node, leaving) for stmt in body for node in walk(stmt))


def _swallows(context: str) -> bool:
    return "suppress" in context or "raises" in context or "ExitStack" in context
