"""Push diagnostics: sent for each open document, with its version, whenever it or what surrounds it changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.server import diagnostics, translate
from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.worker import BACKGROUND

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

DEBOUNCE_SECONDS = 0.15


class Publisher:
    """Decides when to check and sends what was found."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def opened(self, document: Document) -> None:
        """A document was opened."""
        self._schedule(document)

    def typed(self, document: Document) -> None:
        """A document has another text."""
        self._schedule(document, DEBOUNCE_SECONDS)

    def saved(self, document: Document | None) -> None:
        """A document was saved, which others may depend on: it comes first, then all others."""
        if document is not None:
            self._schedule(document)
        self.again(document)

    def closed(self, uri: str) -> None:
        """A document was closed: what was sent for it goes."""
        self._cancel(uri)
        self.send(uri, [])

    def again(self, shown: Document | None = None) -> None:
        """Something outside the documents has changed: publish all but one that is up to date."""
        for document in self._server.documents:
            if document is not shown:
                self._schedule(document)

    def send(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        """Send all diagnostics of a document."""
        if not self._server.client.diagnostic_version:
            version = None
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _schedule(self, document: Document, delay: float = 0.0) -> None:
        """Publish after ``delay`` seconds, in place of what was scheduled for this document before."""
        self._cancel(document.uri)
        if document.is_python:
            key = translate.uri_key(document.uri)
            self._waiting[key] = self._server.spawn(self._publish(document, delay))

    def _cancel(self, uri: str) -> None:
        task = self._waiting.pop(translate.uri_key(uri), None)
        if task is not None:
            task.cancel()

    async def _publish(self, document: Document, delay: float) -> None:
        if delay:
            await asyncio.sleep(delay)
        listed = await diagnostics.of(self._server, document, BACKGROUND)
        if listed is not None and self._server.documents.is_current(listed.snapshot):
            self.send(document.uri, listed.diagnostics, listed.snapshot.version)
