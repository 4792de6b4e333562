"""Findings of open documents: computed in the worker, once a version, dropped when out of date."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from graphmend_lsp import check as core
from graphmend_lsp.check import Analysis
from graphmend_lsp.project.baseline import demoted
from graphmend_lsp.server.documents import Checked, Document, Snapshot
from graphmend_lsp.server.worker import URGENT

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

T = TypeVar("T")


class Analyses:
    """What is known about the open documents."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._generation = 0
        self._ready = False

    @property
    def generation(self) -> int:
        """Changes with everything outside the documents."""
        return self._generation

    def invalidate(self) -> None:
        """Something outside the documents changed: a file, a setting."""
        self._generation += 1

    async def of(self, document: Document, priority: int = URGENT) -> Checked | None:
        """The findings of the document as it is now; None if it changed meanwhile or the check failed."""
        await self._server.configuration.known()
        snapshot, generation = document.snapshot, self._generation
        known = document.checked
        if known is not None and known.snapshot is snapshot and known.generation == generation:
            return known
        pending = document.pending
        if pending is None or pending[0] is not snapshot or pending[1] != generation:
            buffers = self._server.documents.texts()
            job = functools.partial(self._check, document, snapshot, generation, buffers)
            future = self._server.worker.run(job, priority)
            future.add_done_callback(self._report)  # even where nobody waits any more
            pending = document.pending = (snapshot, generation, future)
        try:
            checked = await asyncio.shield(pending[2])
        except Exception:  # the core must not take the server down
            return None
        if checked is not None and document.snapshot is snapshot:
            document.checked = checked
            if not self._ready and any(finding.offers for finding in checked.analysis.findings):
                self._ready = True
                self._server.worker.run(_load_what_edits)
        return checked

    def _report(self, future: asyncio.Future[Checked | None]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._server.report(error)

    async def call(self, job: Callable[[], T], priority: int = URGENT) -> T | None:
        """Run ``job`` in the worker; None, reported, if it fails."""
        try:
            return await self._server.worker.run(job, priority)
        except Exception as error:
            self._server.report(error)
            return None

    def _check(
        self, document: Document, snapshot: Snapshot, generation: int, buffers: Mapping[str, str]
    ) -> Checked | None:
        """Runs in the worker."""
        if not self._server.documents.is_current(snapshot):
            return None
        project = self._server.project
        project.see(buffers)
        path = os.path.abspath(snapshot.path) if os.path.isabs(snapshot.path) else snapshot.path
        found = project.settings(path)
        program = project.program(path, found.settings)
        previous = document.checked.analysis if document.checked else None
        if found.excluded:
            analysis = Analysis(path, snapshot.source, (), ())
        else:
            try:
                analysis = core.check(
                    snapshot.source,
                    path,
                    program=program,
                    settings=found.settings,
                    previous=previous,
                    wanted=functools.partial(self._server.documents.is_current, snapshot),
                )
            except core.Superseded:
                return None
            analysis = snapshot.placed(demoted(analysis, found.baseline))
        return Checked(snapshot, analysis, program, found.settings, generation, found.problems)


def _load_what_edits() -> None:
    """Import what makes edits, which takes longer than an edit: before the first one is asked for."""
    importlib.import_module("graphmend_lsp.mend.splice")
