"""What a rule is: a predicate over events with a message; its module's docstring is its page."""

from __future__ import annotations

import ast
from collections.abc import Callable
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
    """Whether an ``if`` guards a ``raise`` and nothing else (building the message is allowed)."""
    if not isinstance(stmt, ast.If) or not isinstance(stmt.body[-1], ast.Raise):
        return False
    return all(isinstance(s, ast.Assign) and _only_names(s) for s in stmt.body[:-1])


def _only_names(stmt: ast.Assign) -> bool:
    return all(isinstance(t, ast.Name) for t in stmt.targets)
