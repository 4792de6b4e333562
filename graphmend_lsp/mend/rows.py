"""[List]: numbers are taken from the Python list that a tensor was made of, not out of the tensor.

``shapes = torch.as_tensor(shapes_list)`` keeps what was known while tracing on the device; a loop over its rows that
needs sizes waits for it.  The loop runs over the list instead, and where it stands in a function that gets the tensor,
the call passes the list (the Python twin of dynamo-facts, section E; the detectors of transformers are written so).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind, Value
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.numbers import Uses
from graphmend_lsp.mend.scope import parameters, writes
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.walk import children, is_name, last_name, own_nodes, walk

ORDER = 4
KIND = "list"
_CODES = frozenset({"GM101", "GM103", "GM301", "GM401", "GM402"})
_MAKES = frozenset({"torch.tensor", "torch.as_tensor", "torch.LongTensor", "torch.IntTensor"})
_INTEGERS = frozenset({"torch.long", "torch.int64", "torch.int", "torch.int32"})
_READS = frozenset({"len", "enumerate", "zip", "list", "tuple", "range", "sum", "max", "min", "sorted", "isinstance"})
_MAX_CALLS = 8
"""Calls that a tensor and its list are followed through."""


@dataclass(frozen=True)
class _Twin:
    """The list that a tensor was made of: its name where the tensor is used, and what is known of it."""

    name: str
    value: Value


@dataclass(frozen=True)
class _Made:
    """What is replaced by what, where, and what that changes."""

    node: ast.expr
    text: str
    function: FunctionInfo
    changes: tuple[str, ...]


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    first = made[0]
    title = f"Take the numbers from `{first.text}`, which `{first.function.chunk.source_of(first.node)}` was made of"
    changes = tuple(dict.fromkeys(change for each in made for change in each.changes))
    if not changes:
        return [Offer(KIND, title, "safe")]
    return [Offer(KIND, title, "unsafe", "; ".join(changes), ("host-value",))]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such list")
    own = tuple(ExpressionReplacement(m.node, m.text) for m in made if m.function.node is site.function.node)
    elsewhere = tuple(
        (m.function, (ExpressionReplacement(m.node, m.text),))
        for m in made
        if m.function.node is not site.function.node
    )
    return Draft(own, elsewhere=elsewhere)


def _made(site: Site) -> list[_Made] | Refusal | None:
    if site.code not in _CODES or site.function.parent is not None or isinstance(site.function.node, ast.Lambda):
        return None
    loop = _loop(site)
    if loop is None:
        return None
    rows = _rows(loop.iter)
    if rows is None:
        return None
    made = _in_function(site, loop, rows)
    return made if made is not None else _at_calls(site, loop, rows)


def _in_function(site: Site, loop: ast.For, rows: ast.Name) -> list[_Made] | Refusal | None:
    """The tensor is made in the same function."""
    found = _made_of(site, site.facts, rows)
    if found is None:
        return None
    uses = _uses(site, loop, found.value)
    if isinstance(uses, Refusal):
        return uses
    return [_Made(rows, found.name, site.function, tuple(uses.changes))]


def _at_calls(site: Site, loop: ast.For, rows: ast.Name) -> list[_Made] | Refusal | None:
    """The tensor is a parameter: what calls the function from the same class or function may pass the list."""
    function = site.function
    if rows.id not in parameters(function) or _stored(function, rows.id):
        return None
    made: list[_Made] = []
    for caller in site.callers.get(function.node, []):
        if caller.function.chunk is not function.chunk:
            continue
        for call in _calls(caller, function):
            argument = _arguments(call, caller.calls[id(call)].function).get(rows.id)
            if not isinstance(argument, ast.Name) or any(each.node is argument for each in made):
                continue
            found = _twin(site, caller, argument, call, 0)
            if found is None:
                continue
            uses = _uses(site, loop, found.value)
            if isinstance(uses, Refusal):
                return uses
            others = _other_use(function, rows)
            if others is not None:
                return Refusal(KIND, "host-value", f"`{rows.id}` is used as a tensor, too, in line {others.lineno}")
            said = f"`{function.name}` gets the list `{found.name}` instead of a tensor"
            made.append(_Made(argument, found.name, caller.function, (said, *uses.changes)))
    return made or None


def _loop(site: Site) -> ast.For | None:
    """The loop whose row the number at fault comes from."""
    node, test = site.event.node, site.event.test
    faults = [datum.node for datum in test.data] if test is not None else [node]
    names = {inner.id for fault in faults for inner in walk(fault) if isinstance(inner, ast.Name)}
    around = [each for each in site.event.context.loops if isinstance(each, ast.For)]
    for loop in reversed(around):
        given = {inner.id for inner in walk(loop.target) if isinstance(inner, ast.Name)}
        if _rows(loop.iter) is not None and (names & given or names & _set_in(loop)):
            return loop
    return None


def _set_in(loop: ast.For) -> set[str]:
    return {name for stmt in loop.body for name in writes(stmt)}


def _rows(node: ast.expr) -> ast.Name | None:
    """``x`` of ``x`` and ``enumerate(x)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate" and node.args:
        node = node.args[0]
    return node if isinstance(node, ast.Name) else None


