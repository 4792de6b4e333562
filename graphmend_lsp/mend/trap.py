"""[Trap]: guards and assertions become operators of the graph that raise."""

from __future__ import annotations

import ast
import builtins
import re

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.base import known_write
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend import caught, effects, names, scope
from graphmend_lsp.mend.base import Draft, Replacement, Site
from graphmend_lsp.mend.checks import TENSOR_CHECKS, UNSAID, check_of
from graphmend_lsp.mend.conditions import Condition, Conditions
from graphmend_lsp.mend.layout import call, indent_unit, line_width, reindent
from graphmend_lsp.mend.sources import one_line, operand
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.rules.base import raises_only

ORDER = 20
_CODES = frozenset({"GM301", "GM302"})
_BROAD = frozenset({"", "Exception", "BaseException"})
_EXCEPTIONS = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)
)
_ASYNC = (
    "the exception becomes a RuntimeError with a constant message; "
    "on CUDA it arrives later and ends the use of the device"
)

_ANY_TYPE = "; a condition that is not of dtype bool is no longer refused"


def propose(site: Site) -> list[Offer | Refusal]:
    if site.code not in _CODES:
        return []
    target = _target(site)
    if isinstance(target, Refusal):
        return [target]
    refused = _caught(site, target)
    if refused is not None:
        return [refused]
    result: list[Offer | Refusal] = []
    made = _lowered(site, target)
    if isinstance(made, Refusal):
        result.append(made)
    else:
        written = _written_before(site)
        title = "Run the check as an effect of the graph (same exception)"
        if written is None:
            result.append(Offer("trap", title, "safe", "", ("exception-type",)))
        else:
            changes = f"{written}: a compiled graph has not done so, or not undone it, when the check fails"
            result.append(Offer("trap", title, "unsafe", changes, ("state-write",)))
            result.append(Refusal("trap", "state-write", changes))
    condition = _async(site, target)
    if isinstance(condition, Condition):
        title = "Assert on the device with torch._assert_async"
        changes = _ASYNC + (_ANY_TYPE if site.event.name in TENSOR_CHECKS and not _is_bool(site) else "")
        passed = caught.cleaned_up(site, "the check")
        changes += f"; {passed}, which does not run" if passed is not None else ""
        result.append(Offer("assert", title, "unsafe", changes, ("exception-type",)))
    return result


def build(site: Site, offer: Offer) -> Draft | Refusal:
    target = _target(site)
    if isinstance(target, Refusal):
        return target
    rest = _else_lines(site, target)
    if offer.kind == "trap":
        made = _lowered(site, target)
        if isinstance(made, Refusal):
            return made
        lines = (*made.call_lines, *rest)
        return Draft((Replacement(target, target, lines),), (made.helper,), ("graph_effect",))
    condition = _async(site, target)
    if not isinstance(condition, Condition):
        return Refusal("assert", "unsupported", "the condition cannot be computed on the device")
    torch, needed = torch_name(site)
    lines = (*_assert_lines(site, target, condition, torch), *rest)
    return Draft((Replacement(target, target, lines),), needs_torch=needed)


# -- the statement --------------------------------------------------------------------------------------


def _target(site: Site) -> ast.stmt | Refusal:
    stmt = site.event.stmt
    if isinstance(stmt, ast.If):
        if scope.is_elif(site.function, stmt, site.source(stmt)):
            return Refusal("trap", "control-flow", "the guard is an `elif`: it depends on the tests before it")
        if any(isinstance(r, ast.Raise) and (r.exc is None or not _no_cause(r)) for r in ast.walk(stmt)):
            return Refusal("trap", "unsupported", "the exception refers to another one that is being handled")
        return stmt
    if isinstance(stmt, ast.Assert):
        return stmt
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and stmt.value is site.event.node:
        condition = site.event.value
        if site.event.name != "torch._assert" and condition is not None and condition.kind is Kind.TENSOR:
            if site.event.name not in TENSOR_CHECKS:
                message = f"`{site.event.name}` takes a Python bool and raises a TypeError for a tensor"
                return Refusal("trap", "exception-type", message)
        return stmt
    return Refusal("trap", "host-value", "the result of the check is used")


