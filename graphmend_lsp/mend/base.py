"""What the transformations share: the site of a finding, and the draft of a change."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.events import Branch, Event, Facts
from graphmend_lsp.flow.values import UNKNOWN, Value
from graphmend_lsp.model.module import FunctionInfo, Module
from graphmend_lsp.parse import Chunk


@dataclass(frozen=True, eq=False)
class Site:
    """A finding's event with everything its mending may ask.

    ``others`` are the facts of the same function in its other calling contexts: what holds must hold in
    all of them.
    """

    code: str
    event: Event
    facts: Facts
    others: tuple[Facts, ...]
    callers: Mapping[ast.AST, list[Facts]]
    """Facts of the functions that call a function, by its node."""
    engine: Engine
    module: Module
    reserved: set[str] = field(default_factory=set[str])
    """Names that changes applied together with this one have taken."""
    entries: frozenset[ast.AST] = frozenset()
    """The functions that are compiled themselves, by their nodes."""
    symbols: bool = False
    """Whether numbers of tensors may become symbols of the graph."""

    @property
    def function(self) -> FunctionInfo:
        return self.event.function

    @property
    def chunk(self) -> Chunk:
        return self.event.function.chunk

    @property
    def branch(self) -> Branch | None:
        return self.facts.branches.get(id(self.event.node))

    def value(self, node: ast.expr) -> Value:
        return self.facts.values.get(id(node), UNKNOWN)

    def source(self, node: ast.expr | ast.stmt) -> str:
        return self.chunk.source_of(node)


@dataclass(frozen=True)
class Helper:
    """A module-level function the change adds: its name and its full text (decorator included)."""

    name: str
    text: str


@dataclass(frozen=True)
class Replacement:
    """Statements of a function, from ``first`` to ``last``, become ``lines``.

    ``lines`` are unindented source lines; no lines delete the statements.
    """

    first: ast.stmt
    last: ast.stmt
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ExpressionReplacement:
    """An expression becomes ``text``."""

    node: ast.expr
    text: str


@dataclass(frozen=True)
class Draft:
    """A change before it is text: what is replaced, the helpers and runtime names it needs."""

    replacements: tuple[Replacement | ExpressionReplacement, ...]
    helpers: tuple[Helper, ...] = ()
    runtime: tuple[str, ...] = ()
    """Names imported from the runtime: ``graph_effect``, ``select``."""
    needs_torch: bool = False
    """Whether the new text says ``torch.``, so that the module must import it."""
    names: tuple[str, ...] = ()
    """Names it adds inside the function."""
    elsewhere: tuple[tuple[FunctionInfo, tuple[Replacement | ExpressionReplacement, ...]], ...] = ()
    """What is replaced in other functions of the same top-level statement."""
    imports: tuple[str, ...] = ()
    """Import statements that it needs."""

    @property
    def lines(self) -> tuple[int, int]:
        """First and last raw line that the change touches, or relies on as they are."""
        replaced = [*self.replacements, *(r for _, others in self.elsewhere for r in others)]
        firsts = [r.first.lineno if isinstance(r, Replacement) else r.node.lineno for r in replaced]
        lasts = [(r.last if isinstance(r, Replacement) else r.node).end_lineno or 0 for r in replaced]
        return min(firsts), max(lasts)
