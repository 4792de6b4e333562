"""All files of the workspace, where the user wants that: checked one by one, in a process for that (``sweep.py``)."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.check import Analysis, NoProgram
from graphmend_lsp.finding import Internal
from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.project import files
from graphmend_lsp.server import diagnostics, measured
from graphmend_lsp.server.diagnostics import NOTHING, Listed
from graphmend_lsp.server.documents import Checked, Document
from graphmend_lsp.server.progress import Progress
from graphmend_lsp.server.sweep import Answer, Context, Question, Sweep, state_of
from graphmend_lsp.server.sweeper import Ended, Stopped, Sweeper
from graphmend_lsp.server.translate import path_of, uri_key, uri_of
from graphmend_lsp.server.worker import SWEEP, URGENT
from graphmend_lsp.settings import Settings

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

_GATHER = 0.5
"""Seconds for which changes are gathered before the files are looked at again."""

Emit = Callable[[str, Listed], None]


@dataclass(frozen=True)
class _Known:
    """What was found in a file, and how it is shown."""

    answer: Answer
    shown: list[tuple[Measured, bool]]
    listed: Listed


class Whole:
    """Diagnostics of the files that are not open."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._sweeper = Sweeper()
        self._here: Sweep | None = None
        """Does the work in the analysis thread where no process can be started."""
        self._turn = asyncio.Lock()
        self._files: list[str] = []
        self._known: dict[str, _Known] = {}
        self._deadly: dict[str, tuple[int, int] | None] = {}
        """Files that ended the process, as they were then: not tried again."""
        self._changes = 0
        self._complete: object = None
        """The state of everything in which all files were last looked at."""
        self._send: Callable[[str, list[types.Diagnostic]], None] | None = None
        self._sent: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def roots(self) -> tuple[str, ...]:
        """The workspace folders all files of which are checked."""
        project = self._server.project
        return tuple(root for root in project.roots if project.options_for(root).extent == "all")

    # -- asked for ---------------------------------------------------------------------------------

    async def of(self, uri: str) -> Listed | None:
        """The diagnostics of one file that is not open; None where it has none to show."""
        await self._server.configuration.known()
        path = path_of(uri)
        if not path.endswith(".py") or self._server.project.folder_of(path) not in self.roots:
            return None
        known = await self._look(path, None, URGENT)
        return None if known is None else known.listed

    async def sweep(self, emit: Emit, token: int | str | None = None) -> bool:
        """Look at all files, and hand over the diagnostics of each; whether the user let it come to its end."""
        await self._server.configuration.known()
        if not self.roots:
            return True
        async with self._turn:
            progress = Progress(self._server, "GraphMend: checking the workspace", token, percentage=True)
            try:
                return await self._sweep(emit, progress)
            finally:
                progress.end()

    async def _sweep(self, emit: Emit, progress: Progress) -> bool:
        server = self._server
        state = self._state()
        unchanged = state == self._complete
        if not unchanged:
            found = await self._ask(Question(0, roots=self.roots))
            if found is None:
                return False
            self._files = list(found.files)
            self._known = {path: self._known[path] for path in self._files if path in self._known}
            await server.analyses.call(functools.partial(self._load_profiles, tuple(self._files)), SWEEP)
        for number, path in enumerate(self._files):
            if progress.cancelled or server.wire.is_shut_down or not self.roots:
                return False
            uri = uri_of(path)
            if server.documents.find(uri) is not None:
                continue
            known = self._known.get(path)
            if not unchanged or known is None:
                progress.report(os.path.basename(path), 100 * number // len(self._files))
                known = await self._look(path, progress, SWEEP)
            if known is not None and server.documents.find(uri) is None:
                emit(uri, known.listed)
        self._complete = state
        return True

    def _state(self) -> object:
        """All that the findings can depend on, as far as the server is told of changes."""
        opened = frozenset(uri_key(document.uri) for document in self._server.documents)
        return self._server.project, self._server.analyses.generation, self._changes, opened

    def _load_profiles(self, paths: tuple[str, ...]) -> None:
        """Profiles of earlier sessions, which may have measured breaks in any of the files."""
        for path in paths:
            self._server.results.of(path)

    async def _look(self, path: str, progress: Progress | None, priority: int) -> _Known | None:
        """What is found in a file now; None, reported, if the check fails."""
        if path in self._deadly and self._deadly[path] == state_of(path):
            return None
        known = self._known.get(path)
        answer = await self._ask(Question(0, path, has_answer=known is not None), progress)
        if answer is None:
            return None
        for problem in answer.problems:
            self._server.log_once(problem, types.MessageType.Warning)
        for failure in answer.internal:
            self._server.report_internal(failure)
        if answer.failed:
            return None
        made = await self._server.analyses.call(functools.partial(self._listed, path, answer, known), priority)
        if made is not None:
            self._known[path] = made
        return made

    async def _ask(self, question: Question, progress: Progress | None = None) -> Answer | None:
        """The answer; None, reported, where the process cannot give it, as often as it is tried."""
        for last in (False, True):
            try:
                return await self._answer(question, progress)
            except OSError as error:
                self._server.log_once(f"the workspace is checked in the server itself: {error}")
                self._here = self._here or Sweep()
                return await self._answer_here(self._here, question)
            except Stopped:
                return None
            except Ended as error:
                if last:
                    self._deadly[question.path] = state_of(question.path)
                    what = "the process that checks the workspace"
                    self._server.report_internal(Internal(question.path, None, what, f"it ended: {error}"))
        return None

    async def _answer(self, question: Question, progress: Progress | None) -> Answer:
        if self._here is not None:
            return await self._answer_here(self._here, question)
        pending = self._sweeper.ask(question, *self._around())
        await asyncio.wait((pending.begun, pending.answer), return_when=asyncio.FIRST_COMPLETED)
        if progress is not None and pending.begun.done():
            await progress.begin()
        return await pending.answer

    async def _answer_here(self, sweep: Sweep, question: Question) -> Answer:
        context, buffers, _ = self._around()
        question = replace(question, context=context, buffers=buffers, stale=True)
        return await self._server.worker.run(functools.partial(sweep.answer, question), SWEEP)

    def _around(self) -> tuple[Context, dict[str, str], object]:
        """What a file is checked in."""
        project = self._server.project
        context = Context(project.roots, project.options, project.folders)
        return context, self._server.documents.texts(), (self._server.analyses.generation, self._changes)

    def kill(self) -> None:
        """The client is gone; called from any thread."""
        self._sweeper.kill()

    # -- in the worker -----------------------------------------------------------------------------

    def _listed(self, path: str, answer: Answer, known: _Known | None) -> _Known:
        """The diagnostics of a file, with what was measured in it."""
        server = self._server
        shown = measured.profiles_of(server, path)
        if answer.same and known is not None:
            if known.shown == shown:
                return known
            answer = known.answer
        text = answer.text
        if shown and not text:
            try:
                text = files.read(path).text
            except files.SourceError:
                shown = []
        item = types.TextDocumentItem(uri_of(path), "python", 0, text)
        document = Document(item, server.client.encoding)
        document.advance(None)  # what is not open has no version
        analysis = Analysis(path, text, answer.findings, (), internal=answer.internal)
        checked = Checked(document.snapshot, analysis, NoProgram(), Settings(), 0, answer.problems)
        if not (answer.findings or shown):
            listed = Listed(document.snapshot, [], NOTHING)
        else:
            listed = diagnostics.listed(server, document, checked)
        return _Known(answer, shown, listed)

    # -- sent without being asked for --------------------------------------------------------------

    def publish(self, send: Callable[[str, list[types.Diagnostic]], None]) -> None:
        """The client does not ask: send it what is found."""
        self._send = send

    def opened(self, uri: str) -> None:
        """A document was opened: what is sent for it is no longer ours."""
        self._sent.pop(uri_of(path_of(uri)), None)

    def again(self, _: Document | None = None) -> None:
        """Something has changed: look again, in place of what is under way."""
        self._changes += 1
        if not self.roots:
            self._sweeper.end()
        if self._send is None or not (self.roots or self._sent):
            return
        if self._task is not None:
            self._task.cancel()
        self._task = self._server.spawn(self._publish_all(self._send))

    async def _publish_all(self, send: Callable[[str, list[types.Diagnostic]], None]) -> None:
        await asyncio.sleep(_GATHER)
        seen: set[str] = set()

        def emit(uri: str, listed: Listed) -> None:
            seen.add(uri)
            if self._sent.get(uri, NOTHING) != listed.result_id:
                self._sent[uri] = listed.result_id
                send(uri, listed.diagnostics)

        if await self.sweep(emit):
            for uri in [uri for uri in self._sent if uri not in seen]:
                del self._sent[uri]
                send(uri, [])
