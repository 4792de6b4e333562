"""[Defer]: prints, log calls and warnings become effects of the graph, at their place and in their order."""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.mend import caught, effects, names, scope
from graphmend_lsp.mend.base import Draft, Replacement, Site

ORDER = 10
_CODES = frozenset({"GM201", "GM202", "GM203"})
_WORDS = {"print": "print", "log": "log call", "warn": "warning"}


def propose(site: Site) -> list[Offer | Refusal]:
    target = _target(site)
    if target is None:
        return []
    if isinstance(target, Refusal):
        return [target]
    made = _lowered(site, target)
    if isinstance(made, Refusal):
        return [made]
    what = _WORDS.get(site.event.kind, "effects")
    result: list[Offer | Refusal] = []
    changed = _changed(site, target)
    if site.event.kind == "if":
        title = "Run the test and its effects as one effect of the graph"
    else:
        title = f"Run the {what} as an effect of the graph"
    if changed is None:
        result.append(Offer("defer", title, "safe"))
    else:
        reason, changes = changed
        result.append(Offer("defer", title, "unsafe", changes, (reason,)))
        result.append(Refusal("defer", reason, changes))
    if site.event.kind == "print":
        result.append(Offer("delete", "Delete this print", "unsafe", "the text is no longer printed", ("side-effect",)))
    return result


def build(site: Site, offer: Offer) -> Draft | Refusal:
    target = _target(site)
    if target is None:
        return Refusal(offer.kind, "unsupported", "there is nothing to defer")
    if isinstance(target, Refusal):
        return target
    if offer.kind == "delete":
        return Draft((Replacement(target, target, ()),))
    made = _lowered(site, target)
    if isinstance(made, Refusal):
        return made
    return Draft((Replacement(target, target, tuple(made.call_lines)),), (made.helper,), ("graph_effect",))


def _target(site: Site) -> ast.stmt | Refusal | None:
    """The statement that moves: the call's own, or an ``if`` that does nothing but print, log or warn."""
    event = site.event
    if site.code == "GM101" and isinstance(event.node, ast.If):
        calls = effects.effect_calls(site.facts.events)
        if not effects.only_effects(event.node, calls):
            return None
        if scope.is_elif(site.function, event.node, site.source(event.node)):
            return Refusal("defer", "unsupported", "the test is an `elif`: it depends on the tests before it")
        return _surroundings(site, event.node) or event.node
    if site.code not in _CODES:
        return None
    if event.kind == "text":
        return Refusal("defer", "host-value", "the text is needed on the host")
    if not isinstance(event.stmt, ast.Expr) or event.stmt.value is not event.node:
        return Refusal("defer", "host-value", "the result of the call is used, so it must run on the host")
    if event.name.endswith((".isEnabledFor", ".getEffectiveLevel", ".hasHandlers", "getLogger", "get_logger")):
        return Refusal("defer", "host-value", "the answer of the call is needed on the host")
    return _surroundings(site, event.stmt) or event.stmt


def _surroundings(site: Site, target: ast.stmt) -> Refusal | None:
    context = site.event.context
    for name in context.withs:
        if any(word in name for word in effects.CAPTURING_CONTEXTS):
            return Refusal("defer", "side-effect", f"`with {name}` around it decides where the text goes")
    if site.event.kind == "warn" and any(block.catches for block in context.tries):
        return Refusal("defer", "caught-exception", "a warning that is turned into an error would be caught here")
    around = caught.around(site, "it", handlers_only=True) if caught.may_raise(site, target) else None
    return None if around is None else Refusal("defer", "caught-exception", around)


def _lowered(site: Site, target: ast.stmt) -> effects.Lowered | Refusal:
    calls = [s.value for s in ast.walk(target) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    first = calls[0]
    single = first if isinstance(target, ast.Expr) else None
    problem = _arguments(site, calls)
    if problem is not None:
        return problem
    message: list[ast.expr] = [*first.args, *(k.value for k in first.keywords if k.arg in ("msg", "message"))]
    return effects.lower(site, target, "defer", _prefix(site, first), message, hoist=single)


def _arguments(site: Site, calls: list[ast.Call]) -> Refusal | None:
    for item in calls:
        for argument in item.args:
            if isinstance(argument, ast.Starred):
                return Refusal("defer", "unsupported", f"`{site.source(argument)}` hides what is passed")
        for keyword in item.keywords:
            if keyword.arg is None:
                return Refusal("defer", "unsupported", "`**` hides what is passed")
            if keyword.arg == "file" and site.module.dotted(keyword.value) not in ("sys.stdout", "sys.stderr"):
                return Refusal(
                    "defer", "unsupported", "the stream it writes to cannot be handed to an operator of the graph"
                )
    return None


def _prefix(site: Site, call: ast.Call) -> str:
    name = names.called_name(call)
    if site.event.kind == "warn" or name.startswith(("warn", "warning")):
        return "warn"
    return (
        "log"
        if site.event.kind == "log" or name in ("info", "debug", "error", "critical", "log", "exception")
        else "report"
    )


def _changed(site: Site, target: ast.stmt) -> tuple[Reason, str] | None:
    """What deferring would change; None if nothing."""
    location = _location(target)
    if location is not None:
        return "location", location
    mode = caught.entered(site, "it") if caught.may_raise(site, target) else None
    return None if mode is None else ("side-effect", f"{mode}: if it fails, a compiled graph has not undone that")


def _location(target: ast.stmt) -> str | None:
    """Why the effect depends on the frame it runs in; None if it does not."""
    for node in ast.walk(target):
        if not isinstance(node, ast.Call):
            continue
        name = names.called_name(node)
        for keyword in node.keywords:
            constant = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == "stacklevel" and constant != 1:
                return "`stacklevel` names another line than before"
            if keyword.arg in ("exc_info", "stack_info") and constant not in (False, None):
                return f"`{keyword.arg}` shows another stack than before"
        if name == "warn" and len(node.args) > 2:
            return "`stacklevel` names another line than before"
        if name == "exception":
            return "the exception being handled is not known inside the graph"
        if name == "print_stack":
            return "the stack is another one than before"
    return None
