"""One version of a document, and where its places are for the client: in its text, or in the cells of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from lsprotocol import types

from graphmend_lsp.check import Analysis, Mended
from graphmend_lsp.notebook import Cell, Joined, join
from graphmend_lsp.server.translate import Positions, path_of, uri_key
from graphmend_lsp.text import Edit, Encoding, LineIndex, Span, diff_edits

_BOM = "\ufeff"

_Edited = tuple[str, int | None, list[types.TextEdit]]
"""URI and version of a text, and edits of it."""


@dataclass(frozen=True)
class Snapshot:
    """One version of one document."""

    uri: str
    version: int | None
    text: str
    encoding: Encoding

    @property
    def path(self) -> str:
        return path_of(self.uri)

    @property
    def source(self) -> str:
        """The text as the analysis reads it: without a byte order mark, as files are read, too."""
        return self.text.removeprefix(_BOM)

    @cached_property
    def positions(self) -> Positions:
        """Positions in ``source``."""
        return Positions(self.index, self.encoding, len(self.text) - len(self.source))

    @cached_property
    def index(self) -> LineIndex:
        return LineIndex(self.text)

    # -- what is another in a notebook -------------------------------------------------------------

    def positions_of(self, uri: str) -> Positions | None:
        """Positions in the document as the client knows it by this URI; None if it is not checked."""
        del uri
        return self.positions

    def at(self, span: Span) -> tuple[str, Positions]:
        """The document in which a range of ``source`` stands for the client, and positions in it."""
        del span
        return self.uri, self.positions

    def words(self, line: int, near: int) -> str:
        """A line of ``source`` in words, to be read at the line ``near``."""
        del near
        return f"line {line}"

    def edited(self, edits: Iterable[Edit]) -> list[_Edited]:
        """Edits of ``source`` as the client takes them.

        Raises:
            CannotPlace: there is no such edit.
        """
        return [(self.uri, self.version, [self.positions.text_edit(edit) for edit in edits])]

    def difference(self, mended: Mended) -> list[Edit]:
        """The edits of ``source`` that mend it.

        Raises:
            CannotPlace: there are none.
        """
        return diff_edits(self.source, mended.text)

    def placed(self, analysis: Analysis) -> Analysis:
        """The analysis of ``source`` in the terms of the document."""
        return analysis


@dataclass(frozen=True)
class NotebookSnapshot(Snapshot):
    """One version of a notebook: ``text`` is that of its Python cells, joined.

    ``cells`` are these cells in order, ``others`` the URIs of all other cells.
    """

    joined: Joined = field(default_factory=lambda: join(()))
    cells: tuple[Snapshot, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, uri: str, version: int, encoding: Encoding, cells: Sequence[tuple[int, Snapshot]], others: Sequence[str]
    ) -> NotebookSnapshot:
        """The notebook with some Python cells, given with their numbers."""
        joined = join(Cell(snapshot.text, number) for number, snapshot in cells)
        return cls(uri, version, joined.text, encoding, joined, tuple(cell for _, cell in cells), tuple(others))

    @property
    def uris(self) -> tuple[str, ...]:
        """The URIs of all cells."""
        return (*(cell.uri for cell in self.cells), *self.others)

    def positions_of(self, uri: str) -> Positions | None:
        key = uri_key(uri)
        found = next((number for number, cell in enumerate(self.cells) if uri_key(cell.uri) == key), None)
        return None if found is None else self._positions(found)

    def _positions(self, number: int) -> Positions:
        return Positions(self.joined.cells[number].index, self.encoding, above=self.joined.starts[number] - 1)

    def at(self, span: Span) -> tuple[str, Positions]:
        number = self.joined.index_at(span.line)
        return self.cells[number].uri, self._positions(number)

    def words(self, line: int, near: int) -> str:
        return self.joined.words(line, near)

    def edited(self, edits: Iterable[Edit]) -> list[_Edited]:
        made: list[_Edited] = []
        for number, own in self.joined.cell_edits(edits).items():
            cell, positions = self.cells[number], replace(self._positions(number), above=0)
            made.append((cell.uri, cell.version, [positions.text_edit(edit) for edit in own]))
        return made

    def difference(self, mended: Mended) -> list[Edit]:
        after = self.joined.mended((edits for _, edits in mended.rounds), mended.text)
        return self.joined.difference(after)

    def placed(self, analysis: Analysis) -> Analysis:
        problems = (*self.joined.problems(analysis.path), *map(self.joined.problem, analysis.problems))
        return replace(analysis, findings=self.joined.worded(analysis.findings), problems=problems)
