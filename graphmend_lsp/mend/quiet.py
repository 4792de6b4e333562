"""Whether a call only makes a value: if so, it may run a little later, inside an operator of the graph."""

from __future__ import annotations

import ast
import builtins

from graphmend_lsp.finding import Reason
from graphmend_lsp.flow import host
from graphmend_lsp.flow.ops import OpFact, function_fact, method_fact
from graphmend_lsp.flow.values import UNKNOWN, Bound, Kind, Value
from graphmend_lsp.mend import scope
from graphmend_lsp.mend.base import Site
from graphmend_lsp.model.module import ClassInfo

_QUIET_MODULES = ("math.", "cmath.", "operator.", "os.path.", "numpy.", "textwrap.", "string.", "time.", "datetime.")
_QUIET = frozenset({"pprint.pformat", "json.dumps", "pprint.saferepr", "reprlib.repr", "collections.OrderedDict"})
_EXCEPTIONS = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
)
_QUIET_BUILTINS = host.PURE_BUILTINS - {"next"} | _EXCEPTIONS
_CHANGING = frozenset(
    "append extend insert remove pop clear update setdefault popitem sort reverse add discard appendleft popleft "
    "__setitem__ __delitem__ send throw close write".split()
)
Verdict = tuple[Reason, str]


def changes(site: Site, node: ast.Call) -> Verdict | None:
    """What a call does beside giving a value, as a reason and in words; None if that is nothing."""
    text = " ".join(site.source(node).split())
    text = text if len(text) <= 50 else text[:49] + "…"
    facts = site.facts.calls.get(id(node))
    if facts is not None:
        if facts.random:
            return "random", f"`{text}` draws random numbers"
        if facts.writes is not None or facts.mutates:
            return "state-write", f"`{text}` may change more than it returns"
        return None
    callee = site.value(node.func)
    unknown: Verdict = ("side-effect", f"what `{text}` does beside its result is not known")
    if callee.kind is Kind.NAMESPACE and isinstance(callee.ref, str):
        return _named(callee.ref, text, unknown)
    if isinstance(callee.ref, Bound):
        return _method(callee.ref, text, unknown)
    if callee is UNKNOWN and (_deferred_builtin(site, node) or _deferred_tensor(site, node)):
        return None
    if callee.kind is Kind.CLASS and isinstance(callee.ref, ClassInfo):
        return None if site.engine.is_record(callee.ref) or _is_exception(site, callee.ref) else unknown
    return unknown


def _deferred_builtin(site: Site, node: ast.Call) -> bool:
    """Whether it is a quiet function of Python, in a lambda that the statement passes on."""
    if not isinstance(node.func, ast.Name) or node.func.id not in _QUIET_BUILTINS:
        return False
    return node.func.id not in site.module.bindings and node.func.id not in scope.local_names(site.function)


def _deferred_tensor(site: Site, node: ast.expr) -> bool:
    """Whether it is a tensor, or a number of one, made by quiet methods only, in a lambda that the statement passes on.

    What stands in a lambda has no value of its own; a name in it has the one that it has beside it, if the statement
    does not bind it.
    """
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        fact = method_fact(node.func.attr)
        if node.keywords or not all(isinstance(a, ast.Constant) for a in node.args):
            return False
        if fact is None or fact.kind == "attribute" or fact.mutates or fact.inplace_view or fact.random:
            return False
        node = node.func.value
    if not isinstance(node, ast.Name) or node.id in _bound(site.event.stmt):
        return False
    same = [n for n in ast.walk(site.event.stmt) if isinstance(n, ast.Name) and n.id == node.id]
    known = [value for value in map(site.value, same) if value is not UNKNOWN]
    return bool(known) and all(value.kind is Kind.TENSOR and not value.mixed for value in known)


def _bound(stmt: ast.stmt) -> set[str]:
    """Names that a statement binds anywhere inside, parameters of lambdas included."""
    found: set[str] = set()
    for node in ast.walk(stmt):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def _is_exception(site: Site, cls: ClassInfo) -> bool:
    return any(isinstance(base, str) and base.rpartition(".")[2] in _EXCEPTIONS for base in site.engine.mro(cls))


def _named(name: str, text: str, unknown: Verdict) -> Verdict | None:
    if name.startswith("builtins."):
        return None if name.removeprefix("builtins.") in _QUIET_BUILTINS else unknown
    if name.startswith("numpy.random."):
        return "random", f"`{text}` draws random numbers"
    if name.startswith("torch."):
        return _operator(function_fact(name), text, unknown)
    return None if name in _QUIET or name.startswith(_QUIET_MODULES) else unknown


def _method(bound: Bound, text: str, unknown: Verdict) -> Verdict | None:
    receiver: Value = bound.receiver
    if receiver.kind is Kind.TENSOR:
        return _operator(method_fact(bound.name), text, unknown)
    if bound.name in _CHANGING:
        return "container-mutation", f"`{text}` changes what it is called on"
    return None if receiver.kind in (Kind.CONTAINER, Kind.PYTHON) else unknown


def _operator(fact: OpFact | None, text: str, unknown: Verdict) -> Verdict | None:
    if fact is None:
        return unknown
    if fact.mutates or fact.inplace_view:
        return "state-write", f"`{text}` writes a tensor in place"
    return ("random", f"`{text}` draws random numbers") if fact.random else None
