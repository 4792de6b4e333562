"""Pull diagnostics: given when the client asks, for one document or for all; told to ask again when they may differ."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.server import diagnostics
from graphmend_lsp.server.diagnostics import NOTHING, Listed
from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.translate import SOURCE, uri_key
from graphmend_lsp.server.worker import BACKGROUND

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

_GATHER = 0.1
"""Seconds for which reasons to ask again are gathered into one request."""
_BATCH = 32
"""Reports that are sent at a time as a partial result."""

_Item = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport


class Refresher:
    """Tells the client to ask again; what it asks for is the client's choice."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._waiting: asyncio.Task[None] | None = None

    def opened(self, document: Document) -> None:
        """The client asks by itself."""

    def typed(self, document: Document) -> None:
        """The client asks by itself."""

    def saved(self, document: Document | None) -> None:
        """Others may depend on it; and not every client asks again for the document that it saves."""
        self.again()

    def closed(self, uri: str) -> None:
        """The client clears what it showed."""

    def again(self, shown: Document | None = None) -> None:
        """Something outside the documents has changed; not the one that the client has just asked for."""
        others = [document for document in self._server.documents if document is not shown]
        if (others or self._server.whole.roots) and (self._waiting is None or self._waiting.done()):
            self._waiting = self._server.spawn(self._refresh())

    async def _refresh(self) -> None:
        await asyncio.sleep(_GATHER)
        self._waiting = None
        await self._server.refresh(self._server.workspace_diagnostic_refresh_async)


class _Collector:
    """The reports of one request for all documents: at the end, or in parts where the client gave a token for that."""

    def __init__(self, server: GraphMendServer, params: types.WorkspaceDiagnosticParams) -> None:
        self._server = server
        self._token = params.partial_result_token
        self._previous = {uri_key(each.uri): each for each in params.previous_result_ids}
        self._items: list[_Item] = []

    def add(self, uri: str, listed: Listed) -> None:
        """Report a document; one without findings only where the client knows of some."""
        known = self._previous.pop(uri_key(uri), None)
        if known is not None:
            self._report(known.uri, listed.diagnostics, listed.result_id, listed.snapshot.version, known.value)
        elif listed.diagnostics or listed.snapshot.version is not None:
            self._report(uri, listed.diagnostics, listed.result_id, listed.snapshot.version)

    def finish(self, *, complete: bool) -> types.WorkspaceDiagnosticReport:
        """What is left to say; what the client still shows of other documents goes, unless not all were looked at."""
        for known in self._previous.values():
            result_id = NOTHING if complete else known.value
            self._report(known.uri, [], result_id, None, known.value)
        if self._token is not None:
            self._flush()
        return types.WorkspaceDiagnosticReport(self._items)

    def _report(
        self, uri: str, found: list[types.Diagnostic], result_id: str, version: int | None, known: str = ""
    ) -> None:
        if known == result_id:
            self._items.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, result_id, version))
        else:
            self._items.append(types.WorkspaceFullDocumentDiagnosticReport(uri, found, version, result_id=result_id))
        if self._token is not None and len(self._items) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._items and self._token is not None:
            part = types.WorkspaceDiagnosticReportPartialResult(self._items)
            self._server.progress(types.ProgressParams(self._token, part))
            self._items = []


async def _document(
    server: GraphMendServer, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    """The report for one document."""
    known = params.previous_result_id
    document = server.documents.find(params.text_document.uri)
    if document is None:
        listed = await server.whole.of(params.text_document.uri)
    elif document.is_python:
        before = document.snapshot
        listed = await diagnostics.of(server, document)
        if not server.documents.is_current(before if listed is None else listed.snapshot):
            data = types.DiagnosticServerCancellationData(retrigger_request=True)
            code = types.LSPErrorCodes.ServerCancelled.value
            raise JsonRpcException("the document has changed", code, data)
        if listed is None and known is not None:  # the check failed, which was reported: what is shown stays
            return types.RelatedUnchangedDocumentDiagnosticReport(known)
    else:
        listed = None
    result_id = listed.result_id if listed is not None else NOTHING
    if result_id == known:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id)
    found = listed.diagnostics if listed is not None else []
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=result_id)


async def _workspace(
    server: GraphMendServer, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    """The reports for all documents: the open ones, and where the user wants it all files of the workspace."""
    collector = _Collector(server, params)
    complete = True
    for document in server.documents:
        if not document.is_python:
            continue
        listed = await diagnostics.of(server, document, BACKGROUND)
        if listed is None or not server.documents.is_current(listed.snapshot):
            complete = False  # it is being typed in: the client asks for it by itself
        else:
            collector.add(document.uri, listed)
    complete = await server.whole.sweep(collector.add, params.work_done_token) and complete
    return collector.finish(complete=complete)


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/diagnostic`` and ``workspace/diagnostic``."""

    async def document(
        params: types.DocumentDiagnosticParams,
    ) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
        return await _document(server, params)

    async def workspace(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        return await _workspace(server, params)

    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier=SOURCE, work_done_progress=True
    )
    server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(document)
    server.feature(types.WORKSPACE_DIAGNOSTIC)(workspace)
