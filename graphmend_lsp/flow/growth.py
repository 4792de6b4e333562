"""State that is another one at each call: numbers that count on, texts and containers that grow.

TorchDynamo guards a graph by the Python state that it read while tracing.  Where the code itself changes that state in
each call, the guard fails in each call and the code is compiled again, until the limit of recompiles (8); then it runs
without a graph.  Measured with torch 2.4, 2.8 and 2.13: the length of a container and a text are guarded wherever they
live; the value of an ``int`` is guarded for good in what an ``nn.Module`` or a global holds, while elsewhere (closures,
arguments, plain objects), and for a ``float`` anywhere, the second compilation makes it symbolic.  In torch 2.4 it is
the other way round: a ``float`` is guarded for good, an ``int`` of a module becomes symbolic after four compilations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from graphmend_lsp.flow.events import Event, Facts, Growth, Owner
from graphmend_lsp.flow.values import MISSING, UNKNOWN, Kind, Value, changed
from graphmend_lsp.model.module import ClassInfo, FunctionInfo
from graphmend_lsp.model.walk import own_nodes, walk

if TYPE_CHECKING:
    from graphmend_lsp.flow.base import Base

_ADDING = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})
_TAKING = frozenset({"clear", "pop", "popleft", "popitem", "remove", "discard"})
_LOOKUPS = frozenset({"setdefault", "get"})
_NUMBERS: dict[str, Literal["number", "float", "text"]] = {"int": "number", "float": "float", "str": "text"}
_CONTAINERS = frozenset({"list", "tuple", "dict"})
LIMIT = 8
"""Recompiles of one function before TorchDynamo gives up (``torch._dynamo.config.recompile_limit``)."""
Path = tuple[str, ...]
"""``self.stats["n"]`` as ``("self", "stats", "['n']")``."""


def path_of(node: ast.expr) -> Path | None:
    """The steps from a name to a part of it; an index that is not written out is ``[]``."""
    steps: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            steps.append(_index(node.slice))
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKUPS:
            steps.append(_index(node.args[0]) if node.args else "[]")
            node = node.func.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type" and node.args:
            steps.append("__class__")
            node = node.args[0]
        else:
            return None
    return (node.id, *reversed(steps))


def _index(node: ast.expr) -> str:
    return f"[{node.value!r}]" if isinstance(node, ast.Constant) else "[]"


# -- what the interpreter tells ----------------------------------------------------------------------


def added_to(at: Base, stmt: ast.AugAssign, left: Value, right: Value) -> None:
    """``target op= value``, where the target is no tensor."""
    if _silent(at):
        return
    if not isinstance(stmt.op, (ast.Add, ast.Sub, ast.Mult, ast.LShift)):
        _settle(at, stmt.target)
    elif _changes(left, right, stmt.op):
        _grows(at, stmt.target, stmt, left)


def stored(at: Base, target: ast.Attribute | ast.Subscript | ast.Name, value: Value) -> None:
    """``target = value``, for a target that outlives the call."""
    stmt = at.stmt
    if _silent(at) or isinstance(stmt, ast.AugAssign):
        return
    given = stmt.value if isinstance(stmt, ast.Assign) else None
    if given is not None and _continues(at, given, target):
        _grows(at, target, stmt, value)
    elif isinstance(target, ast.Subscript) and _counts_up(target):
        _grows(at, target.value, stmt, at.facts.values.get(id(target.value), UNKNOWN))
    elif not _first_time(at, target):
        _settle(at, target)


def deleted(at: Base, target: ast.expr) -> None:
    """``del target``: of an item, its container is shorter."""
    if not _silent(at):
        _settle(at, target.value if isinstance(target, ast.Subscript) else target)


def called_on(at: Base, node: ast.Call, receiver: Value, name: str, added: Value | None) -> None:
    """A method of a container: does it get longer, or shorter?"""
    if _silent(at) or not isinstance(node.func, ast.Attribute):
        return
    if name in _TAKING:
        _settle(at, node.func.value)
    elif name in _ADDING and not (name.startswith("extend") and _is_empty(added)):
        _grows(at, node.func.value, node, receiver)


def passed_on(at: Base, node: ast.expr, facts: Facts) -> None:
    """Decide, where a function is called, whether what grows in one of its parameters outlives the call."""
    if _silent(at):
        return
    for name, event in tuple(facts.growing.values()):
        given = _argument(node, facts.function, name)
        path = None if given is None else _whole(at, given)
        if path is None or event.grows is None:
            continue
        found = _owner(at, path)
        if found == "parameter":
            at.facts.growing.setdefault((path[0], id(event.node)), (path[0], event))
        elif found is not None:
            _report(facts, event, replace(event.grows, owner=found), at.engine.release)


def at_entry(facts: Facts, release: tuple[int, int]) -> None:
    """What grows in the object whose method is compiled: that object outlives the call, other arguments may not."""
    function = facts.function
    args = function.node.args
    first = next(iter((*args.posonlyargs, *args.args)), None)
    if function.cls is None or first is None:
        return
    for name, event in facts.growing.values():
        if name == first.arg and event.grows is not None:
            _report(facts, event, replace(event.grows, owner="object"), release)


def settles(resets: set[str], growth: Growth) -> bool:
    """Whether code of the region brings the state back: sets it, or its container, to something else."""
    return any(growth.key == reset or growth.key.startswith(f"{reset}[") for reset in resets)


def kept_kind(at: Base, target: ast.expr, value: Value) -> Value:
    """What is stored, where a method is run to learn that: a number added to one that is not known yet is a number."""
    if value.kind is not Kind.UNKNOWN:
        return value
    stmt = at.stmt
    given: ast.expr | None = None
    if isinstance(stmt, ast.AugAssign):
        given = stmt.value
    elif isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.BinOp):
        path, node = path_of(target), stmt.value
        while isinstance(node.left, ast.BinOp) and not _reads(at, node.left, path):
            node = node.left
        given = node.right if _reads(at, node.left, path) else node.left if _reads(at, node.right, path) else None
    added = UNKNOWN if given is None else at.facts.values.get(id(given), UNKNOWN)
    return changed(added, const=MISSING, truth=None) if added.kind is Kind.PYTHON else value


# -- what grows --------------------------------------------------------------------------------------


def _silent(at: Base) -> bool:
    return at.eager or at.self_stores is not None or at.state.dead


def _grows(at: Base, target: ast.expr, node: ast.expr | ast.stmt, value: Value) -> None:
    number = value.kind is Kind.PYTHON and value.dtype in _NUMBERS
    if not number and not (value.kind is Kind.CONTAINER and value.dtype in _CONTAINERS):
        return
    path = _whole(at, target)
    if path is None or _bounded(at, path):
        return
    owner = _owner(at, path)
    if owner is None:
        return
    what = _NUMBERS[value.dtype] if number else "length"
    growth = Growth(owner, what, _key(at, target, path), target)
    at.emit("grow", node, name=growth.key, value=value)
    event = at.events.pop(("grow", id(node)), None)
    if event is None:
        return
    event = replace(event, grows=growth)
    if owner == "parameter":
        at.facts.growing[path[0], id(node)] = (path[0], event)
    elif growth.recompiles(at.engine.release):
        at.events["grow", id(node)] = event


def _report(facts: Facts, event: Event, growth: Growth, release: tuple[int, int]) -> None:
    if growth.recompiles(release) and all(
        known.node is not event.node or known.kind != "grow" for known in facts.events
    ):
        facts.events.append(replace(event, grows=growth))


def _changes(left: Value, right: Value, op: ast.operator) -> bool:
    if left.kind is Kind.CONTAINER:
        return isinstance(op, ast.Add) and not _is_empty(right)
    if right.kind is not Kind.PYTHON or right.dtype not in ("int", "float", "bool", "str"):
        return False
    neutral = 1 if isinstance(op, ast.Mult) else "" if right.dtype == "str" else 0
    return right.const is MISSING or right.const != neutral


def _is_empty(value: Value | None) -> bool:
    return value is not None and value.elements == ()


def _continues(at: Base, node: ast.expr, target: ast.expr) -> bool:
    """Whether an expression is the target's own value and more."""
    path = path_of(target)
    values = at.facts.values
    if isinstance(node, (ast.List, ast.Tuple)):
        return len(node.elts) > 1 and any(
            isinstance(item, ast.Starred) and path_of(item.value) == path for item in node.elts
        )
    if not isinstance(node, ast.BinOp):
        return False
    left, right = values.get(id(node.left), UNKNOWN), values.get(id(node.right), UNKNOWN)
    if isinstance(node.op, ast.Mod):
        small = not isinstance(right.const, int) or right.const <= LIMIT
        return not small and _continues(at, node.left, target)
    if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.LShift)):
        if _reads(at, node.left, path) or _continues(at, node.left, target):
            return _changes(left, right, node.op)
        if isinstance(node.op, (ast.Add, ast.Mult)) and _reads(at, node.right, path):
            return _changes(right, left, node.op)
    return False


