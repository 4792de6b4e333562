"""What the interpreter reports: one event per place where TorchDynamo may stop tracing.

Rules are predicates over events, transformations start from them; neither walks a function again.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from graphmend_lsp.flow.values import Root, Value, Why
from graphmend_lsp.parse import Chunk, Place

if TYPE_CHECKING:
    from graphmend_lsp.model.module import FunctionInfo

EventKind = Literal[
    "if",  # the test of an if or elif
    "while",
    "ifexp",
    "match",
    "assert",
    "check",  # torch._assert, torch._check*
    "for",  # iteration over something whose length is data
    "boolop",
    "not",
    "in",
    "compare",  # a chained comparison
    "any",  # any(), all()
    "filter",  # a comprehension's condition, filter()
    "sort",
    "print",
    "text",  # str(), repr(), % of a tensor
    "log",
    "warn",
    "extract",  # a tensor's value read to the host
    "dynamic",  # an operator whose output shape is data
    "index",  # a tensor where Python needs an int
    "host",  # a call of the host that is not traced
    "deliberate",  # a break that somebody asked for
    "build",  # parameters, layers, classes, gradients made while tracing
    "grow",  # state that is another one at each call, so that the code is compiled again
]
Owner = Literal[
    "module",  # an nn.Module, or what it holds
    "shared",  # a global or a class
    "object",  # the plain object whose method is compiled
    "closure",  # a local of a function around the compiled one
    "parameter",  # what a parameter holds: the call decides
]


@dataclass(frozen=True, slots=True, eq=False)
class TryBlock:
    """A ``try`` around a place: the types its handlers catch ("" for a bare ``except``)."""

    node: ast.Try
    catches: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What stands around a place in its function."""

    loops: tuple[ast.stmt, ...] = ()
    tries: tuple[TryBlock, ...] = ()
    withs: tuple[str, ...] = ()
    no_grad: bool = False
    data_branches: tuple[ast.If, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Datum:
    """A part of a test that only the device knows: a tensor's truth, or a value read to the host."""

    node: ast.expr
    value: Value
    kind: Literal["truth", "read", "dynamic", "size"] = "truth"
    inside: bool = False
    """The element of a generator, which has a frame of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What is known of a test: the parts that are data, and its truth where it is static."""

    data: tuple[Datum, ...] = ()
    truth: bool | None = None
    carried: tuple[Datum, ...] = ()
    """Numbers that were read from the device before, and sizes that are data: they matter where such reads, or such
    sizes, do not split the graph."""

    @property
    def is_data(self) -> bool:
        return any(d.kind != "dynamic" for d in self.data)

    @property
    def is_carried(self) -> bool:
        """Whether the test is on numbers that come from the device and on nothing else that is data."""
        return bool(self.carried) and not self.is_data

    @property
    def cause(self) -> Datum | None:
        """The first part that decides on data."""
        return next((d for d in (*self.data, *self.carried) if d.kind != "dynamic"), None)


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """State that is another one at each call: what holds it, and what of it TorchDynamo guards."""

    owner: Owner
    what: Literal["number", "float", "text", "length"]
    key: str
    """A name that is the same wherever a region touches the state."""
    target: ast.expr
    """The state as it is written at the place."""

    def recompiles(self, release: tuple[int, int]) -> bool:
        """Whether each change costs a compilation in a release of torch: else a number soon becomes symbolic."""
        old = release < (2, 8)
        if self.what == "float":
            return old
        return self.what != "number" or self.owner == "shared" or (self.owner == "module" and not old)


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One place; ``node`` is at fault, ``stmt`` the statement it stands in."""

    kind: EventKind
    node: ast.expr | ast.stmt
    stmt: ast.stmt
    function: FunctionInfo
    context: Context
    name: str = ""
    """Dotted name of what is called, where something is called."""
    value: Value | None = None
    test: Test | None = None
    in_test: bool = False
    """Part of a test that is reported as a whole."""
    written: Why | None = None
    """A write to arguments, buffers or Python state that can come before this place."""
    grows: Growth | None = None
    """Of a ``grow``: what grows."""


@dataclass(slots=True, eq=False)
class Branch:
    """A data-dependent ``if``: the names before it and at the end of either side."""

    node: ast.If
    test: Test
    before: Mapping[str, Value]
    then: Mapping[str, Value] | None
    """None if that side never reaches the end of the ``if``."""
    other: Mapping[str, Value] | None
    written: Why | None = None
    context: Context = field(default_factory=Context)


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Where a storage goes: returned, stored, written in place, or passed to unknown code."""

    kind: Literal["return", "store", "write", "call", "identity"]
    chunk: Chunk
    node: ast.expr | ast.stmt

    @property
    def place(self) -> Place:
        return Place(self.chunk.id, self.chunk.span(self.node))


@dataclass(slots=True, eq=False)
class Facts:
    """Everything learned from one function in one calling context."""

    function: FunctionInfo
    params: Mapping[str, Value]
    events: list[Event] = field(default_factory=list[Event])
    values: dict[int, Value] = field(default_factory=dict[int, Value])
    """Value of each expression, by ``id`` of its node (the last pass over a loop wins)."""
    branches: dict[int, Branch] = field(default_factory=dict[int, Branch])
    flows: dict[Root, list[Flow]] = field(default_factory=dict[Root, "list[Flow]"])
    returns: Value | None = None
    writes: Why | None = None
    """The first write to arguments, buffers or Python state."""
    effects: bool = False
    """Prints, logs or warns, here or in a function it calls."""
    random: bool = False
    mutates: set[str] = field(default_factory=set[str])
    """Parameters written in place."""
    raises: bool = False
    builds: bool = False
    """Makes parameters, here or in a constructor it calls."""
    callees: list[Facts] = field(default_factory=list["Facts"])
    calls: dict[int, Facts] = field(default_factory=dict[int, "Facts"])
    """What each call used: Facts of the callee by ``id`` of the call's node (the last pass over a loop wins)."""
    written_at: dict[ast.AST, Why | None] = field(default_factory=dict[ast.AST, "Why | None"])
    """For each function called, a write that can have happened before some call of it."""
    call_contexts: dict[ast.AST, list[Context]] = field(default_factory=dict[ast.AST, "list[Context]"])
    """For each function called, what stands around its calls."""
    growing: dict[tuple[str, int], tuple[str, Event]] = field(
        default_factory=dict[tuple[str, int], "tuple[str, Event]"]
    )
    """What grows in a parameter, by the parameter and the ``id`` of the place: whether it outlives the call is known
    where the function is called."""
    settled: set[str] = field(default_factory=set[str])
    """State that is set anew, cleared or cut: what grows there does not grow from call to call."""
    shared: bool = False
    """Of a function of another file, for every file that calls it (``flow/library.py``): nothing of the file at hand is
    in it, and what it calls is of no interest there."""
