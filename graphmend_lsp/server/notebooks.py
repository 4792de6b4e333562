"""Notebooks: the client sends their cells, the Python ones are checked together, and each cell gets its diagnostics.

They are sent to every client, also to one that asks for those of text documents: not all that do so ask for cells,
and one that does is given none there.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.server import diagnostics, translate
from graphmend_lsp.server.documents import Checked, NotebookDocument
from graphmend_lsp.server.push import DEBOUNCE_SECONDS
from graphmend_lsp.server.snapshots import NotebookSnapshot
from graphmend_lsp.server.worker import BACKGROUND

if TYPE_CHECKING:
    from graphmend_lsp.server.documents import Document
    from graphmend_lsp.server.session import GraphMendServer

SYNC = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithNotebook(kind, [types.NotebookCellLanguage("python")])
        for kind in ("jupyter-notebook", "interactive")
    ],
    save=True,
)
"""What the client is asked to send."""


def by_cell(
    snapshot: NotebookSnapshot, checked: Checked, found: list[types.Diagnostic]
) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of a notebook's findings, which are in the same order, by the URIs of all its cells."""
    cells: dict[str, list[types.Diagnostic]] = {uri: [] for uri in snapshot.uris}
    for finding, diagnostic in zip(checked.analysis.findings, found, strict=True):
        cells[snapshot.at(finding.span)[0]].append(diagnostic)
    return cells


class CellPublisher:
    """Decides when to check a notebook and sends what was found."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._shown: dict[str, set[str]] = {}
        """URIs of the cells that have diagnostics, by the notebook's key."""

    def schedule(self, notebook: NotebookDocument, delay: float = 0.0) -> None:
        """Publish after ``delay`` seconds, in place of what was scheduled for this notebook before."""
        self._cancel(notebook.uri)
        self._waiting[translate.uri_key(notebook.uri)] = self._server.spawn(self._publish(notebook, delay))

    def again(self, shown: Document | None = None) -> None:
        """Something outside the notebooks has changed."""
        del shown
        for notebook in self._server.documents.notebooks:
            self.schedule(notebook)

    def closed(self, uri: str) -> None:
        """A notebook was closed: what was sent for its cells goes."""
        self._cancel(uri)
        for cell in self._shown.pop(translate.uri_key(uri), ()):
            self._send(cell, [], None)

    def _cancel(self, uri: str) -> None:
        task = self._waiting.pop(translate.uri_key(uri), None)
        if task is not None:
            task.cancel()

    async def _publish(self, notebook: NotebookDocument, delay: float) -> None:
        self._forget_removed(notebook)
        if delay:
            await asyncio.sleep(delay)
        server = self._server
        checked = await server.analyses.of(notebook, BACKGROUND)
        if checked is None or not isinstance(checked.snapshot, NotebookSnapshot):
            return
        snapshot = checked.snapshot
        diagnostics.log(server, checked)
        for problem in checked.analysis.problems:
            server.log_once(f"{problem.path}: a cell does not parse ({problem.message}); only the rest is checked")
        job = functools.partial(diagnostics.listed, server, notebook, checked)
        listed = await server.analyses.call(job, BACKGROUND)
        if listed is None or not server.documents.is_current(snapshot):
            return
        versions = {cell.uri: cell.version for cell in snapshot.cells}
        for uri, found in by_cell(snapshot, checked, listed.diagnostics).items():
            self._send(uri, found, versions.get(uri))
        self._shown[translate.uri_key(notebook.uri)] = set(snapshot.uris)

    def _forget_removed(self, notebook: NotebookDocument) -> None:
        """Clear the cells that are no longer in a notebook."""
        shown = self._shown.get(translate.uri_key(notebook.uri), set())
        for uri in shown.difference(notebook.snapshot.uris):
            shown.discard(uri)
            self._send(uri, [], None)

    def _send(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        if not self._server.client.diagnostic_version:
            version = None
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))


def register(server: GraphMendServer) -> CellPublisher:
    """Follow the notebooks; who gets to know of changes outside of them tells the result."""
    publisher = CellPublisher(server)

    def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = server.documents.notebook(params.notebook_document.uri)
        if notebook is not None:
            publisher.schedule(notebook)

    def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        notebook = server.documents.notebook(params.notebook_document.uri)
        if notebook is not None:
            publisher.schedule(notebook, DEBOUNCE_SECONDS)

    def saved(params: types.DidSaveNotebookDocumentParams) -> None:
        notebook = server.documents.notebook(params.notebook_document.uri)
        if notebook is not None:
            publisher.schedule(notebook)

    def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        publisher.closed(params.notebook_document.uri)

    server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)(opened)
    server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)(changed)
    server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)(saved)
    server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)(closed)
    return publisher