def _reads(at: Base, node: ast.expr, path: Path | None) -> bool:
    return path_of(node) == path or (isinstance(node, ast.Name) and _whole(at, node) == path)


def _whole(at: Base, node: ast.expr) -> Path | None:
    """The path of an expression; a local name that is bound once, to a part of something, stands for that part."""
    path = path_of(node)
    for _ in range(3):
        if path is None or path[0] in at.facts.params or path[0] in at.globals:
            return path
        if path[0] not in at.function.stores:
            return path
        bound = [value for name, value in _assignments(at.function) if name == path[0]]
        inner = path_of(bound[0]) if len(bound) == 1 and isinstance(bound[0], (ast.Attribute, ast.Subscript)) else None
        if inner is None:
            return path
        path = (*inner, *path[1:])
    return path


def _assignments(function: FunctionInfo) -> Iterator[tuple[str, ast.expr | None]]:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            pass
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.With, ast.AugAssign, ast.NamedExpr, ast.AnnAssign)):
            for inner in walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id, None


def _counts_up(target: ast.Subscript) -> bool:
    """``items[len(items)] = x``: a new key each time."""
    path = path_of(target.value)
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
        and path_of(node.args[0]) == path
        for node in walk(target.slice)
    )


# -- whose it is -------------------------------------------------------------------------------------


