"""[Length]: ``repeat_interleave`` is told how long its result is, where the repeats come from a list of Python ints.

``torch.repeat_interleave(x, torch.tensor(counts), dim=0)`` gets ``output_size=sum(counts)`` (dynamo-facts, section E).
torch compares the size with the sum of the repeats and raises if they differ.  They do where one count is repeated for
all of the elements, so a list that may have one item only is unsafe.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, cast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null, Value
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.layout import flat
from graphmend_lsp.mend.scope import local_names, parameters
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.walk import own_nodes, walk

ORDER = 34
KIND = "length"
_MAKERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.LongTensor"})
_MUTATORS = frozenset("append extend insert pop remove clear sort reverse".split())
_ONE = "a list with one number, which is repeated for all elements, raises: the size is then not its sum"


@dataclass(frozen=True)
class Known:
    """The call, how long its result is, and whether that is surely so."""

    call: ast.Call
    size: str
    exact: bool


def propose(site: Site) -> list[Offer | Refusal]:
    known = known_length(site)
    if known is None:
        return []
    title = f"Pass `output_size={known.size}`, the sum of the repeats"
    if known.exact:
        return [Offer(KIND, title, "safe")]
    return [Offer(KIND, title, "unsafe", _ONE, ("may-raise",)), Refusal(KIND, "may-raise", _ONE)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    known = known_length(site)
    if known is None:
        return Refusal(offer.kind, "unsupported", "the repeats are not known")
    call = known.call
    given = [one_line(site.source(node)) for node in call.args]
    given += [f"{word.arg}={one_line(site.source(word.value))}" for word in call.keywords]
    text = f"{one_line(site.source(call.func))}({', '.join([*given, f'output_size={known.size}'])})"
    return Draft((ExpressionReplacement(call, text),))


def known_length(site: Site) -> Known | None:
    """What a call of ``repeat_interleave`` can be told, if the repeats come from a list that is in sight."""
    call = site.event.node
    if site.code != "GM501" or not isinstance(call, ast.Call):
        return None
    owner, _, name = site.event.name.rpartition(".")
    words = {word.arg: word.value for word in call.keywords}
    spread = any(isinstance(node, ast.Starred) for node in call.args)
    if name != "repeat_interleave" or spread or None in words or "output_size" in words:
        return None
    method = owner != "torch"
    at = 0 if method or (len(call.args) == 1 and "repeats" not in words and "input" not in words) else 1
    repeats = call.args[at] if len(call.args) > at else words.get("repeats")
    if repeats is None or flat(site.source(call)) is None:
        return None  # or there is a comment inside
    alone = not method and len(call.args) + len(words) == 1  # no input: how often each index comes
    made = _numbers(site, call, repeats)
    if made is None:
        return None
    many = all(_many(facts.values.get(id(made), UNKNOWN)) for facts in (site.facts, *site.others))
    if isinstance(made, (ast.List, ast.Tuple)):
        items = [item.value for item in made.elts if isinstance(item, ast.Constant) and type(item.value) is int]
        if len(items) < len(made.elts) or not (many or alone):
            return None
        return Known(call, str(sum(items)), True)
    return Known(call, f"sum({one_line(site.source(made))})", many or alone) if _is_builtin(site, "sum") else None


def _numbers(site: Site, call: ast.Call, repeats: ast.expr) -> ast.expr | None:
    """The list of ints that the repeats are made of, if it is still the same at the call."""
    function = site.function
    maker: ast.stmt | None = None
    if isinstance(repeats, ast.Name):
        maker = _only_binding(function, repeats.id)
        if not isinstance(maker, ast.Assign) or not _dominates(function, maker, site.event.stmt):
            return None
        if any(_writes(node, repeats.id) for node in own_nodes(function.node)):
            return None
        repeats = maker.value
    if not isinstance(repeats, ast.Call) or site.module.dotted(repeats.func) not in _MAKERS or len(repeats.args) != 1:
        return None
    given = repeats.args[0]
    if not all(_ints(facts.values.get(id(given), UNKNOWN)) for facts in (site.facts, *site.others)):
        return None
    if isinstance(given, ast.Name):
        stmt = _only_binding(function, given.id)
        first = (maker or site.event.stmt).lineno
        if not (isinstance(stmt, ast.Assign) and stmt.lineno < first) and not (
            given.id in parameters(function) and given.id not in function.stores
        ):
            return None
    elif not isinstance(given, (ast.List, ast.Tuple)):
        return None
    return given if maker is None or not _changes_between(function, maker, site.event.stmt) else None


def _ints(value: Value) -> bool:
    """Whether a value is a list or tuple of Python ints."""
    if value.kind is not Kind.CONTAINER or value.dtype not in ("list", "tuple") or value.null is not Null.NEVER:
        return False
    items = value.elements if value.elements is not None else (value.element,)
    return all(i is not None and i.kind is Kind.PYTHON and i.dtype == "int" and i.null is Null.NEVER for i in items)


def _many(value: Value) -> bool:
    """Whether a list certainly has more than one item."""
    return value.elements is not None and len(value.elements) > 1


def _only_binding(function: FunctionInfo, name: str) -> ast.stmt | None:
    """The one statement that gives a name of the function its value."""
    if name in parameters(function):
        return None
    found = [n for n in own_nodes(function.node) if isinstance(n, ast.stmt) and _binds(n, name)]
    stores = [n for n in walk(function.node) if isinstance(n, ast.Name) and n.id == name and _stored(n)]
    return found[0] if len(found) == len(stores) == 1 else None


def _binds(stmt: ast.stmt, name: str) -> bool:
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) > 1:
        return False
    return isinstance(stmt.targets[0], ast.Name) and stmt.targets[0].id == name


def _stored(node: ast.expr) -> bool:
    return not isinstance(getattr(node, "ctx", None), ast.Load)


def _dominates(function: FunctionInfo, first: ast.stmt, last: ast.stmt) -> bool:
    """Whether a statement comes before another one in its block, or in a block around that."""
    for node in (function.node, *own_nodes(function.node)):
        for block in ("body", "orelse", "finalbody"):
            inside: Any = getattr(node, block, None)
            stmts = cast("list[ast.stmt]", inside) if isinstance(inside, list) else []
            at = next((i for i, stmt in enumerate(stmts) if stmt is first), None)
            if at is not None:
                return any(n is last for later in stmts[at + 1 :] for n in walk(later))
    return False


def _writes(node: ast.AST, name: str) -> bool:
    """Whether something is written into what a name holds."""
    if isinstance(node, ast.Subscript) and _stored(node):
        return isinstance(node.value, ast.Name) and node.value.id == name
    if isinstance(node, ast.keyword):
        return node.arg == "out" and isinstance(node.value, ast.Name) and node.value.id == name
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    return node.func.attr.endswith("_") and isinstance(owner, ast.Name) and owner.id == name


def _changes_between(function: FunctionInfo, first: ast.stmt, last: ast.stmt) -> bool:
    """Whether a list may be changed by what stands between two statements."""
    for node in own_nodes(function.node):
        if not first.lineno < getattr(node, "lineno", 0) < last.lineno:
            continue
        if isinstance(node, ast.Subscript) and _stored(node):
            return True
        if isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and func.attr in _MUTATORS:
                return True
    return False


def _is_builtin(site: Site, name: str) -> bool:
    bound = name in site.module.bindings or bool(site.module.star_imports)
    return not bound and name not in local_names(site.function)