def _uses(site: Site, loop: ast.For, value: Value) -> Uses | Refusal:
    """What the loop does with the numbers of its rows, if numbers of Python serve as well."""
    target = loop.target
    if isinstance(loop.iter, ast.Call):
        target = target.elts[-1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
    row = value.element
    items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    names = [item.id for item in items if isinstance(item, ast.Name)]
    nested = row is not None and row.kind is Kind.CONTAINER
    if nested is isinstance(target, ast.Name) or len(names) < len(items):
        return Refusal(KIND, "unsupported", "the loop does not unpack its rows into numbers")
    if not _holds_ints(value):
        return Refusal(KIND, "host-value", "the list is not known to hold ints")
    uses = Uses(site, set(names))
    fault = uses.fault()
    if fault is not None:
        text = f"`{site.source(fault)}` in line {fault.lineno} needs a tensor, or gives another result with an int"
        return Refusal(KIND, "host-value", text)
    return uses


def _holds_ints(value: Value | None) -> bool:
    if value is None:
        return False
    if value.kind is Kind.CONTAINER:
        return value.dtype in ("list", "tuple", "size") and _holds_ints(value.element)
    return value.kind is Kind.PYTHON and value.null == 0 and value.dtype in ("int", "size")


# -- the list of a tensor ------------------------------------------------------------------------------------


def _twin(site: Site, facts: Facts, name: ast.Name, at: ast.Call, depth: int) -> _Twin | None:
    """The list that a tensor was made of, as it is called where the tensor is passed on."""
    found = _made_of(site, facts, name)
    if found is not None:
        return found if not _changes_list(facts, found.name, at) else None
    function = facts.function
    names = parameters(function)
    if depth >= _MAX_CALLS or name.id not in names or _stored(function, name.id):
        return None
    agreed: _Twin | None = None
    for caller in site.callers.get(function.node, []):
        for call in _calls(caller, function):
            given = _arguments(call, function)
            tensor = given.get(name.id)
            if not isinstance(tensor, ast.Name):
                return None
            inner = _twin(site, caller, tensor, call, depth + 1)
            if inner is None:
                return None
            passed = [n for n, node in given.items() if isinstance(node, ast.Name) and node.id == inner.name]
            passed = [n for n in passed if not _stored(function, n)]
            if len(passed) != 1 or (agreed is not None and agreed.name != passed[0]):
                return None
            agreed = _Twin(passed[0], inner.value)
    return agreed


def _made_of(site: Site, facts: Facts, name: ast.Name) -> _Twin | None:
    """``items`` of ``name = torch.as_tensor(items)``, the only place that gives the name a value."""
    function = facts.function
    stores = _stored(function, name.id)
    if len(stores) != 1 or name.id in parameters(function):
        return None
    stmt = next((s for s in own_nodes(function.node) if isinstance(s, ast.Assign) and s.targets == [stores[0]]), None)
    made = stmt.value if stmt is not None else None
    if not isinstance(made, ast.Call) or function.module.dotted(made.func) not in _MAKES or len(made.args) != 1:
        return None
    types = [function.module.dotted(k.value) for k in made.keywords if k.arg == "dtype"]
    items = made.args[0]
    if not isinstance(items, ast.Name) or any(found not in _INTEGERS for found in types):
        return None
    if stmt not in _body(function) or len(_stored(function, items.id)) > 1 or items.lineno > name.lineno:
        return None
    if _changed_after(function, items):
        return None
    return _Twin(items.id, facts.values.get(id(items), UNKNOWN))


def _changed_after(function: FunctionInfo, items: ast.Name) -> bool:
    """Whether a list may change once the tensor is made of it, other than in what gets it as an argument."""
    parents = {id(child): node for node in own_nodes(function.node) for child in children(node)}
    for node in own_nodes(function.node):
        if not isinstance(node, ast.Name) or node.id != items.id or node.lineno <= items.lineno:
            continue
        parent = parents.get(id(node))
        if not isinstance(parent, (ast.Call, ast.keyword, ast.For, ast.comprehension)) or isinstance(
            node.ctx, ast.Store
        ):
            return True
        if isinstance(parent, ast.Call) and parent.func is node:
            return True
    return False


def _changes_list(facts: Facts, name: str, until: ast.Call | None, depth: int = 0) -> bool:
    """Whether something that gets the list, before a call if that is named, may change it."""
    for node in own_nodes(facts.function.node):
        if not isinstance(node, ast.Call) or node is until or (until is not None and node.lineno > until.lineno):
            continue
        if not any(is_name(each, name) for each in (*node.args, *(keyword.value for keyword in node.keywords))):
            continue
        callee = facts.calls.get(id(node))
        if callee is None:
            dotted = facts.function.module.dotted(node.func) or ""
            if not dotted.startswith(("torch.", "builtins.")) and last_name(node.func) not in _READS:
                return True
            continue
        given = _arguments(node, callee.function)
        passed = [parameter for parameter, value in given.items() if is_name(value, name)]
        if not passed or depth >= _MAX_CALLS or any(_writes(callee, parameter, depth) for parameter in passed):
            return True
    return False


def _writes(facts: Facts, name: str, depth: int) -> bool:
    """Whether a function may change the list that it gets as a parameter, or keep it where others can."""
    parents = {id(child): node for node in walk(facts.function.node) for child in children(node)}
    for node in walk(facts.function.node):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = parents.get(id(node))
        read = isinstance(parent, (ast.For, ast.comprehension, ast.Compare, ast.Call, ast.keyword)) or (
            isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)
        )
        if not read or not isinstance(node.ctx, ast.Load):
            return True
    return _changes_list(facts, name, None, depth + 1)


# -- functions and calls -------------------------------------------------------------------------------------


def _body(function: FunctionInfo) -> list[ast.stmt]:
    return [] if isinstance(function.node, ast.Lambda) else function.node.body


def _stored(function: FunctionInfo, name: str) -> list[ast.Name]:
    return [
        node
        for node in own_nodes(function.node)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]


def _other_use(function: FunctionInfo, rows: ast.Name) -> ast.Name | None:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Name) and node.id == rows.id and node is not rows:
            return node
    return None


def _calls(caller: Facts, function: FunctionInfo) -> list[ast.Call]:
    return [
        node
        for node in own_nodes(caller.function.node)
        if isinstance(node, ast.Call)
        and (callee := caller.calls.get(id(node))) is not None
        and callee.function.node is function.node
    ]


def _arguments(call: ast.Call, function: FunctionInfo) -> dict[str, ast.expr]:
    """What a call gives to which parameter; nothing where it unpacks arguments."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    arguments = function.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if function.cls is not None and "builtins.staticmethod" not in function.decorator_names():
        names = names[1:]
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
    return given | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
