"""What the parts of the interpreter share: the function at hand, its state, its report."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphmend_lsp.flow import host
from graphmend_lsp.flow.events import Context, Datum, Event, EventKind, Facts, Flow, Test, TryBlock
from graphmend_lsp.flow.slices import Slice
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.tensors import is_element
from graphmend_lsp.flow.untraceable import untraceable
from graphmend_lsp.flow.values import COMPUTED, Kind, Root, Value, Why, all_roots
from graphmend_lsp.model.module import FunctionInfo, Module
from graphmend_lsp.parse import Place

if TYPE_CHECKING:
    from graphmend_lsp.flow.engine import Engine

VISIBLE_ROOTS = frozenset({"param", "attr", "global", "unknown", "closure"})
"""Storages that somebody outside the function can see."""


def visible(roots: Iterable[Root]) -> bool:
    return any(root[0] in VISIBLE_ROOTS for root in roots)


_NO_CONTEXT = Context()


OPAQUE = "is not known and may write state"


def known_write(why: Why | None) -> bool:
    """Whether a write is seen in the source, not only possible in code that is not seen."""
    return why is not None and not why.message.endswith(OPAQUE)


class Base:
    """State and reporting; ``Expressions``, ``Calls`` and ``Interpreter`` build on it."""

    def __init__(self, engine: Engine, function: FunctionInfo, facts: Facts, state: State, depth: int) -> None:
        self.engine = engine
        self.function = function
        self.module: Module = function.module
        self.chunk = function.chunk
        self.facts = facts
        self.state: State = state
        self.depth = depth
        self.context: Context = _NO_CONTEXT
        self.has_walrus = engine.has_walrus(function.chunk)
        self.stmt: ast.stmt = function.body[0]
        self.collector: list[Datum] | None = None
        self.carried: list[Datum] = []
        """Numbers from the device that the test at hand has asked for."""
        self.events: dict[tuple[str, int], Event] = {}
        self.globals: set[str] = set()
        self.returned: Value | None = None
        self.yielded: Value | None = None
        self.self_stores: dict[str, Value] | None = None
        """Attributes set on ``self``, where a method is run to learn them."""
        self.discarded: ast.expr | None = None
        """A call whose result and effects are of no interest."""
        self.eager = False
        """The code runs outside the compiled region: at the level of a module, in a constructor."""
        self.constructs = False
        """A constructor that runs in the compiled region: what is set on ``self`` is nobody else's yet."""
        self.given_up = False
        """TorchDynamo has left the constructor of a module and does not come back to it."""
        self.kept: Slice | None = None
        """The statements to interpret, where only the function's result is of interest (``flow/slices.py``)."""
        self.called_to_learn = False
        self._shared: set[int] = set()
        """Calls that lead to several functions, or to one with several arguments."""

    @property
    def learns(self) -> bool:
        """Whether the code is run to learn what it leaves behind: nothing that happens in it is reported."""
        return self.eager or self.called_to_learn or (self.self_stores is not None and not self.constructs)

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
        if self.state.dead or self.called_to_learn or self.given_up:
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

    def host_call(self, name: str, node: ast.expr | ast.stmt) -> None:
        """Report what TorchDynamo cannot trace; ``name`` as in the table of such calls."""
        if self.learns:
            return
        if name in host.DELIBERATE:
            self.emit("deliberate", node, name=name)
        elif untraceable(name, self.engine.release) is not None:
            self.emit("build" if host.builds(name) else "host", node, name=name)
            if host.builds(name):
                self.has_built()

    def has_built(self) -> None:
        """Parameters were made: a constructor of a module is run by Python from here on (measured, 2.13)."""
        self.facts.builds = True
        cls = self.function.cls
        self.given_up = self.given_up or (self.constructs and cls is not None and self.engine.is_module(cls))

    def datum(self, kind: EventKind, node: ast.expr, value: Value, at: ast.expr | None = None) -> None:
        """A data-dependent test inside an expression: part of the surrounding test, or an event."""
        datum = Datum(at or node, value, inside=kind == "any")
        if self.collector is not None:
            self.collector.append(datum)
        else:
            self.emit(kind, node, value=value, test=Test((datum,)))

    def host_read(self, kind: EventKind, node: ast.expr, name: str, value: Value) -> None:
        if kind == "dynamic":
            self.engine.sized_by_data[id(node)] = name
        if self.collector is not None:
            self.collector.append(Datum(node, value, "dynamic" if kind == "dynamic" else "read"))
        self.emit(kind, node, name=name, value=value)

    def read_from(self, value: Value | None, dtype: str | None, ref: str = COMPUTED) -> Value:
        """The number, or the list of them, that is read from a tensor."""
        if value is None:
            return Value(Kind.SCALAR, dtype=dtype)
        return Value(Kind.SCALAR, why=value.why, dtype=dtype, ref=ref if self.computed(value) else None)

    def note_made(self, node: ast.expr | ast.stmt, operands: Iterable[Value], *, sized: bool = False) -> None:
        """Note the result of an operator whose operands are all known while tracing.

        TorchDynamo knows the value of one number then, not those of several (measured, 2.13); ``sized``: the operator
        makes several.
        """
        operands = list(operands)
        if any(self._from_outside(value) for value in operands):
            self.engine.made_otherwise(node)
            return
        self.engine.made_of_numbers.add(id(node))
        known = self.engine.known_numbers
        several = any(
            value.kind is Kind.CONTAINER
            or value.dtype == "size"
            or not all(root[0] == "op" and root[1] in known for root in value.roots)
            for value in operands
        )
        if not sized and not several:
            known.add(id(node))

    def _from_outside(self, value: Value) -> bool:
        """Whether a value is, or holds, a tensor that is not made of numbers."""
        if value.kind is Kind.PYTHON:
            return False
        if value.kind is Kind.CONTAINER:
            return any(
                self._from_outside(each) for each in (*(value.elements or ()), value.element) if each is not None
            )
        made = self.engine.made_of_numbers
        return not (
            value.kind is Kind.TENSOR and value.roots and all(r[0] == "op" and r[1] in made for r in value.roots)
        )

    def computed(self, value: Value) -> bool:
        """Whether a tensor is certainly computed from others: not passed in, kept in an attribute, or made of numbers.

        TorchDynamo may take the value of one that is not from the call; an element of it is computed.
        """
        if value.kind is not Kind.TENSOR or value.mixed or not value.roots:
            return False
        known = self.engine.known_numbers
        return is_element(value.shape) or all(root[0] == "op" and root[1] not in known for root in value.roots)

    def flow(self, kind: str, value: Value | None, node: ast.expr | ast.stmt) -> None:
        roots = all_roots(value)
        if not roots:
            return
        flow = Flow(kind, self.chunk, node)  # type: ignore[arg-type]
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
            if not known_write(self.state.written):
                self.state.written = why
            if self.facts.writes is None:
                self.facts.writes = why

    def may_write(self, node: ast.expr | ast.stmt) -> None:
        """Code that is not known runs here: it may write state (of nn.Modules it is assumed that they do not)."""
        if self.state.written is None:
            text = " ".join(self.source(node).split())
            text = text if len(text) <= 60 else text[:59] + "…"
            self.state.written = self.why(node, f"`{text}` {OPAQUE}")

    def called(self, node: ast.expr, facts: Facts) -> None:
        """Note which facts a call used; none if there are several."""
        self.facts.callees.append(facts)
        known = self.facts.calls.get(id(node))
        if id(node) in self._shared or (known is not None and known is not facts):
            self._shared.add(id(node))
            self.facts.calls.pop(id(node), None)
        else:
            self.facts.calls[id(node)] = facts
        target = facts.function.node
        known = self.facts.written_at.get(target)
        self.facts.written_at[target] = known if known_write(known) else self.state.written
        self.facts.call_contexts.setdefault(target, []).append(self.context)

    def several_called(self, node: ast.expr) -> None:
        """The call at hand leads to more than one function."""
        self._shared.add(id(node))
        self.facts.calls.pop(id(node), None)

    def called_anew(self, node: ast.expr) -> None:
        """A call is evaluated (again)."""
        self._shared.discard(id(node))
        self.facts.calls.pop(id(node), None)

    def record(self, node: ast.expr, value: Value) -> Value:
        self.facts.values[id(node)] = value
        return value

    def with_context(
        self,
        *,
        loops: tuple[ast.stmt, ...] | None = None,
        tries: tuple[TryBlock, ...] | None = None,
        withs: tuple[str, ...] | None = None,
        no_grad: bool | None = None,
        data_branches: tuple[ast.If, ...] | None = None,
    ) -> Context:
        """The context at hand with other parts (``dataclasses.replace``, but several times faster)."""
        now = self.context
        return Context(
            now.loops if loops is None else loops,
            now.tries if tries is None else tries,
            now.withs if withs is None else withs,
            now.no_grad if no_grad is None else no_grad,
            now.data_branches if data_branches is None else data_branches,
        )
