"""Push diagnostics: the findings and the measured breaks of each open document, with its version."""

from __future__ import annotations

import asyncio
import functools

from lsprotocol import types

from graphmend_lsp.project import files
from graphmend_lsp.server import measured, translate
from graphmend_lsp.server.documents import Checked, Document
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.worker import BACKGROUND
from graphmend_lsp.text import LineIndex

DEBOUNCE_SECONDS = 0.15


class Publisher:
    """Decides when to check and sends what was found."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def schedule(self, document: Document, delay: float = 0.0) -> None:
        """Publish after ``delay`` seconds, in place of what was scheduled for this document before."""
        self.cancel(document.uri)
        if document.is_python:
            key = translate.uri_key(document.uri)
            self._waiting[key] = self._server.spawn(self._publish(document, delay))

    def cancel(self, uri: str) -> None:
        task = self._waiting.pop(translate.uri_key(uri), None)
        if task is not None:
            task.cancel()

    async def _publish(self, document: Document, delay: float) -> None:
        if delay:
            await asyncio.sleep(delay)
        checked = await self._server.analyses.of(document, BACKGROUND)
        if checked is None:
            return
        self._log(document, checked)
        answer = await self._server.analyses.call(functools.partial(_diagnostics, self._server, document, checked))
        if answer is None:
            return
        diagnostics, differs = answer
        if self._server.documents.is_current(checked.snapshot):
            self.send(document.uri, diagnostics, checked.snapshot.version)
        if differs:
            self._server.results.changed(document)

    def publish_again(self, shown: Document | None) -> None:
        """The profiles have changed: publish all documents but one that is up to date."""
        for document in self._server.documents:
            if document is not shown:
                self.schedule(document)

    def send(self, uri: str, diagnostics: list[types.Diagnostic], version: int | None = None) -> None:
        if not self._server.client.diagnostic_version:
            version = None
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def _log(self, document: Document, checked: Checked) -> None:
        """A file that cannot be parsed is other tools' business: say once why its findings stand still."""
        for problem in checked.problems:
            self._server.log_once(problem, types.MessageType.Warning)
        problems = checked.analysis.problems
        if problems and not document.unparsable:
            first = problems[0]
            place = first.path if first.line is None else f"{first.path}:{first.line}"
            message = f"{place}: {first.message}; only what parses is checked"
            self._server.window_log_message(types.LogMessageParams(types.MessageType.Log, message))
        document.unparsable = bool(problems)


def _diagnostics(server: GraphMendServer, document: Document, checked: Checked) -> tuple[list[types.Diagnostic], bool]:
    """Findings and measured breaks, and whether a profile has come or gone stale by what was typed.

    Runs in the worker: evidence in other files is placed by their text.
    """
    texts: dict[str, LineIndex | None] = {}

    def other_text(path: str) -> LineIndex | None:
        if path not in texts:
            texts[path] = _read(server, path)
        return texts[path]

    snapshot = checked.snapshot
    differs = server.results.look()
    found = [
        translate.diagnostic(
            finding,
            uri=snapshot.uri,
            version=snapshot.version,
            positions=snapshot.positions,
            client=server.client,
            other_text=other_text,
        )
        for finding in checked.analysis.findings
    ]
    return found + measured.diagnostics(server, document), differs


def _read(server: GraphMendServer, path: str) -> LineIndex | None:
    document = server.documents.find(translate.uri_of(path))
    if document is not None:
        return LineIndex(document.snapshot.source)
    try:
        return LineIndex(files.read(path).text)
    except files.SourceError:
        return None


def register(server: GraphMendServer) -> None:
    """Check and publish whenever a document, or what surrounds it, changes."""
    publisher = Publisher(server)
    server.results.listeners.append(publisher.publish_again)

    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = server.documents.find(params.text_document.uri)
        if document is not None:
            publisher.schedule(document)

    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.find(params.text_document.uri)
        if document is not None:
            document.advance(params.text_document.version)
            publisher.schedule(document, DEBOUNCE_SECONDS)

    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.project.refresh()
        server.analyses.invalidate()  # others may use what this file defines, or be called from it
        first = server.documents.find(params.text_document.uri)
        for document in sorted(server.documents, key=lambda each: each is not first):
            publisher.schedule(document)

    def folders_changed(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.configure(server.project.options)
        for document in server.documents:
            publisher.schedule(document)

    def closed(params: types.DidCloseTextDocumentParams) -> None:
        publisher.cancel(params.text_document.uri)
        publisher.send(params.text_document.uri, [])

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(changed)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))(saved)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(closed)
    server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(folders_changed)
