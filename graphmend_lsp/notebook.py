"""The code cells of a notebook as one Python text, and places in the one as places in the other.

Cells stand in their order, each followed by an empty line, which belongs to it: what is inserted there goes to the end
of the cell.  All lines end in ``\\n``; a cell keeps its own endings.  Lines and columns are those of the cells, also
where a line is masked (see ``magics``) or blank because it does not parse, so that one cell that is being typed
does not take the others with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from graphmend_lsp import magics
from graphmend_lsp.finding import Change, Finding, Problem, Refusal
from graphmend_lsp.parse import BOM, ParseFailure, parsable
from graphmend_lsp.text import Edit, LineIndex, Span, apply_edits, diff_edits, line_ending, split_lines


class CannotPlace(ValueError):
    """An edit of the joined text has no place in the cells; the message is for the user."""


@dataclass(frozen=True)
class Cell:
    """A code cell; ``number`` counts from 1, as the notebook shows them: cells of all kinds."""

    source: str
    number: int

    @cached_property
    def index(self) -> LineIndex:
        return LineIndex(self.source)


@dataclass(frozen=True)
class _Prepared:
    """What the analysis reads of a cell: its lines as Python, those of them that are not the cell's own, and why a
    part of it is left blank."""

    lines: tuple[str, ...]
    masked: frozenset[int]
    failure: ParseFailure | None


@lru_cache(maxsize=1024)
def _prepared(source: str) -> _Prepared:
    own = [line.rstrip("\r\n") for line in split_lines(source)]
    python = magics.as_python(own)
    first = "" if own[0].startswith(BOM) else python.lines[0]  # the mark may only begin a text
    text, failure = parsable("\n".join((first, *python.lines[1:])) + "\n")
    lines = tuple(text.split("\n")[: len(own)])
    return _Prepared(lines, frozenset(n for n, line in enumerate(lines) if line != own[n]) | python.masked, failure)


@dataclass(frozen=True)
class Joined:
    """``text`` is what is analysed; the cells' first lines in it are ``starts`` (1-based)."""

    cells: tuple[Cell, ...]
    text: str = field(repr=False)
    starts: tuple[int, ...]
    masked: frozenset[int] = field(repr=False)
    """Lines of ``text`` that are not what the cell has there: no edit may touch them."""
    failures: tuple[tuple[int, ParseFailure], ...]
    """Index of each cell of which a part does not parse, and why; lines are those of the cell."""

    # -- places ----------------------------------------------------------------------------------

    def index_at(self, line: int) -> int:
        """Index (in ``cells``) of the cell with a line of the text.

        Raises:
            IndexError: there are no cells.
        """
        if not self.cells:
            raise IndexError("no cells")
        return max(bisect_right(self.starts, line) - 1, 0)

    def local(self, span: Span) -> tuple[int, Span]:
        """Index of the cell and range in it of a range that does not leave its cell."""
        found = self.index_at(span.line)
        inside = span.shifted(1 - self.starts[found])
        index = self.cells[found].index
        if inside.end_line > index.line_count:
            last = (index.line_count, len(index.line(index.line_count)))
            start = min((inside.line, inside.column), last)
            inside = Span(*start, *last)
        return found, inside

    def span(self, index: int, span: Span) -> Span:
        """Range in the text of a range in a cell."""
        return span.shifted(self.starts[index] - 1)

    def words(self, line: int, near: int) -> str:
        """A line of the text in words, to be read at the line ``near``: "line 3", or "cell 2, line 3"."""
        index, span = self.local(Span(line, 0, line, 0))
        cell = "" if index == self.index_at(near) else f"cell {self.cells[index].number}, "
        return f"{cell}line {span.line}"

    def worded(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings of the text that name lines of cells in their messages; their places stay those of the text."""
        return tuple(self._worded(finding) if finding.named_line else finding for finding in findings)

    def _worded(self, finding: Finding) -> Finding:
        words = self.words(finding.named_line, finding.span.line)
        return replace(finding, message=finding.message.replace(f", line {finding.named_line})", f", {words})", 1))

    def problems(self, path: str) -> tuple[Problem, ...]:
        """The cells of which a part does not parse."""
        return tuple(
            Problem(path, failure.line, failure.message, self.cells[index].number) for index, failure in self.failures
        )

    def problem(self, problem: Problem) -> Problem:
        """A problem of the text as one of a cell."""
        if problem.line is None:
            return problem
        index, span = self.local(Span(problem.line, 0, problem.line, 0))
        return replace(problem, line=span.line, cell=self.cells[index].number)

    # -- edits -----------------------------------------------------------------------------------

    def cell_edits(self, edits: Iterable[Edit]) -> dict[int, list[Edit]]:
        """Edits of the text as edits of cells, by index, in order.

        Raises:
            CannotPlace: one would change what is not Python, or more than one cell.
        """
        found: dict[int, list[Edit]] = {}
        for edit in edits:
            index = self.index_at(edit.span.line)
            found.setdefault(index, []).append(self._cell_edit(index, edit))
        return found

    def fitting(self, change: Change, kind: str) -> Change | Refusal:
        """A change of the text if the cells can take it."""
        try:
            self.cell_edits(change.edits)
        except CannotPlace as error:
            return Refusal(kind, "location", str(error))
        return change

    def _cell_edit(self, index: int, edit: Edit) -> Edit:
        cell, span, text = self.cells[index], edit.span.shifted(1 - self.starts[index]), edit.text
        count = cell.index.line_count
        last = (count, len(cell.index.line(count)))
        self._guard(index, span)
        if span.line > count:  # behind the cell's last line
            if span != Span(count + 1, 0, count + 1, 0) or not text.endswith("\n"):
                raise CannotPlace("it would write between two cells")
            span, text = Span(*last, *last), "\n" + text[:-1]
        elif (span.end_line, span.end_column) == (count + 1, 0):  # the last lines with their endings
            if text.endswith("\n"):
                span, text = Span(span.line, span.column, *last), text[:-1]
            elif not text and span.column == 0 and span.line > 1:
                before = span.line - 1
                span = Span(before, len(cell.index.line(before)), *last)
            else:
                raise CannotPlace("it would join two cells")
        elif span.end_line > count:
            raise CannotPlace("it would change more than one cell")
        return Edit(span, text.replace("\n", line_ending(cell.source)))

    def _guard(self, index: int, span: Span) -> None:
        """Refuse what would change a magic, or write above a cell's."""
        cell, first = self.cells[index], self.starts[index] - 1
        for line in range(span.line, span.end_line + (span.end_column > 0)):
            if first + line in self.masked:
                raise CannotPlace("it would change a line that is not Python (a magic or a shell command)")
        for line in range(max(span.line, 1), cell.index.line_count + 1):
            if first + line in self.masked and magics.is_head(cell.index.line(line)):
                raise CannotPlace("it would write above a cell magic")

    def applied(self, edits: Iterable[Edit]) -> Joined:
        """The notebook with edits of its text.

        Raises:
            CannotPlace: see ``cell_edits``.
        """
        changed = {i: apply_edits(self.cells[i].source, own) for i, own in self.cell_edits(edits).items()}
        return join([replace(cell, source=changed.get(i, cell.source)) for i, cell in enumerate(self.cells)])

    def mended(self, rounds: Iterable[Sequence[Edit]], text: str) -> Joined:
        """The notebook after rounds of edits, each of the text that the one before left; ``text`` is the last one.

        Raises:
            CannotPlace: see ``cell_edits``.
        """
        now = self
        for edits in rounds:
            now = now.applied(edits)
        if now.text != text:
            raise CannotPlace("internal error: the mended cells are not the mended text; please report")
        return now

    def difference(self, other: Joined) -> list[Edit]:
        """The edits of the text that turn it into that of ``other``, which has the same cells; none leaves its cell."""
        edits: list[Edit] = []
        for index, (old, new) in enumerate(zip(self.cells, other.cells, strict=True)):
            if old.source != new.source:
                changes = diff_edits(_plain(old.source), _plain(new.source))
                edits += [Edit(self.span(index, edit.span), edit.text) for edit in changes]
        return edits


def _plain(source: str) -> str:
    """A source whose lines end in ``\\n``."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def join(cells: Iterable[Cell]) -> Joined:
    """The text of some code cells."""
    cells = tuple(cells)
    lines: list[str] = []
    starts: list[int] = []
    masked: set[int] = set()
    failures: list[tuple[int, ParseFailure]] = []
    for index, cell in enumerate(cells):
        prepared = _prepared(cell.source)
        starts.append(len(lines) + 1)
        masked.update(len(lines) + 1 + number for number in prepared.masked)
        lines += (*prepared.lines, "")
        if prepared.failure is not None:
            failures.append((index, prepared.failure))
    text = "".join(line + "\n" for line in lines)
    return Joined(cells, text, tuple(starts), frozenset(masked), tuple(failures))
