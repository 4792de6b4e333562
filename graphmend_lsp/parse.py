"""Text to syntax trees, one per top-level statement; never raises on bad input.

The unit is the *chunk*: the lines from one top-level statement to the next.  A chunk that an edit did
not touch keeps its tree, its identity and everything computed from it; only its place in the file
moves.  That is sound because Python's tokenizer is back in its initial state (no open bracket, no open
string, indentation zero) wherever a top-level statement begins: if the lines before, the changed
lines and the lines after each parse on their own, the whole file parses to the same statements.

Line numbers inside a chunk are those of the text it was parsed from (*raw* lines); ``Chunk.shift``
turns them into lines of the current text.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from graphmend_lsp.text import Span, split_lines

BOM = "\ufeff"
_ids = itertools.count(1)
_MOST_BLANKED = 8
"""Blocks with errors that are blanked one after the other, a parse for each."""
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=]", re.ASCII)


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
class Parsed:
    """A text as chunks.  ``failure`` is set if a part did not parse; that part's chunk is ``broken``."""

    text: str
    chunks: tuple[Chunk, ...]
    failure: ParseFailure | None = None
    good: Parsed | None = field(default=None, repr=False)
    """Where this text does not parse: the last one before it that did, whose chunks the next one can take over."""

    @cached_property
    def by_id(self) -> dict[int, Chunk]:
        return {chunk.id: chunk for chunk in self.chunks}

    def resolve(self, place: Place) -> Span | None:
        """Range in the current text; None if the chunk is gone."""
        chunk = self.by_id.get(place.chunk)
        return None if chunk is None else place.span.shifted(chunk.shift)


def parse(text: str, previous: Parsed | None = None) -> Parsed:
    """The chunks of ``text``, reusing those of ``previous`` that did not change.

    While somebody types a text often does not parse: then those of the last one that did count.
    """
    if previous is not None and previous.good is not None:
        previous = previous.good
    if previous is not None:
        if previous.text == text and previous.failure is None:
            return previous
        reused = _reparse(text, previous)
        if reused is not None:
            return reused
    try:
        return Parsed(text, tuple(_chunks(text, 1, _tree(text))))
    except _NotPython as error:
        failure = error.failure
    if previous is not None:
        kept = _keep_untouched(text, previous, failure)
        if kept is not None:
            return kept
    return _around_the_error(text, failure)