def _no_cause(stmt: ast.Raise) -> bool:
    return stmt.cause is None or (isinstance(stmt.cause, ast.Constant) and stmt.cause.value is None)


def _else_lines(site: Site, target: ast.stmt) -> tuple[str, ...]:
    """The ``else`` of a guard follows it, one level further out."""
    if not isinstance(target, ast.If) or not target.orelse or raises_only_chain(target):
        return ()
    lines: list[str] = []
    for stmt in target.orelse:
        raw = site.chunk.raw_text(stmt.lineno)
        indent = raw[: len(raw) - len(raw.lstrip())]
        source = site.source(stmt)
        if source.startswith("elif"):
            source = source[2:]
        lines.extend(reindent(source, indent, ""))
    return tuple(lines)


def raises_only_chain(stmt: ast.If) -> bool:
    """``if a: raise ... elif b: raise ...`` moves as a whole."""
    while True:
        if not raises_only(stmt):
            return False
        if not stmt.orelse:
            return True
        if len(stmt.orelse) != 1:
            return False
        inner = stmt.orelse[0]
        if isinstance(inner, ast.Raise):
            return True
        if not isinstance(inner, ast.If):
            return False
        stmt = inner


def _lowered(site: Site, target: ast.stmt) -> effects.Lowered | Refusal:
    message: list[ast.expr] = []
    test: list[ast.expr] = []
    moved = target
    if isinstance(target, ast.If):
        message = [n.exc for n in ast.walk(target) if isinstance(n, ast.Raise) and n.exc is not None][:1]
        test = [target.test]
        if target.orelse and not raises_only_chain(target):
            moved = ast.copy_location(ast.If(target.test, target.body, []), target)
            last = target.body[-1]
            moved.end_lineno, moved.end_col_offset = last.end_lineno, last.end_col_offset
    elif isinstance(target, ast.Assert):
        message = [target.msg] if target.msg is not None else []
        test = [target.test]
    elif isinstance(target, ast.Expr) and isinstance(target.value, ast.Call):
        check = check_of(site, target.value)
        message = [check.message] if check.message is not None else []
        test = [check.condition] if check.condition is not None else []
    words = names.constant_text(message)
    return effects.lower(site, moved, "trap", "check", message if words.strip() else test, hoist=None)


# -- conditions of legality -------------------------------------------------------------------------------


def _caught(site: Site, target: ast.stmt) -> Refusal | None:
    """A ``try`` inside the region that would have caught the exception."""
    raised = _raised_names(target, site)
    around = caught.around(site, "the check", handlers_only=True)
    if around is not None:
        return Refusal("trap", "caught-exception", around)
    for function in site.module.functions:
        for node in ast.walk(function.node):
            if isinstance(node, ast.Try) and node.handlers and _calls(node.body, site.function.name):
                for handler in node.handlers:
                    if _catches(handler, raised):
                        message = (
                            f"`{function.qualname}` calls `{site.function.name}` in a `try` that catches the exception"
                        )
                        return Refusal("trap", "caught-exception", message)
    return None


def _raised_names(target: ast.stmt, site: Site) -> set[str]:
    if isinstance(target, ast.If):
        found: set[str] = set()
        for node in ast.walk(target):
            if isinstance(node, ast.Raise) and node.exc is not None:
                exc = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                found.add(site.source(exc).rpartition(".")[2])
        return found
    if isinstance(target, ast.Expr) and isinstance(target.value, ast.Call):
        raised = check_of(site, target.value).raised
        return {raised} if raised in _EXCEPTIONS else set(_EXCEPTIONS)  # a type that is not known may be any
    return {"AssertionError"}


def _calls(body: list[ast.stmt], name: str) -> bool:
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Call) and names.called_name(node) == name:
                return True
    return False


def _catches(handler: ast.ExceptHandler, raised: set[str]) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    named = {ast.unparse(t).rpartition(".")[2] for t in types}
    return bool(named & _BROAD or named & raised or "RuntimeError" in named)


