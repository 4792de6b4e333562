"""Statements: the control flow of one function.

Python's control flow is structured, so the edges of its control-flow graph (branch, back edge, ``break``,
``continue``, ``return``, ``raise`` into a handler) are followed on the tree itself; states meet where the
edges meet, and loops are repeated until the state no longer changes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from graphmend_lsp.flow import growth, host
from graphmend_lsp.flow.base import visible
from graphmend_lsp.flow.calls import Calls
from graphmend_lsp.flow.events import Branch, Context, Datum, Facts, Test, TryBlock
from graphmend_lsp.flow.state import State, merge, same
from graphmend_lsp.flow.values import (
    COMPUTED,
    NONE,
    PYTHON,
    UNKNOWN,
    Closure,
    Kind,
    Null,
    Value,
    alternatives,
    changed,
    container,
    join,
)
from graphmend_lsp.model.module import ClassInfo, FunctionInfo
from graphmend_lsp.model.walk import walk

if TYPE_CHECKING:
    from graphmend_lsp.flow.engine import Engine

_LOOP_PASSES = 4


_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException", ""})


class Interpreter(Calls):
    """Runs a function's body over abstract values."""

    def __init__(self, engine: Engine, function: FunctionInfo, facts: Facts, state: State, depth: int) -> None:
        super().__init__(engine, function, facts, state, depth)
        self.breaks: list[list[State]] = []
        self.continues: list[list[State]] = []
        self.raises: list[list[State]] = []

    def run(self) -> Facts:
        """Interpret the whole body; the report is in ``facts``."""
        names = self.function.decorator_names()
        if any(name in host.NO_GRAD for name in names):
            self.context = self.with_context(no_grad=True)
        self.block(self.function.body)
        if not self.state.dead:
            self.returned = NONE if self.returned is None else join(self.returned, NONE)
        self.facts.events = list(self.events.values())
        if self.yielded is not None or self.function.is_generator:
            self.facts.returns = container(element=self.yielded, type_name="generator")
        else:
            self.facts.returns = self.returned or UNKNOWN
        return self.facts

    def block(self, body: list[ast.stmt]) -> None:
        outer = self.stmt
        for stmt in body:
            if self.state.dead:
                break
            method = self._STATEMENTS.get(type(stmt))
            if method is None or (self.kept is not None and stmt not in self.kept):
                continue
            self.stmt = stmt
            kept = (self.context, self.collector, len(self.breaks), len(self.continues), len(self.raises))
            try:
                method(self, stmt)
            except Exception:
                self._skip(stmt, kept)
        self.stmt = outer

    def _skip(self, stmt: ast.stmt, kept: tuple[Context, list[Datum] | None, int, int, int]) -> None:
        """An internal error in one statement (often: nested too deeply): nothing is known of what it does."""
        self.engine.failed(self.function)
        self.context, self.collector, breaks, continues, raises = kept
        del self.breaks[breaks:], self.continues[continues:], self.raises[raises:]
        self.stmt = stmt
        self.write(None, stmt, f"line {stmt.lineno} could not be analysed")
        self.facts.effects = self.facts.random = self.facts.raises = True
        for node in walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.state.env[node.id] = UNKNOWN
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.state.env[node.name] = UNKNOWN

    # -- simple statements -----------------------------------------------------------------------

    def _expression(self, stmt: ast.Expr) -> None:
        if self.called_to_learn or (self.self_stores is not None and not self.constructs):
            self.discarded = stmt.value  # run to learn what is left behind: not for what other functions do
        self.eval(stmt.value)

    def _assign(self, stmt: ast.Assign) -> None:
        value = self.eval(stmt.value)
        for target in stmt.targets:
            self.bind(target, value)

    def _ann_assign(self, stmt: ast.AnnAssign) -> None:
        if stmt.value is not None:
            value = self.eval(stmt.value)
            if value.kind is Kind.UNKNOWN and value.dtype is None:
                declared = self.engine.annotation(stmt.annotation, self.module)
                value = declared if declared is not None else value
            self.bind(stmt.target, value)

    def _aug_assign(self, stmt: ast.AugAssign) -> None:
        left = self._name(stmt.target) if isinstance(stmt.target, ast.Name) else self.eval(stmt.target)
        right = self.eval(stmt.value)
        if left.kind is Kind.TENSOR and not left.array:
            result = self.binary(stmt.op, left, right, stmt)
            if isinstance(stmt.target, ast.Subscript):
                index = self.facts.values.get(id(stmt.target.slice), UNKNOWN)
                if index.kind is Kind.TENSOR and index.dtype == "bool":
                    self.host_read("dynamic", stmt.target, "x[mask] op=", left)
                self.write(left, stmt, f"`{self._short(stmt)}` writes in place")
                return
            self.write(left, stmt, f"`{self._short(stmt)}` writes in place")
            if isinstance(stmt.target, ast.Name):
                self.facts.values[id(stmt.target)] = left
                kept = changed(result, roots=left.roots, dtype=left.dtype, shape=left.shape)
                self.state.env[stmt.target.id] = kept
            return
        if not isinstance(stmt.target, ast.Name) or stmt.target.id in self.globals:
            growth.added_to(self, stmt, left, right)
        value = self.binary(stmt.op, left, right, stmt)
        if left.kind is Kind.CONTAINER and isinstance(stmt.target, ast.Name):
            if left.dtype != "tuple" and (visible(left.roots) or stmt.target.id in self.facts.params):
                self.write(None, stmt, f"`{self._short(stmt)}` changes a container")
            self.state.env[stmt.target.id] = value
            return
        self.bind(stmt.target, value)

    def bind(self, target: ast.expr, value: Value, *, link: bool = True) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.globals:
                growth.stored(self, target, value)
                self.write(None, target, f"`{target.id}` belongs to an outer scope")
                self.flow("store", value, target)
            if value.kind is Kind.TENSOR and link and isinstance(self.stmt, (ast.Assign, ast.AnnAssign)):
                why = self.why(target, f"`{target.id}` is assigned here", value.why)
                value = changed(value, why=why, unbound=False)
            elif value.unbound:
                value = changed(value, unbound=False)
            self.state.env[target.id] = value
            self.facts.values[id(target)] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Attribute):
            self._store_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, container(element=self.element_of(value), type_name="list"))

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        count = len(target.elts)
        starred = any(isinstance(e, ast.Starred) for e in target.elts)
        items = value.elements
        for index, element in enumerate(target.elts):
            if items is not None and len(items) == count and not starred:
                self.bind(element, items[index])
            elif value.kind is Kind.CONTAINER and value.dtype == "dict":
                self.bind(element, PYTHON)
            else:
                self.bind(element, self.element_of(value))

    def _store_attribute(self, target: ast.Attribute, value: Value) -> None:
        owner = self.eval(target.value)
        if isinstance(target.value, ast.Name) and target.value.id == "self" and self.self_stores is not None:
            self.set_on_self(target.attr, growth.kept_kind(self, target, value))
            if self.constructs:
                self.flow("store", value, target)
            return
        if owner.kind is Kind.TENSOR:
            if target.attr == "requires_grad" or self.computed(owner):
                self.host_call(f"Tensor.{target.attr} =", target)
            self.write(owner, target, f"`{self._short(target)}` is set")
            return
        local = isinstance(target.value, ast.Name) and owner.kind is Kind.INSTANCE and not visible(owner.roots)
        local = local and isinstance(target.value, ast.Name) and target.value.id not in self.facts.params
        local = local and isinstance(target.value, ast.Name) and target.value.id in self.state.env
        if not local:
            growth.stored(self, target, value)
            self.write(None, target, f"`{self._short(target)}` is stored")
            self.flow("store", value, target)

    def _store_item(self, target: ast.Subscript, value: Value) -> None:
        owner = self.eval(target.value)
        index = self.index(target.slice, owner)
        if owner.kind is Kind.TENSOR:
            self.write(owner, target, f"`{self._short(target)}` is written")
            return
        self._store_in_self(target, owner, value)
        local = isinstance(target.value, ast.Name) and owner.kind is Kind.CONTAINER and not visible(owner.roots)
        if not local:
            growth.stored(self, target, value)
            self.write(None, target, f"`{self._short(target)}` is stored")
            self.flow("store", value, target)
        elif isinstance(target.value, ast.Name):
            keys = owner.keys
            if keys is not None:
                keys = {**keys, index.const: value} if isinstance(index.const, str) else None
            elif owner.elements == () and isinstance(index.const, str):
                keys = {index.const: value}
            element = value if owner.element is None else join(owner.element, value)
            self.state.env[target.value.id] = changed(owner, keys=keys, elements=None, element=element, truth=True)

    def _store_in_self(self, target: ast.Subscript, owner: Value, value: Value) -> None:
        """``self.items[k] = x``, where a method is run to learn what attributes hold."""
        node = target.value
        if self.self_stores is None or owner.kind not in (Kind.CONTAINER, Kind.UNKNOWN):
            return
        if not isinstance(node, ast.Attribute):
            return
        name = owner.dtype if owner.kind is Kind.CONTAINER and owner.dtype else "dict"
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            kept = growth.kept_kind(self, target, value)
            self.set_on_self(node.attr, Value(Kind.CONTAINER, element=kept, dtype=name))

    def _delete(self, stmt: ast.Delete) -> None:
        for target in stmt.targets:
            if isinstance(target, ast.Name):
                self.state.env.pop(target.id, None)
            elif isinstance(target, (ast.Attribute, ast.Subscript)):
                self.eval(target.value)
                growth.deleted(self, target)
                self.write(None, target, f"`{self._short(target)}` is deleted")

    def _return(self, stmt: ast.Return) -> None:
        value = self.eval(stmt.value) if stmt.value is not None else NONE
        self.flow("return", value, stmt)
        self.returned = value if self.returned is None else join(self.returned, value)
        self.state.dead = True

    def _raise(self, stmt: ast.Raise) -> None:
        for part in (stmt.exc, stmt.cause):
            if part is not None:
                self.eval(part)
        self.facts.raises = True
        if self.raises:
            self.raises[-1].append(self.state.copy())
        self.state.dead = True

    def _global(self, stmt: ast.Global | ast.Nonlocal) -> None:
        self.globals.update(stmt.names)

    def _fails_to_import(self, stmt: ast.Import | ast.ImportFrom, name: str | None) -> None:
        """Report an optional import that fails: TorchDynamo cannot trace one.  Where none is expected, none fails."""
        caught = {name for block in self.context.tries for types in block.catches for name in types.split("|")}
        if not name or self.eager or not caught & _IMPORT_ERRORS:
            return
        if self.engine.loader.program.is_missing(name.partition(".")[0]):
            self.emit("host", stmt, name="import")

    def _import(self, stmt: ast.Import) -> None:
        for alias in stmt.names:
            self._fails_to_import(stmt, alias.name)
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self.state.env[alias.asname or name] = self.engine.external(name)

    def _import_from(self, stmt: ast.ImportFrom) -> None:
        if not stmt.level:
            self._fails_to_import(stmt, stmt.module)
        base = self.module.absolute(stmt)
        for alias in stmt.names:
            if alias.name != "*":
                self.state.env[alias.asname or alias.name] = self.engine.external(f"{base}.{alias.name}")

    def _function(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.engine.nested(self.function, stmt, stmt.name)
        closure = Closure(function, env=self.engine.closed_over(self.state.env))
        self.state.env[stmt.name] = self.engine.decorated(closure, self)

    def _class(self, stmt: ast.ClassDef) -> None:
        self.host_call("class", stmt)
        self.state.env[stmt.name] = UNKNOWN

    def _assert(self, stmt: ast.Assert) -> None:
        test = self.test(stmt.test)
        if stmt.msg is not None:
            saved = self.state
            self.state = saved.copy()
            self.eval(stmt.msg)
            self.state = saved
        if test.data or test.carried:
            self.emit("assert", stmt, test=test)
        self.facts.raises = True
        self.state = self.assume(stmt.test, True)

    # -- control flow ----------------------------------------------------------------------------

    def _if(self, stmt: ast.If) -> None:
        test = self.test(stmt.test)
        if test.is_data or test.carried:
            self.emit("if", stmt, test=test)
        before = self.state
        outer = self.context
        if test.is_data:
            self.context = self.with_context(data_branches=(*outer.data_branches, stmt))
        then = self._arm(stmt.body, stmt.test, True, test, before)
        other = self._arm(stmt.orelse, stmt.test, False, test, before)
        self.context = outer
        if test.is_data:
            self.facts.branches[id(stmt)] = Branch(
                stmt,
                test,
                before.env,
                None if then.dead else then.env,
                None if other.dead else other.env,
                before.written,
                outer,
            )
            self._mark_joins(stmt, then, other)
        self.state = merge(then, other)

    def _arm(self, body: list[ast.stmt], condition: ast.expr, wanted: bool, test: Test, before: State) -> State:
        if test.truth is (not wanted):
            return State({}, before.written, dead=True)
        narrowed = self.assume(condition, wanted, before)
        self.state = narrowed.copy()
        self.block(body)
        result = self.state
        if not result.dead and narrowed is not before:
            # What the test told about a name ends with the branch, unless the name was bound anew.
            for name, value in before.env.items():
                if narrowed.env.get(name) is not value and result.env.get(name) is narrowed.env.get(name):
                    if value.null is Null.MAYBE and narrowed.env[name].null is not Null.MAYBE:
                        continue  # which names are None is told apart below
                    result.env[name] = value
        return result

    def _mark_joins(self, stmt: ast.If, then: State, other: State) -> None:
        if then.dead or other.dead:
            return
        for name in {*then.env, *other.env}:
            a, b = then.env.get(name), other.env.get(name)
            if a is not b:
                root = frozenset({("join", id(stmt), name)})
                for state, value in ((then, a), (other, b)):
                    if value is not None and value.kind is Kind.TENSOR:
                        state.env[name] = changed(value, roots=value.roots | root)

    def _loop(self, stmt: ast.stmt, step: Callable[[], None], orelse: list[ast.stmt], *, endless: bool = False) -> None:
        """Repeat ``step`` (head and body) until the state at the loop's head is stable."""
        outer = self.context
        self.context = self.with_context(loops=(*outer.loops, stmt))
        self.breaks.append([])
        head = self.state
        exits = head
        for _ in range(_LOOP_PASSES):
            self.continues.append([])
            self.state = head.copy()
            step()
            after = self.state
            for state in self.continues.pop():
                after = merge(after, state)
            exits = merge(head, after)
            if after.dead or same(head, exits):
                break
            head = exits
        self.context = outer
        self.state = State(dict(exits.env), exits.written, dead=endless)
        self.block(orelse)
        for state in self.breaks.pop():
            self.state = merge(self.state, state)

    def _for(self, stmt: ast.For | ast.AsyncFor) -> None:
        outer = self.collector
        self.collector = []
        iterable = self.eval(stmt.iter)
        data = tuple(self.collector)
        self.collector = outer
        carried = () if any(d.kind == "dynamic" for d in data) else self._counted(stmt.iter, iterable)
        if data or carried:
            self.emit("for", stmt, value=iterable, test=Test(data, carried=carried))
        element = self._iterated(iterable, stmt)

        def step() -> None:
            self.bind(stmt.target, element, link=False)
            self.block(stmt.body)

        self._loop(stmt, step, stmt.orelse)

    def _counted(self, node: ast.expr, iterable: Value) -> tuple[Datum, ...]:
        """What says how often a loop runs, if the device does: the size of a tensor, numbers in ``range(n)``."""
        if iterable.kind is Kind.TENSOR and iterable.roots and not iterable.mixed:
            if all(root[0] == "op" and root[1] in self.engine.sized_by_data for root in iterable.roots):
                return (Datum(node, iterable, "size"),)
        if not isinstance(node, ast.Call) or self.module.dotted(node.func) not in ("range", "builtins.range"):
            return ()
        values = [(part, self.facts.values.get(id(part))) for part in node.args]
        return tuple(Datum(part, value) for part, value in values if value is not None and value.ref == COMPUTED)

    def _iterated(self, iterable: Value, stmt: ast.For | ast.AsyncFor) -> Value:
        if iterable.kind is Kind.INSTANCE and isinstance(iterable.ref, ClassInfo):
            method = self.engine.method(iterable.ref, "__iter__")
            if method is not None:
                made = self.engine.invoke(Closure(method, iterable), [], {}, stmt.iter, self)
                return self.element_of(made)
        return self.element_of(iterable)

    def _while(self, stmt: ast.While) -> None:
        always = False

        def step() -> None:
            nonlocal always
            test = self.test(stmt.test)
            always = test.truth is True
            if test.is_data or test.carried:
                self.emit("while", stmt, test=test)
            self.state = self.assume(stmt.test, True)
            if test.truth is False:
                self.state.dead = True
            self.block(stmt.body)

        self._loop(stmt, step, stmt.orelse, endless=isinstance(stmt.test, ast.Constant) and bool(stmt.test.value))

    def _break(self, stmt: ast.Break) -> None:
        del stmt
        if self.breaks:
            self.breaks[-1].append(self.state.copy())
        self.state.dead = True

    def _continue(self, stmt: ast.Continue) -> None:
        del stmt
        if self.continues:
            self.continues[-1].append(self.state.copy())
        self.state.dead = True

    def _with(self, stmt: ast.With | ast.AsyncWith) -> None:
        outer = self.context
        managers: list[tuple[ast.expr, Value]] = []
        for item in stmt.items:
            value = self.eval(item.context_expr)
            if value.dtype in host.LOCKS:
                self.host_call(f"with {value.dtype}", item.context_expr)
            target = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
            name = self.module.dotted(target) or self.source(target)
            no_grad = _without_gradients(name, value, item.context_expr, self.context.no_grad)
            self.context = self.with_context(withs=(*self.context.withs, name), no_grad=no_grad)
            managers.append((item.context_expr, value))
            entered = self._enter(item.context_expr, value)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, entered)
        self.block(stmt.body)
        self._leave(managers)
        self.context = outer

    def _enter(self, node: ast.expr, value: Value) -> Value:
        """What ``with value as ...`` binds; TorchDynamo traces ``__enter__`` of a class of the project."""
        if value.dtype == "generator":
            return self.element_of(value)
        if value.dtype == "contextlib.ExitStack":
            return value
        methods = self._own_methods(value, "__enter__")
        entered = [self.engine.invoke(method, [], {}, node, self) for method in methods]
        return entered[0] if len(entered) == 1 and not value.options else UNKNOWN

    def _leave(self, managers: list[tuple[ast.expr, Value]]) -> None:
        for node, value in reversed(managers):
            for method in self._own_methods(value, "__exit__"):
                self.engine.invoke(method, [NONE, NONE, NONE], {}, node, self)

    def _own_methods(self, value: Value, name: str) -> list[Closure]:
        """A method of an object of the project, of each that it may be."""
        found: list[Closure] = []
        for option in alternatives(value):
            if option.kind is Kind.INSTANCE and isinstance(option.ref, ClassInfo):
                method = self.engine.method(option.ref, name)
                if method is not None:
                    found.append(Closure(method, option))
        return found

    def _try(self, stmt: ast.Try) -> None:
        before = self.state.copy()
        outer = self.context
        catches = tuple(_caught(handler) for handler in stmt.handlers)
        if catches or stmt.finalbody:
            self.context = self.with_context(tries=(*outer.tries, TryBlock(stmt, catches)))
        self.raises.append([])
        at_any_point = before
        for item in stmt.body:
            self.block([item])
            if self.state.dead:
                break
            at_any_point = merge(at_any_point, self.state.copy())
        for state in self.raises.pop():
            at_any_point = merge(at_any_point, state)
        self.context = outer
        if not self.state.dead:
            self.block(stmt.orelse)
        result = self.state
        for handler in stmt.handlers:
            self.state = at_any_point.copy()
            if handler.name:
                self.state.env[handler.name] = PYTHON
            self.block(handler.body)
            result = merge(result, self.state)
        self.state = result
        if stmt.finalbody:
            dead = self.state.dead
            if dead:
                self.state = at_any_point.copy()
            self.block(stmt.finalbody)
            self.state.dead = self.state.dead or dead

    def _match(self, stmt: ast.Match) -> None:
        outer = self.collector
        self.collector = []
        subject = self.eval(stmt.subject)
        data = list(self.collector)
        self.collector = outer
        before = self.state
        result = State({}, dead=True)
        irrefutable = False
        for case in stmt.cases:
            self.state = before.copy()
            self._bind_pattern(case.pattern, subject)
            if subject.kind is Kind.TENSOR and _compares(case.pattern):
                self.collector = data
                self.truth_of(stmt.subject, subject)
                self.collector = outer
            if case.guard is not None:
                guard = self.test(case.guard)
                data.extend(guard.data)
                self.state = self.assume(case.guard, True)
            else:
                irrefutable = irrefutable or (isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None)
            self.block(case.body)
            result = merge(result, self.state)
        test = Test(tuple(data))
        if not irrefutable:
            result = merge(result, before.copy())
        self.state = result
        if test.is_data:
            saved, self.state = self.state, before
            self.emit("match", stmt, test=test)
            self.state = saved

    def _bind_pattern(self, pattern: ast.pattern, subject: Value) -> None:
        for node in walk(pattern):
            if isinstance(node, ast.MatchAs) and node.name:
                whole = node is pattern and node.pattern is None
                self.state.env[node.name] = subject if whole else self.element_of(subject)
            elif isinstance(node, (ast.MatchStar, ast.MatchMapping)):
                name = node.name if isinstance(node, ast.MatchStar) else node.rest
                if name:
                    self.state.env[name] = container(element=self.element_of(subject), type_name="list")

    def _short(self, node: ast.expr | ast.stmt) -> str:
        text = " ".join(self.source(node).split())
        return text if len(text) <= 60 else text[:59] + "…"

    _STATEMENTS: ClassVar[Mapping[type[ast.stmt], Callable[[Any, Any], None]]] = {
        ast.Expr: _expression,
        ast.Assign: _assign,
        ast.AnnAssign: _ann_assign,
        ast.AugAssign: _aug_assign,
        ast.Delete: _delete,
        ast.Return: _return,
        ast.Raise: _raise,
        ast.Global: _global,
        ast.Nonlocal: _global,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
        ast.Assert: _assert,
        ast.If: _if,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.Break: _break,
        ast.Continue: _continue,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.Match: _match,
    }


def _caught(handler: ast.ExceptHandler) -> str:
    if handler.type is None:
        return ""
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return "|".join(ast.unparse(part) for part in parts)


def _compares(pattern: ast.pattern) -> bool:
    """Whether matching a tensor against the pattern tests its value."""
    if isinstance(pattern, ast.MatchValue):
        return True
    if isinstance(pattern, ast.MatchOr):
        return any(_compares(p) for p in pattern.patterns)
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is not None and _compares(pattern.pattern)


def _without_gradients(name: str, value: Value, node: ast.expr, before: bool) -> bool:
    """Whether gradients are off inside a ``with``."""
    if name in host.NO_GRAD:
        return True
    if name == "torch.set_grad_enabled":
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        return isinstance(given, ast.Constant) and given.value is False
    del value
    return before and name != "torch.enable_grad"
