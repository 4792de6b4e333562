"""Checking the files of a workspace that are not open, in a process of its own, so that nobody waits for it.

The server (``sweeper.py``) sends questions, each with what has changed around the files, and gets the answers in their
order.  What was found in a file holds as long as its text, its settings and the answers to everything that its analysis
asked of other files stay the same, so that a save costs the check of what it changes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmend_lsp import check as core
from graphmend_lsp.check import ProgramView, RuntimePlace
from graphmend_lsp.finding import Finding, Internal
from graphmend_lsp.model.program import Caller
from graphmend_lsp.project import files
from graphmend_lsp.project.baseline import demoted
from graphmend_lsp.project.config import LoadedConfig
from graphmend_lsp.project.relevant import Survey
from graphmend_lsp.server import streams
from graphmend_lsp.server.settings import EditorOptions, FileSettings, Project
from graphmend_lsp.server.worker import start

_NICENESS = 10


@dataclass(frozen=True)
class Context:
    """What the editor says, and where."""

    roots: tuple[str, ...] = ()
    options: EditorOptions = field(default_factory=EditorOptions)
    folders: Mapping[str, EditorOptions] = field(default_factory=dict[str, EditorOptions])


@dataclass(frozen=True)
class Question:
    """``path`` is the file to check; "" asks which files there are under ``roots``."""

    number: int
    path: str = ""
    roots: tuple[str, ...] = ()
    has_answer: bool = False
    """Whether whoever asks still has the last answer about the file."""
    context: Context | None = None
    """If it is another one."""
    buffers: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Texts of open documents as far as they are others; None for what was closed."""
    stale: bool = False
    """Whether something on disk has changed."""


@dataclass(frozen=True)
class Begun:
    """A file is being checked: what was known of it does not hold."""

    number: int


@dataclass(frozen=True)
class Answer:
    """What was found in a file; ``same`` says that nothing has changed, and nothing else then."""

    number: int
    files: tuple[str, ...] = ()
    same: bool = False
    text: str = ""
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    """Mistakes in the configuration."""
    internal: tuple[Internal, ...] = ()
    failed: bool = False
    """Whether the check of the file failed as a whole."""


class _Asked:
    """The program around a file, with a note of what its analysis asked and was told."""

    def __init__(self, program: ProgramView) -> None:
        self._program = program
        self._answers: dict[tuple[str, tuple[Any, ...]], object] = {}

    def source(self, module: str) -> tuple[str, str] | None:
        return self._noted("source", module)

    def module_name(self, path: str) -> tuple[str, bool]:
        return self._noted("module_name", path)

    def callers(self, path: str, functions: tuple[str, ...], named: tuple[str, ...]) -> tuple[Caller, ...]:
        return self._noted("callers", path, functions, named)

    def is_missing(self, package: str) -> bool:
        return self._noted("is_missing", package)

    def scope(self) -> object:
        return self._program.scope()

    def runtime(self, path: str) -> RuntimePlace:
        return self._program.runtime(path)  # asked for edits only

    def _noted(self, question: str, *about: Any) -> Any:
        answer = self._answers[question, about] = getattr(self._program, question)(*about)
        return answer

    def holds(self, program: ProgramView) -> bool:
        """Whether all that would be answered in the same way now."""
        return all(getattr(program, name)(*about) == answer for (name, about), answer in self._answers.items())


@dataclass(frozen=True)
class _Known:
    """What a file was checked with."""

    state: tuple[int, int] | None
    settings: FileSettings
    asked: _Asked


class Sweep:
    """Answers the questions, one after the other."""

    def __init__(self) -> None:
        self._project = Project()
        self._survey = Survey()
        self._buffers: dict[str, str] = {}
        self._known: dict[str, _Known] = {}

    def answer(self, question: Question, begun: Callable[[], None] = lambda: None) -> Answer:
        """The answer; ``begun`` is called before a check that takes its time."""
        try:
            self._follow(question)
            if not question.path:
                found = tuple(self._survey.files(question.roots, self._has_entries))
                self._known = {path: known for path, known in self._known.items() if path in set(found)}
                return Answer(question.number, files=found)
            return self._look(question, begun)
        except Exception as error:  # the core must not take the others with it
            what, trace = "the check of a file", traceback.format_exc()
            internal = Internal(question.path, None, what, f"{type(error).__name__}: {error}", trace)
            return Answer(question.number, internal=(internal,), failed=True)

    def _follow(self, question: Question) -> None:
        """Take what has changed."""
        context = question.context
        if context is not None:
            self._project = self._project.changed(context.roots, context.options, context.folders)
        for path, text in question.buffers.items():
            if text is None:
                self._buffers.pop(path, None)
            else:
                self._buffers[path] = text
        self._project.see(self._buffers)
        if question.stale:
            self._project.refresh()

    def _has_entries(self, path: str, config: LoadedConfig) -> bool:
        """Whether the user names entries: then any file may have one."""
        return bool(config.settings.entries or self._project.options_for(path).fields.get("entries"))

    def _look(self, question: Question, begun: Callable[[], None]) -> Answer:
        path, known = question.path, self._known.get(question.path)
        state, settings = state_of(path), self._project.settings(path)
        program = self._project.program(path, settings.settings)
        if (
            question.has_answer
            and known is not None
            and (known.state, known.settings) == (state, settings)
            and known.asked.holds(program)
        ):
            return Answer(question.number, same=True)
        begun()
        asked = _Asked(program)
        try:
            text = files.read(path).text
        except files.SourceError:  # gone meanwhile, or no text: nothing to show
            text = ""
        findings: tuple[Finding, ...] = ()
        internal: tuple[Internal, ...] = ()
        if text and not settings.excluded:
            analysis = demoted(core.check(text, path, program=asked, settings=settings.settings), settings.baseline)
            findings, internal = analysis.findings, analysis.internal
        self._known[path] = _Known(state, settings, asked)
        shown = text if findings else ""
        return Answer(question.number, (), False, shown, findings, settings.problems, internal)


def state_of(path: str) -> tuple[int, int] | None:
    """What is another one when the file is; None if it is not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def main() -> None:
    """Answer on standard output what is asked on standard input; the end of that is the end, whatever is under way."""
    stdin, stdout = streams.take()
    if sys.platform != "win32":  # there the server starts it so
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
    questions: queue.SimpleQueue[Question] = queue.SimpleQueue()

    def say(message: Begun | Answer) -> None:
        try:
            pickle.dump(message, stdout)
            stdout.flush()
        except OSError:  # nobody listens any more
            os._exit(0)

    def work() -> None:
        sweep = Sweep()
        while True:
            question = questions.get()
            number = question.number
            say(sweep.answer(question, lambda number=number: say(Begun(number))))

    start(threading.Thread(target=work, name="graphmend-sweep", daemon=True))
    while True:
        try:
            questions.put(pickle.load(stdin))
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)


if __name__ == "__main__":
    main()
