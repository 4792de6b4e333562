"""Profiles of this session and of earlier ones: which there are, and whether the code is still what was measured."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from graphmend_lsp.parse import parse
from graphmend_lsp.profile import store
from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.profile.report import Failure
from graphmend_lsp.profile.targets import Outline, outline
from graphmend_lsp.project import layout
from graphmend_lsp.server.documents import Document, Outlined
from graphmend_lsp.server.translate import uri_of

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer


class Results:
    """The profiles by path and entry.  All but ``listeners`` and ``changed`` is for the worker thread."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self.listeners: list[Callable[[Document | None], None]] = []
        """Told when what is shown changes; not of the document that is being shown anew anyway."""
        self._known: dict[str, dict[str, Measured]] = {}
        self._loaded: set[str] = set()
        self._failures: dict[tuple[str, str], Failure] = {}
        self._stale: dict[tuple[str, str], tuple[Measured, bool]] = {}
        self._untold = False
        self._no_cuda: bool | None = None

    def changed(self, document: Document | None = None) -> None:
        """Tell the listeners."""
        self._untold = False
        for listener in self.listeners:
            listener(document)

    # -- what is known ---------------------------------------------------------------------------

    def of(self, path: str) -> list[Measured]:
        """The profiles of a file's entries, stored ones included."""
        if path not in self._loaded:
            self._loaded.add(path)
            for measured in store.load(path):
                self._known.setdefault(path, {}).setdefault(measured.report.entry, measured)
        return list(self._known.get(path, {}).values())

    def all(self) -> list[Measured]:
        """Those of every file that has been open."""
        return [measured for entries in self._known.values() for measured in entries.values()]

    def find(self, path: str, entry: str) -> Measured | None:
        return next((each for each in self.of(path) if each.report.entry == entry), None)

    def failure(self, path: str, entry: str) -> Failure | None:
        """Why the last attempt of this session failed, if it did."""
        return self._failures.get((path, entry))

    @property
    def no_cuda(self) -> bool:
        """Whether the last run that looked for a GPU found none, in an earlier session if in none of this one."""
        if self._no_cuda is None:
            newest = store.newest()
            self._no_cuda = newest is not None and newest.found_no_cuda
        return self._no_cuda

    def add(self, measured: Measured) -> None:
        """Keep what a run came to; a failure takes nothing away."""
        report = measured.report
        key = (report.path, report.entry)
        if report.failure is not None:
            self._failures[key] = report.failure
            self._no_cuda = report.failure.kind == "no-cuda" or self._no_cuda
            return
        self.of(report.path)
        self._failures.pop(key, None)
        self._known.setdefault(report.path, {})[report.entry] = measured
        if measured.asked != "cpu":
            self._no_cuda = measured.found_no_cuda
        store.save(measured)

    # -- against the text as it is ---------------------------------------------------------------

    def outlined(self, document: Document) -> Outlined | None:
        """What can be profiled in a document as it is now; None where nothing ever can be."""
        snapshot, generation = document.snapshot, self._server.analyses.generation
        known = document.outlined
        if known is not None and known.snapshot is snapshot and known.generation == generation:
            return known
        path, project = snapshot.path, self._server.project
        if not document.is_python or not os.path.isabs(path) or path.endswith((".pyi", layout.NOTEBOOK)):
            return None
        project.see(self._server.documents.texts())
        found = project.settings(path)
        if found.excluded:
            return None
        parsed = parse(snapshot.source, document.clean)
        if parsed.failure is None:
            document.clean = parsed
        before = None if known is None else known.outline
        made = outline(path, parsed, project.program(path, found.settings), found.settings, before)
        document.outlined = Outlined(snapshot, generation, made)
        return document.outlined

    def stale(self, measured: Measured) -> bool:
        """Whether the code of a profile has changed, as far as it is open."""
        return measured.stale(self._current)

    def look(self) -> bool:
        """Whether profiles have come or gone stale since the listeners were told; who asked may be gone by then."""
        for document in self._server.documents:
            if document.is_python:
                self.of(document.snapshot.path)
        now = {
            (measured.report.path, measured.report.entry): (measured, self.stale(measured)) for measured in self.all()
        }
        self._untold = self._untold or now != self._stale
        self._stale = now
        return self._untold

    def _current(self, path: str) -> Outline | None:
        document = self._server.documents.find(uri_of(path))
        outlined = self.outlined(document) if document is not None else None
        return None if outlined is None else outlined.outline
