"""Text, lines, columns and edits: the one place that knows how positions are counted.

A *line* ends at ``\\r\\n``, ``\\n`` or ``\\r`` and at nothing else, as the Language Server Protocol
and Python's tokenizer have it (``str.splitlines`` also splits at form feed, NEL, U+2028 and others,
which moves every later position).  Inside the product a position is a 1-based line and a 0-based
column counted in code points.  Clients count in UTF-8, UTF-16 or UTF-32 units; the conversions are
here, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, order=True, slots=True)
class Span:
    """A range of text: lines are 1-based, columns 0-based code points, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def shifted(self, lines: int) -> Span:
        """The same range, ``lines`` further down."""
        if not lines:
            return self
        return Span(self.line + lines, self.column, self.end_line + lines, self.end_column)

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies inside this range (touching ends count)."""
        return (self.line, self.column) <= (other.line, other.column) and (
            (other.end_line, other.end_column) <= (self.end_line, self.end_column)
        )

    def overlaps(self, other: Span) -> bool:
        """Whether the two ranges share text; two insertions at one place do not."""
        return (self.line, self.column) < (other.end_line, other.end_column) and (
            (other.line, other.column) < (self.end_line, self.end_column)
        )


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` with their endings; the last one may be empty."""
    lines: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    lines.append(text[start:])
    return lines


def line_starts(text: str) -> list[int]:
    """Offsets (code points) at which the lines of ``text`` begin."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def units(text: str, encoding: Encoding) -> int:
    """Length of ``text`` in the units of ``encoding``."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text) + sum(1 for char in text if ord(char) > 0xFFFF)
    return sum(_utf8_width(char) for char in text)


def _utf8_width(char: str) -> int:
    code = ord(char)
    if code < 0x80:
        return 1
    if code < 0x800:
        return 2
    return 3 if code < 0x10000 else 4


def to_code_points(line: str, column: int, encoding: Encoding) -> int:
    """Column in code points for a ``column`` in units of ``encoding``, clamped to the line.

    A column in the middle of a surrogate pair or of a UTF-8 sequence means the character's start.
    """
    if column <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(column, len(line))
    used = 0
    for index, char in enumerate(line):
        width = (2 if ord(char) > 0xFFFF else 1) if encoding == "utf-16" else _utf8_width(char)
        if used + width > column:
            return index
        used += width
    return len(line)


@dataclass(frozen=True)
class LineIndex:
    """The lines of one text, computed once; converts between offsets and positions."""

    text: str
    starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", line_starts(self.text))

    @property
    def line_count(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """Text of the 1-based line ``number`` without its ending; empty outside the text."""
        if not 1 <= number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")

    def offset(self, line: int, column: int) -> int:
        """Offset (code points) of a position; clamped to the line and to the text."""
        if line < 1:
            return 0
        if line > len(self.starts):
            return len(self.text)
        return self.starts[line - 1] + min(max(column, 0), len(self.line(line)))

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and 0-based column of an offset (code points)."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1]

    def slice(self, span: Span) -> str:
        """The text of ``span``."""
        return self.text[self.offset(span.line, span.column) : self.offset(span.end_line, span.end_column)]


@dataclass(frozen=True, order=True, slots=True)
class Edit:
    """Replace the text of ``span`` by ``text``; an empty span inserts."""

    span: Span
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all ``edits`` applied; their spans refer to ``text`` as it is given.

    Insertions at one place keep the order in which they are listed.

    Raises:
        ValueError: two edits overlap.
    """
    index = LineIndex(text)
    placed = sorted(
        (
            (index.offset(e.span.line, e.span.column), index.offset(e.span.end_line, e.span.end_column), i, e.text)
            for i, e in enumerate(edits)
        ),
        key=lambda row: row[:3],
    )
    parts: list[str] = []
    done = 0
    for start, end, _, new in placed:
        if start < done:
            raise ValueError(f"overlapping edits at offset {start}")
        parts += (text[done:start], new)
        done = max(end, start)
    parts.append(text[done:])
    return "".join(parts)


def line_ending(text: str) -> str:
    """The ending most lines of ``text`` have; ``\\n`` for a text without line breaks."""
    counts: dict[str, int] = {}
    for match in _LINE_END.finditer(text):
        counts[match.group()] = counts.get(match.group(), 0) + 1
    return max(counts, key=lambda end: counts[end]) if counts else "\n"


_MOST_DIFFERENCES = 1000
"""Beyond this many changed lines, ``diff_edits`` stops looking for the smallest set."""


def diff_edits(old: str, new: str) -> list[Edit]:
    """The smallest set of whole-line edits that turns ``old`` into ``new``, in order of position.

    Untouched lines are in no edit, so that an editor keeps its marks, folds and cursor there.  Texts
    that differ in more than ``_MOST_DIFFERENCES`` lines get one edit from the first difference to the last.
    """
    before, after = split_lines(old), split_lines(new)
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    if not left and not right:
        return []
    edits: list[Edit] = []
    i = j = 0
    for x, y in [*_matches(left, right), (len(left), len(right))]:
        if i < x or j < y:
            edits.append(Edit(_lines_span(before, start + i, start + x), "".join(right[j:y])))
        i, j = x + 1, y + 1
    return edits


def _lines_span(lines: list[str], first: int, end: int) -> Span:
    """Range of the lines with 0-based numbers ``first`` to before ``end``."""
    if end < len(lines):
        return Span(first + 1, 0, end + 1, 0)
    if first < len(lines):
        return Span(first + 1, 0, len(lines), len(lines[-1]))
    return Span(len(lines), len(lines[-1]), len(lines), len(lines[-1]))


def _matches(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """Pairs of equal lines in a longest common subsequence (Myers' greedy algorithm); none if the texts
    differ too much."""
    rows, columns = len(left), len(right)
    furthest = {1: 0}
    history: list[dict[int, int]] = []
    for distance in range(min(rows + columns, _MOST_DIFFERENCES) + 1):
        history.append(dict(furthest))
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1])
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            while x < rows and x - diagonal < columns and left[x] == right[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= rows and x - diagonal >= columns:
                return _trace_back(history, rows, columns)
    return []


def _trace_back(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """The matched pairs on the shortest path to ``(x, y)``, first to last."""
    pairs: list[tuple[int, int]] = []
    for distance in range(len(history) - 1, -1, -1):
        furthest, diagonal = history[distance], x - y
        down = diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1])
        from_diagonal = diagonal + 1 if down else diagonal - 1
        from_x = furthest[from_diagonal]
        from_y = from_x - from_diagonal
        start_x = from_x if down else from_x + 1
        if not distance:
            start_x = 0
        while x > start_x:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]
