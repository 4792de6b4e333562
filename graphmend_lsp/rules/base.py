"""What a rule is: a predicate over events with a message; its module's docstring is its page."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphmend_lsp.flow.events import Event, EventKind
from graphmend_lsp.flow.values import Value, Why


@dataclass(frozen=True, slots=True, eq=False)
class Flag:
    """A rule's verdict: the range at fault, one sentence, and why the value is what it is.

    ``message`` may contain ``{origin}``: where the value comes from, in words.
    """

    node: ast.expr | ast.stmt
    message: str
    why: Why | None = None


@dataclass(frozen=True)
class Rule:
    """One rule.  ``page`` is Markdown; ``gb`` PyTorch's usual id for it on 2.13."""

    code: str
    name: str
    kinds: frozenset[EventKind]
    flag: Callable[[Event], Flag | None]
    gb: str
    page: str
    deliberate: bool = False
    """What it flags was asked for: information, not a warning."""

    @property
    def summary(self) -> str:
        """The first sentence of the page."""
        paragraph: list[str] = []
        for line in self.page.splitlines():
            if line.strip() and not line.startswith("#"):
                paragraph.append(line.strip())
            elif paragraph:
                break
        return " ".join(paragraph).partition(". ")[0].rstrip(".") + "." if paragraph else self.name


@dataclass(frozen=True)
class Spec:
    """What a rule's module declares beside its docstring and its ``flag`` function."""

    code: str
    name: str
    kinds: tuple[EventKind, ...]
    gb: str
    deliberate: bool = False


def source(event: Event, node: ast.expr | ast.stmt, limit: int = 72) -> str:
    """The text of a node on one line, cut at ``limit`` characters."""
    text = " ".join(event.function.chunk.source_of(node).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def origin_of(value: Value | None) -> Why | None:
    return value.why if value is not None else None


def raises_only(stmt: ast.stmt) -> bool:
    """Whether an ``if`` guards a ``raise`` and nothing else (building the message, and choosing one, is allowed)."""
    return isinstance(stmt, ast.If) and _raises(stmt.body) and all(map(_is_harmless, walk_block(stmt.body)))


def fails_always(stmt: ast.stmt) -> bool:
    """``assert False``."""
    return isinstance(stmt, ast.Assert) and isinstance(stmt.test, ast.Constant) and not stmt.test.value


def _raises(block: list[ast.stmt]) -> bool:
    """Whether every path through a block ends in an exception of its own."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _raises(last.body) and _raises(last.orelse)
    return isinstance(last, ast.Raise) or (last is not None and fails_always(last))


def walk_block(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, those inside an ``if`` included."""
    for stmt in block:
        yield stmt
        if isinstance(stmt, ast.If):
            yield from walk_block(stmt.body)
            yield from walk_block(stmt.orelse)


def _is_harmless(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.Assign):
        return _only_names(stmt)
    if isinstance(stmt, (ast.AnnAssign, ast.AugAssign)):
        return isinstance(stmt.target, ast.Name)
    return isinstance(stmt, (ast.Raise, ast.If, ast.Pass)) or fails_always(stmt)


def _only_names(stmt: ast.Assign) -> bool:
    return all(isinstance(t, ast.Name) for t in stmt.targets)