class _NotPython(Exception):
    def __init__(self, failure: ParseFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _tree(text: str) -> list[ast.stmt]:
    source = text.removeprefix(BOM)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are other tools' business
            return ast.parse(source).body
    except SyntaxError as error:
        raise _NotPython(ParseFailure(error.lineno, error.msg or "invalid syntax")) from None
    except RecursionError:
        raise _NotPython(ParseFailure(None, "nested too deeply to parse")) from None
    except MemoryError:
        raise _NotPython(ParseFailure(None, "too complex to parse")) from None
    except ValueError as error:  # NUL bytes, lone surrogates
        raise _NotPython(ParseFailure(None, str(error))) from None


def first_line(node: ast.stmt) -> int:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno


def _chunks(text: str, line: int, nodes: list[ast.stmt]) -> Iterable[Chunk]:
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
        yield Chunk(next(_ids), text, 1, line, ())
        return
    starts = [1, *(start for start, _ in groups[1:]), len(lines) + 1]
    for (_, members), begin, end in zip(groups, starts, starts[1:], strict=False):
        yield Chunk(next(_ids), "".join(lines[begin - 1 : end - 1]), begin, line + begin - 1, tuple(members))


class _Window(NamedTuple):
    before: tuple[Chunk, ...]
    text: str
    line: int
    after: tuple[Chunk, ...]


def _window(text: str, previous: Parsed) -> _Window | None:
    """The changed lines, widened to whole chunks, between the untouched chunks before and after."""
    old, new = previous.text, text
    chunks = previous.chunks
    if not chunks or any(c.broken for c in chunks) or old.startswith(BOM) is not new.startswith(BOM):
        return None
    limit = min(len(old), len(new))
    prefix = _common_prefix(old, new, limit)
    suffix = _common_suffix(old, new, limit - prefix)
    first = 0
    used = 0
    # A chunk that ends where the change begins is touched, too: the change may continue its last line.
    while first < len(chunks) and used + len(chunks[first].text) < prefix:
        used += len(chunks[first].text)
        first += 1
    last = len(chunks)
    tail = 0
    while last > first and tail + len(chunks[last - 1].text) <= suffix:
        tail += len(chunks[last - 1].text)
        last -= 1
    if first and first == last:
        first -= 1
        used -= len(chunks[first].text)
    end = len(new) - tail
    if last < len(chunks) and end > 0 and new[end - 1] not in "\r\n":
        return None
    line = chunks[first].line if first < len(chunks) else 1
    moved = _count_lines(new[:end]) + 1 - (chunks[last].line if last < len(chunks) else 0)
    after = tuple(replace(c, line=c.line + moved) if moved else c for c in chunks[last:])
    return _Window(chunks[:first], new[used:end], line, after)


def _reparse(text: str, previous: Parsed) -> Parsed | None:
    window = _window(text, previous)
    if window is None:
        return None
    piece = window.text
    if not window.before and _CODING.match(piece):
        return None
    if piece and window.after and piece[-1] not in "\r\n":
        return None
    if window.before and piece.startswith(BOM):
        return None  # only the first character of a file may be one
    try:
        nodes = _tree(piece)
    except _NotPython:
        return None
    if not nodes and (window.before or window.after) and piece.strip() == "" and not window.before:
        return None
    middle = tuple(_chunks(piece, window.line, nodes)) if piece else ()
    return Parsed(text, window.before + middle + window.after)


def _keep_untouched(text: str, previous: Parsed, failure: ParseFailure) -> Parsed | None:
    window = _window(text, previous)
    if window is None:
        return None
    middle: tuple[Chunk, ...] = (Chunk(next(_ids), window.text, 1, window.line, (), broken=True),)
    try:
        _tree(window.text)
    except _NotPython as error:  # several places may have changed, and only one of them be broken
        middle = _blanked_chunks(window.text, window.line, error.failure) or middle
    return Parsed(text, (*window.before, *middle, *window.after), failure, previous)


def _around_the_error(text: str, failure: ParseFailure) -> Parsed:
    """Blank the top-level block with the error and parse the rest; twice, then give up."""
    chunks = _blanked_chunks(text, 1, failure) or (Chunk(next(_ids), text, 1, 1, (), broken=True),)
    return Parsed(text, chunks, failure)


def _blanked_chunks(text: str, line: int, failure: ParseFailure) -> tuple[Chunk, ...] | None:
    """The chunks of a piece of text that begins on ``line``, without the blocks that do not parse; None if that fails.

    Chunks keep their real text; those with a blanked line are ``broken``, so that nothing is derived from
    their length, but what did parse in them has its nodes.
    """
    lines = split_lines(text)
    blanked = list(lines)
    gone: set[int] = set()
    current = failure
    for _ in range(2):
        if current.line is None:
            break
        begin, end = _block(blanked, current.line)
        for number in range(begin, end):
            blanked[number] = _ending(blanked[number])
            gone.add(number + 1)
        try:
            nodes = _tree("".join(blanked))
        except _NotPython as error:
            current = error.failure
            continue
        return tuple(
            replace(c, broken=not c.nodes or any(c.raw_line <= n < c.raw_line + len(c.lines) for n in gone))
            for c in _chunks(text, line, nodes)
        )
    return None


def parsable(text: str) -> tuple[str, ParseFailure | None]:
    """``text`` with the top-level blocks that do not parse left blank, and the first reason why one does not.

    Where that does not help all of it is blank.  Lines keep their numbers.
    """
    lines = split_lines(text)
    first: ParseFailure | None = None
    for _ in range(_MOST_BLANKED):
        try:
            _tree("".join(lines))
        except _NotPython as error:
            failure = error.failure
        else:
            return "".join(lines), first
        first = first or failure
        if failure.line is None:
            break
        for number in range(*_block(lines, failure.line)):
            lines[number] = _ending(lines[number])
    return "".join(map(_ending, lines)), first


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _block(lines: list[str], error_line: int) -> tuple[int, int]:
    """0-based range of the top-level block around a 1-based line."""

    def begins(line: str) -> bool:
        return bool(line.strip()) and line[0] not in " \t\f#)]}"

    at = min(max(error_line - 1, 0), len(lines) - 1)
    begin = at
    while begin > 0 and not begins(lines[begin]):
        begin -= 1
    while begin > 0 and lines[begin - 1].startswith("@"):
        begin -= 1
    end = max(at, begin) + 1
    while end < len(lines) and not begins(lines[end]):
        end += 1
    return begin, end


def _count_lines(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _common_prefix(a: str, b: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(a: str, b: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle :] == b[len(b) - middle :]:
            low = middle
        else:
            high = middle - 1
    return low
