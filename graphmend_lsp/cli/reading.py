"""A file and the Python text in it: the same for a source file, the joined cells for a notebook."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphmend_lsp import check as core
from graphmend_lsp.finding import Problem
from graphmend_lsp.project import files

if TYPE_CHECKING:
    from graphmend_lsp.notebook import Joined
    from graphmend_lsp.project.notebooks import NotebookFile


@dataclass(frozen=True)
class Read:
    """A file as it was read, and the Python text in it; ``notebook`` is None for a file that is that text."""

    file: files.SourceFile
    text: str
    notebook: NotebookFile | None = None

    @property
    def cells(self) -> Joined | None:
        return None if self.notebook is None else self.notebook.joined

    @property
    def lines(self) -> tuple[int, ...]:
        """Of a notebook, the line of the file in which each line of ``text`` stands."""
        return () if self.notebook is None else self.notebook.lines

    def placed(self, analysis: core.Analysis) -> core.Analysis:
        """The analysis of the text as one of the file: problems are those of the cells."""
        if self.cells is None:
            return analysis
        problems = (*self.cells.problems(self.file.path), *(located(p, self.cells) for p in analysis.problems))
        return replace(analysis, findings=self.cells.worded(analysis.findings), problems=problems)

    def mended(self, mended: core.Mended) -> tuple[str, Joined | None]:
        """The file's text with the mended text in it, and the cells of that.

        Raises:
            SourceError: a cell of a notebook cannot take its part.
        """
        if self.notebook is None:
            return mended.text, None
        from graphmend_lsp.notebook import CannotPlace

        edits = (edits for _, edits in mended.rounds)
        try:
            cells = self.notebook.joined.mended(edits, mended.text)
        except CannotPlace as error:
            raise files.SourceError(f"left alone: {error}") from None
        return self.notebook.with_cells(cells), cells


def read_notebook(path: str, data: bytes | None) -> Read:
    """A notebook, from its path or from its bytes.

    Raises:
        SourceError: it cannot be read.
    """
    from graphmend_lsp.project import notebooks

    notebook = notebooks.read(path) if data is None else notebooks.decode(data, path)
    return Read(notebook.source, notebook.joined.text, notebook)


def located(problem: Problem, cells: Joined | None) -> Problem:
    """A problem of the text as one of the file."""
    return problem if cells is None else cells.problem(problem)
