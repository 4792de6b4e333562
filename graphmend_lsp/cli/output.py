"""What ``graphmend check`` writes: text as the files come, documents for tools at the end."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable
from typing import Protocol, TextIO

from graphmend_lsp.cli import report, terminal
from graphmend_lsp.cli.statistics import Statistics
from graphmend_lsp.cli.statistics import document as counted
from graphmend_lsp.cli.work import Checked
from graphmend_lsp.finding import Problem
from graphmend_lsp.project import files

TEXT = ("full", "concise")
FORMATS = (*TEXT, "json", "sarif", "github", "gitlab")
WITH_EDITS = ("json", "sarif")
"""Formats that hold the edits of the offers."""


class Output(Protocol):
    """Takes the files in order, then the end of the run."""

    def add(self, checked: Checked) -> None: ...

    def end(self, problems: Iterable[Problem], closing: str) -> None: ...


class Text:
    """For people: findings, or counts of them, and a closing line."""

    def __init__(self, stream: TextIO, form: str, statistics: bool, before: Callable[[], None]) -> None:
        self._stream = stream
        self._paint = terminal.paint_for(stream)
        self._show = report.full if form == "full" else report.concise
        self._statistics = Statistics() if statistics else None
        self._before = before

    def add(self, checked: Checked) -> None:
        if self._statistics is not None:
            self._statistics.add(checked)
        elif text := self._show(checked, self._paint):
            self._before()
            self._stream.write(text)

    def end(self, problems: Iterable[Problem], closing: str) -> None:
        if self._statistics is not None:
            self._stream.write(self._statistics.table(self._paint))
        self._stream.write(closing + "\n")


class Document:
    """For tools: one text, made of all files."""

    def __init__(self, stream: TextIO, made: Callable[[Iterable[Checked], Iterable[Problem]], str]) -> None:
        self._stream = stream
        self._made = made
        self._kept: list[Checked] = []

    def add(self, checked: Checked) -> None:
        if checked.findings or checked.problems or checked.unused_suppressions:
            self._kept.append(checked)

    def end(self, problems: Iterable[Problem], closing: str) -> None:
        self._stream.write(self._made(self._kept, problems))


def output(form: str, statistics: bool, stream: TextIO, before: Callable[[], None]) -> Output:
    """The output of a format; ``before`` is called before text is written."""
    if form in TEXT:
        return Text(stream, form, statistics, before)
    if statistics:
        return Document(stream, counted)
    if form == "json":
        return Document(stream, _as_json)
    if form == "sarif":
        from graphmend_lsp.cli.formats.sarif import document
    elif form == "github":
        if stream is sys.stdout and hasattr(stream, "reconfigure"):
            # the runner reads nothing else, whatever the console has
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
        from graphmend_lsp.cli.formats.github import document
    else:
        from graphmend_lsp.cli.formats.gitlab import document
    return Document(stream, document)


def _as_json(results: Iterable[Checked], problems: Iterable[Problem]) -> str:
    return json.dumps(report.as_json(results, problems), indent=2) + "\n"


class Target:
    """Where the output goes: standard output, or a file that is replaced as a whole at the end."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self.stream: TextIO = sys.stdout if path is None else io.StringIO()

    def end(self) -> tuple[Problem, ...]:
        """Write the file; what went wrong."""
        if self._path is None or not isinstance(self.stream, io.StringIO):
            return ()
        try:
            text = self.stream.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")
            files.create(self._path, text)
        except files.SourceError as error:
            return (Problem(self._path, None, str(error)),)
        return ()