def _written_before(site: Site) -> str | None:
    """A write that a compiled graph applies only after the check: in the function, or in a caller before the call."""
    if site.event.written is not None:
        return f"{site.event.written.message} before the check"
    around = caught.cleaned_up(site, "the check") or caught.entered(site, "the check")
    if around is not None:
        return around
    for facts in (site.facts, *site.others):
        for event in facts.events:
            if event.node is site.event.node and event.written is not None:
                return f"{event.written.message} before the check"
    for facts, node, _ in caught.calls_of(site):
        why = facts.written_at.get(node)
        if why is not None and known_write(why):
            return f"{why.message} in `{facts.function.qualname}`, before it calls the function with the check"
    return None


# -- torch._assert_async ----------------------------------------------------------------------------------


def _async(site: Site, target: ast.stmt) -> Condition | None:
    torch, _ = torch_name(site)
    test = site.event.test
    if isinstance(target, ast.Expr):
        return _checked(site, target.value) if isinstance(target.value, ast.Call) else None
    if test is None:
        return None
    node = target.test if isinstance(target, (ast.If, ast.Assert)) else None
    if node is None or (isinstance(target, ast.If) and (len(target.body) > 1 or isinstance(target.body[0], ast.If))):
        return None
    condition = Conditions(site, torch, test.data).rewrite(node)
    if condition.issues or condition.before or condition.python:
        return None
    if isinstance(target, ast.Assert) and condition.static:
        return None
    return condition


def _checked(site: Site, call: ast.Call) -> Condition | None:
    """The condition of a check of torch, as one truth."""
    condition = check_of(site, call).condition
    if condition is None:
        return None
    text = one_line(site.source(condition))
    if site.event.name == "torch._assert":
        return Condition(text)
    if site.event.name not in TENSOR_CHECKS:
        return None
    values = [facts.values.get(id(condition), UNKNOWN) for facts in (site.facts, *site.others)]
    if not all(value.kind is Kind.TENSOR and not value.mixed and not value.array for value in values):
        return None
    return Condition(text if values[0].shape == () else f"{operand(condition, text)}.all()")


def _is_bool(site: Site) -> bool:
    return site.event.value is not None and site.event.value.dtype == "bool"


def _assert_lines(site: Site, target: ast.stmt, condition: Condition, torch: str) -> list[str]:
    text = condition.text if condition.exact else _reduced(condition.text)
    message = "assertion failed"
    if isinstance(target, ast.If):
        text = f"{torch}.logical_not({condition.text})"
        if not condition.exact:
            text = _reduced(text)
        raised = target.body[-1]
        if isinstance(raised, ast.Raise) and isinstance(raised.exc, ast.Call):
            message = _constant_message(raised.exc.args) or site.source(raised.exc.func)
        elif isinstance(raised, ast.Assert) and raised.msg is not None:
            message = _constant_message([raised.msg]) or message
    elif isinstance(target, ast.Assert) and target.msg is not None:
        message = _constant_message([target.msg]) or message
    elif isinstance(target, ast.Expr) and isinstance(target.value, ast.Call):
        check = check_of(site, target.value)
        message = UNSAID if site.event.name in TENSOR_CHECKS and check.message is None else message
        message = _constant_message([check.message] if check.message is not None else []) or message
    quote = "'" if "'" in site.source(target) and '"' not in site.source(target) else '"'
    unit = indent_unit(site.module.parsed.text)
    raw = site.chunk.raw_text(target.lineno)
    indent = raw[: len(raw) - len(raw.lstrip())].expandtabs(4)
    room = line_width(site.module.parsed.text) - len(indent)
    lines = call("", f"{torch}._assert_async", [text, f"{quote}{message}{quote}"], room=room, indent=unit)
    if condition.static:
        return [f"if {' and '.join(condition.static)}:", *(unit + line for line in lines)]
    return lines


def _reduced(text: str) -> str:
    return f"({text}).reshape(())" if not text.endswith(")") else f"{text}.reshape(())"


def _constant_message(nodes: list[ast.expr]) -> str:
    """The constant words of a message without what Inductor's C++ cannot hold."""
    parts: list[str] = []
    for given in nodes[:1]:
        node = given.body if isinstance(given, ast.Lambda) else given
        for item in node.values if isinstance(node, ast.JoinedStr) else [node]:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                parts.append(item.value)
            elif isinstance(item, ast.FormattedValue):
                parts.append("...")
    text = re.sub(r"[\"'\\\r\n\t{}%]", " ", "".join(parts))
    return " ".join(text.split())
