"""A text as *chunks*: the lines from one top-level statement to the next, each with its trees.

Line numbers inside a chunk are those of the text it was parsed from (*raw* lines); ``Chunk.shift``
turns them into lines of the current text.
"""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from graphmend_lsp.text import Span, split_lines

BOM = "\ufeff"
ids = itertools.count(1)


class Place(NamedTuple):
    """Where something stands: a chunk (by id) and a raw range in it.  Resolved by ``Parsed.resolve``."""

    chunk: int
    span: Span


@dataclass(frozen=True, eq=False)
class Chunk:
    """One top-level statement (or several on one line) with the lines up to the next."""

    id: int
    text: str
    raw_line: int
    """Raw number of the chunk's first line."""
    line: int
    """Number of that line in the current text."""
    nodes: tuple[ast.stmt, ...]
    broken: bool = False
    hole: Hole | None = None
    """Of a broken one that an edit made: what stood there."""

    @property
    def shift(self) -> int:
        return self.line - self.raw_line

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def ascii(self) -> bool:
        return self.text.isascii()

    def raw_text(self, raw: int) -> str:
        """Text of a raw line, with its ending."""
        return self.lines[raw - self.raw_line]

    def column(self, raw: int, utf8: int) -> int:
        """Column in code points for ``ast``'s UTF-8 column on a raw line."""
        if self.ascii:
            return utf8
        line = self.raw_text(raw)
        if line.isascii():
            return utf8
        if line.startswith(BOM) and self.line == 1:
            return 1 + len(line[1:].encode("utf-8", "surrogatepass")[:utf8].decode("utf-8", "ignore"))
        return len(line.encode("utf-8", "surrogatepass")[:utf8].decode("utf-8", "ignore"))

    def span(
        self, node: ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.pattern | ast.alias
    ) -> Span:
        """Raw range of a node."""
        end_line = node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        if self.ascii:
            return Span(node.lineno, node.col_offset, end_line, end)
        return Span(node.lineno, self.column(node.lineno, node.col_offset), end_line, self.column(end_line, end))

    def source(self, span: Span) -> str:
        """The text of a raw range."""
        if span.line == span.end_line:
            return self.raw_text(span.line)[span.column : span.end_column]
        rows = [self.raw_text(n) for n in range(span.line, span.end_line + 1)]
        rows[-1] = rows[-1][: span.end_column]
        rows[0] = rows[0][span.column :]
        return "".join(rows)

    def source_of(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node."""
        return self.source(self.span(node))


@dataclass(frozen=True)
class ParseFailure:
    """Why (a part of) a text has no tree; ``line`` is 1-based, None where the parser names none."""

    line: int | None
    message: str


@dataclass(frozen=True, eq=False)
class Hole:
    """What is known of a part that does not parse any more; the line of ``failure`` is a raw one."""

    failure: ParseFailure
    stale: tuple[Chunk, ...]
    """The chunks that stood there in the last text that did parse."""
    certain: bool
    """Whether it parses with nothing behind it, if that begins with a statement and closes what it opens."""


@dataclass(frozen=True, eq=False)
class Parsed:
    """A text as chunks.  ``failure`` is set if a part did not parse; that part's chunk is ``broken``."""

    text: str
    chunks: tuple[Chunk, ...]
    failure: ParseFailure | None = None

    @cached_property
    def seen(self) -> tuple[Chunk, ...]:
        """The chunks that an analysis sees: while a part does not parse, what stood there before stands for it."""
        if self.failure is None:
            return self.chunks
        return tuple(part for c in self.chunks for part in _seen(c))

    @cached_property
    def by_id(self) -> dict[int, Chunk]:
        """The chunks of this text; those that only ``seen`` has stand nowhere in it."""
        return {chunk.id: chunk for chunk in self.chunks}

    @cached_property
    def seen_by_id(self) -> dict[int, Chunk]:
        return self.by_id if self.failure is None else {chunk.id: chunk for chunk in self.seen}

    def resolve(self, place: Place) -> Span | None:
        """Range in the current text; None if the chunk is gone."""
        chunk = self.by_id.get(place.chunk)
        return None if chunk is None else place.span.shifted(chunk.shift)


def _seen(chunk: Chunk) -> tuple[Chunk, ...]:
    if chunk.hole is None:
        return (chunk,)
    return (*chunk.hole.stale, chunk) if chunk.nodes else chunk.hole.stale


class NotPython(Exception):
    """A text that does not parse."""

    def __init__(self, failure: ParseFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def tree(text: str) -> list[ast.stmt]:
    """The statements of a text.

    Raises:
        NotPython: it does not parse.
    """
    source = text.removeprefix(BOM)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are other tools' business
            return ast.parse(source).body
    except SyntaxError as error:
        raise NotPython(ParseFailure(error.lineno, error.msg or "invalid syntax")) from None
    except RecursionError:
        raise NotPython(ParseFailure(None, "nested too deeply to parse")) from None
    except MemoryError:
        raise NotPython(ParseFailure(None, "too complex to parse")) from None
    except ValueError as error:  # NUL bytes, lone surrogates
        raise NotPython(ParseFailure(None, str(error))) from None


def first_line(node: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno


def chunks_of(text: str, line: int, nodes: list[ast.stmt]) -> Iterable[Chunk]:
    """Chunks of a parsed piece of text whose first raw line is 1 and stands on ``line`` of the file."""
    lines = split_lines(text)
    groups: list[tuple[int, list[ast.stmt]]] = []
    last_end = 0
    for node in nodes:
        start = first_line(node)
        if groups and start <= last_end:
            groups[-1][1].append(node)
        else:
            groups.append((start, [node]))
        last_end = max(last_end, node.end_lineno or node.lineno)
    if not groups:
        yield Chunk(next(ids), text, 1, line, ())
        return
    starts = [1, *(start for start, _ in groups[1:]), len(lines) + 1]
    for (_, members), begin, end in zip(groups, starts, starts[1:], strict=False):
        yield Chunk(next(ids), "".join(lines[begin - 1 : end - 1]), begin, line + begin - 1, tuple(members))
