"""What the parts of the interpreter share: the function at hand, its state, its report."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphmend_lsp.flow.events import Context, Datum, Event, EventKind, Facts, Flow, Test
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.values import Kind, Root, Value, Why, all_roots
from graphmend_lsp.model.module import FunctionInfo, Module
from graphmend_lsp.parse import Place

if TYPE_CHECKING:
    from graphmend_lsp.flow.engine import Engine

VISIBLE_ROOTS = frozenset({"param", "attr", "global", "unknown", "closure"})
"""Storages that somebody outside the function can see."""


def visible(roots: Iterable[Root]) -> bool:
    return any(root[0] in VISIBLE_ROOTS for root in roots)


class Base:
    """State and reporting; ``Expressions``, ``Calls`` and ``Interpreter`` build on it."""

    def __init__(self, engine: Engine, function: FunctionInfo, facts: Facts, state: State, depth: int) -> None:
        self.engine = engine
        self.function = function
        self.module: Module = function.module
        self.chunk = function.chunk
        self.facts = facts
        self.state = state
        self.depth = depth
        self.context = Context()
        self.stmt: ast.stmt = function.body[0]
        self.collector: list[Datum] | None = None
        self.events: dict[tuple[str, int], Event] = {}
        self.globals: set[str] = set()
        self.returned: Value | None = None
        self.yielded: Value | None = None
        self.self_stores: dict[str, Value] | None = None
        """Attributes set on ``self``, where a constructor is run to learn them."""

    # -- places ----------------------------------------------------------------------------------

    def place(self, node: ast.expr | ast.stmt | ast.arg) -> Place:
        return Place(self.chunk.id, self.chunk.span(node))

    def why(self, node: ast.expr | ast.stmt | ast.arg, message: str, parent: Why | None = None) -> Why:
        return Why(self.place(node), self.module.path, message, parent)

    def source(self, node: ast.expr | ast.stmt) -> str:
        return self.chunk.source_of(node)

    # -- reporting -------------------------------------------------------------------------------

    def emit(
        self,
        kind: EventKind,
        node: ast.expr | ast.stmt,
        *,
        name: str = "",
        value: Value | None = None,
        test: Test | None = None,
    ) -> None:
        if self.state.dead:
            return
        self.events[kind, id(node)] = Event(
            kind,
            node,
            self.stmt,
            self.function,
            self.context,
            name,
            value,
            test,
            self.collector is not None,
            self.state.written,
        )

    def datum(self, kind: EventKind, node: ast.expr, value: Value, at: ast.expr | None = None) -> None:
        """A data-dependent test inside an expression: part of the surrounding test, or an event."""
        datum = Datum(at or node, value)
        if self.collector is not None:
            self.collector.append(datum)
        else:
            self.emit(kind, node, value=value, test=Test((datum,)))

    def host_read(self, kind: EventKind, node: ast.expr, name: str, value: Value) -> None:
        if self.collector is not None:
            self.collector.append(Datum(node, value, "dynamic" if kind == "dynamic" else "read"))
        self.emit(kind, node, name=name, value=value)

    def flow(self, kind: str, value: Value | None, node: ast.expr | ast.stmt) -> None:
        roots = all_roots(value)
        if not roots:
            return
        flow = Flow(kind, self.place(node), node)  # type: ignore[arg-type]
        for root in roots:
            self.facts.flows.setdefault(root, []).append(flow)

    def write(self, value: Value | None, node: ast.expr | ast.stmt, what: str) -> None:
        """A write into something that may be seen outside the function."""
        roots = all_roots(value) if value is not None else frozenset[Root]()
        if value is not None and value.kind is Kind.TENSOR:
            self.flow("write", value, node)
        for root in roots:
            if root[0] == "param":
                self.facts.mutates.add(str(root[1]))
        if value is None or not roots or visible(roots):
            why = self.why(node, what)
            if self.state.written is None:
                self.state.written = why
            if self.facts.writes is None:
                self.facts.writes = why

    def record(self, node: ast.expr, value: Value) -> Value:
        self.facts.values[id(node)] = value
        return value

    def with_context(self, **changes: Any) -> Context:
        return replace(self.context, **changes)
