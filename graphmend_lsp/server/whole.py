"""All files of the workspace, where the user wants that: checked one by one when nobody waits for anything else.

What was found in a file holds as long as its text, its settings and the answers to everything that its analysis asked
of other files stay the same, so that a save costs the check of what it changes.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from graphmend_lsp import check as core
from graphmend_lsp.check import Analysis, ProgramView, RuntimePlace
from graphmend_lsp.model.program import Caller
from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.project import files
from graphmend_lsp.project.config import LoadedConfig
from graphmend_lsp.project.relevant import Survey
from graphmend_lsp.server import diagnostics, measured
from graphmend_lsp.server.diagnostics import NOTHING, Listed
from graphmend_lsp.server.documents import Checked, Document, Snapshot
from graphmend_lsp.server.progress import Progress
from graphmend_lsp.server.settings import FileSettings
from graphmend_lsp.server.translate import path_of, uri_key, uri_of
from graphmend_lsp.server.worker import SWEEP, URGENT

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

_GATHER = 0.5
"""Seconds for which changes are gathered before the files are looked at again."""

Emit = Callable[[str, Listed], None]


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
    """What was found in a file, and by what."""

    state: tuple[int, int] | None
    settings: FileSettings
    asked: _Asked
    shown: list[tuple[Measured, bool]]
    listed: Listed


class Whole:
    """Diagnostics of the files that are not open."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._survey = Survey()
        self._turn = asyncio.Lock()
        self._files: list[str] = []
        self._known: dict[str, _Known] = {}
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
            job = functools.partial(self._survey.files, self.roots, self._has_entries)
            self._files = await server.in_thread(job)
            self._known = {path: self._known[path] for path in self._files if path in self._known}
            await server.analyses.call(functools.partial(self._load_profiles, tuple(self._files)), SWEEP)
        for number, path in enumerate(self._files):
            if progress.cancelled or server.wire.is_shut_down:
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

    def _has_entries(self, path: str, config: LoadedConfig) -> bool:
        """Whether the user names entries: then any file may have one."""
        return bool(config.settings.entries or self._server.project.options_for(path).fields.get("entries"))

    def _load_profiles(self, paths: tuple[str, ...]) -> None:
        """Profiles of earlier sessions, which may have measured breaks in any of the files."""
        for path in paths:
            self._server.results.of(path)

    async def _look(self, path: str, progress: Progress | None, priority: int) -> _Known | None:
        """What is found in a file now; None, reported, if the check fails."""
        server = self._server
        known = self._known.get(path)
        buffers = server.documents.texts()
        if known is not None:
            holds = functools.partial(self._holds, path, known, buffers)
            if await server.analyses.call(holds, priority):
                return known
        if progress is not None:
            await progress.begin()
        generation = server.analyses.generation
        answer = await server.analyses.call(functools.partial(self._check, path, buffers, generation), priority)
        if answer is None:
            return None
        known, checked = answer
        self._known[path] = known
        if checked is not None:
            diagnostics.log(server, checked)
        return known

    # -- in the worker -----------------------------------------------------------------------------

    def _holds(self, path: str, known: _Known, buffers: Mapping[str, str]) -> bool:
        project = self._server.project
        project.see(buffers)
        settings = project.settings(path)
        return (
            known.state == _state_of(path)
            and known.settings == settings
            and known.shown == measured.profiles_of(self._server, path)
            and known.asked.holds(project.program(path, settings.settings))
        )

    def _check(self, path: str, buffers: Mapping[str, str], generation: int) -> tuple[_Known, Checked | None]:
        server, project = self._server, self._server.project
        project.see(buffers)
        state, settings = _state_of(path), project.settings(path)
        program = _Asked(project.program(path, settings.settings))
        shown = measured.profiles_of(server, path)
        try:
            text = files.read(path).text
        except files.SourceError:  # gone meanwhile, or no text: nothing to show
            snapshot = Snapshot(uri_of(path), None, "", server.client.encoding)
            return _Known(state, settings, program, shown, Listed(snapshot, [], NOTHING)), None
        item = types.TextDocumentItem(uri_of(path), "python", 0, text)
        document = Document(item, server.client.encoding)
        document.advance(None)  # what is not open has no version
        if settings.excluded:
            analysis = Analysis(path, text, (), ())
        else:
            analysis = core.check(text, path, program=program, settings=settings.settings)
        checked = Checked(document.snapshot, analysis, program, settings.settings, generation, settings.problems)
        return _Known(state, settings, program, shown, diagnostics.listed(server, document, checked)), checked

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


def _state_of(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