def _owner(at: Base, path: Path) -> Owner | None:
    """What holds the state between calls; None for what is made in the call, or is not known."""
    root, function = path[0], at.function
    if root in at.globals and len(path) == 1:
        return "shared" if _is_global(function, root) else "closure"
    value = at.state.env.get(root)
    if value is not None:
        if len(path) > 1 and (path[1] == "__class__" or value.kind is Kind.CLASS):
            return "shared"
        if value.kind is Kind.MODULE and len(path) > 1:
            return "module"
        return "parameter" if root in at.facts.params and value.kind is not Kind.MODULE else None
    if root in function.stores:
        return None
    parent = function.parent
    while parent is not None:
        if root in parent.stores:
            return "closure"
        parent = parent.parent
    return "shared" if root in at.module.bindings else None


def _is_global(function: FunctionInfo, name: str) -> bool:
    return any(isinstance(node, ast.Global) and name in node.names for node in own_nodes(function.node))


def _key(at: Base, target: ast.expr, path: Path) -> str:
    """A name for the state that is the same wherever the region touches it."""
    named = list(path)
    while len(named) > 1 and named[-1].startswith("["):
        named.pop()
    if len(named) == 1:
        return f"{at.module.path}:{'.'.join(path)}"
    while isinstance(target, ast.Subscript):
        target = target.value
    owner = at.facts.values.get(id(target.value)) if isinstance(target, ast.Attribute) else None
    if len(named) == 2:
        owner = at.state.env.get(named[0])
    prefix = owner.ref.qualname if owner is not None and isinstance(owner.ref, ClassInfo) else ""
    return f"{prefix}.{named[-1]}" + "".join(path[len(named) :])


_PROTOCOL = frozenset({"__iter__", "__enter__", "__exit__"})
"""Methods that are called without being named: of the object that stands at the place."""
_IMPLICIT = _PROTOCOL | {"__init__", "__post_init__"}


def _argument(node: ast.expr, function: FunctionInfo, name: str) -> ast.expr | None:
    """What a call passes for a parameter."""
    if isinstance(node, ast.Attribute):
        return node.value  # a property
    if function.name in _IMPLICIT or not isinstance(node, ast.Call):
        return node if function.name in _PROTOCOL else None
    args = function.node.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    if function.cls is not None and "builtins.staticmethod" not in function.decorator_names():
        if names[:1] == [name]:
            called = function.name in ("forward", "__call__") and not isinstance(node.func, ast.Attribute)
            return node.func.value if isinstance(node.func, ast.Attribute) and not called else node.func
        names = names[1:]
    for known, given in zip(names, node.args, strict=False):
        if isinstance(given, ast.Starred):
            break
        if known == name:
            return given
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)


# -- what keeps it small -----------------------------------------------------------------------------


def _settle(at: Base, target: ast.expr) -> None:
    path = _whole(at, target)
    if path is not None:
        at.facts.settled.add(_key(at, target, path))


def _bounded(at: Base, path: Path) -> bool:
    """Whether a test around or before the place looks at the state: ``if len(self.log) < 10: self.log.append(x)``.

    So does a test of something that the function sets itself, as in ``if self.first: self.first = False``.
    """
    own = {*path[1:], *at.function.sets_on_self}
    for test in _tests_before(at.function, at.stmt):
        for node in walk(test):
            if isinstance(node, ast.Attribute) and node.attr in own and node.attr != "training":
                return True
            if isinstance(node, ast.Name) and (node.id,) == path:
                return True
    return False


def _first_time(at: Base, target: ast.expr) -> bool:
    """A store under ``if x is None`` or ``if not hasattr(self, "x")``: it makes what is not there yet."""
    path = path_of(target)
    for test in _tests_before(at.function, at.stmt):
        for node in walk(test):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.NotIn)):
                if path_of(node.left) == path or path_of(node.comparators[0]) == (path or ("",))[:-1]:
                    return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr":
                return True
    return False


def _blocks(stmt: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(stmt, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        return [stmt.body, stmt.orelse]
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        return [stmt.body]
    if isinstance(stmt, ast.Try):
        return [stmt.body, *(handler.body for handler in stmt.handlers), stmt.orelse, stmt.finalbody]
    return [case.body for case in stmt.cases] if isinstance(stmt, ast.Match) else []


def _tests_before(function: FunctionInfo, stmt: ast.stmt) -> list[ast.expr]:
    """Tests of the ``if``s and ``while``s around a statement, and of those before it that leave the block."""
    todo: list[tuple[list[ast.stmt], tuple[ast.expr, ...]]] = [(function.body, ())]
    while todo:
        block, tests = todo.pop()
        for item in block:
            if item is stmt:
                return list(tests)
            inside = (*tests, item.test) if isinstance(item, (ast.If, ast.While)) else tests
            todo += [(inner, inside) for inner in _blocks(item)]
            if isinstance(item, ast.If) and isinstance(item.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                tests = inside
    return []
