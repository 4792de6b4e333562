"""What happens to documents and around them, passed on to whoever shows diagnostics."""

from __future__ import annotations

import functools
import os
from typing import Protocol

from lsprotocol import types

from graphmend_lsp.project import files
from graphmend_lsp.server import notebooks, pull
from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.push import Publisher
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.worker import BACKGROUND


class Channel(Protocol):
    """One of the two ways on which diagnostics reach a client; a session has one only."""

    def opened(self, document: Document) -> None: ...

    def typed(self, document: Document) -> None: ...

    def saved(self, document: Document | None) -> None: ...

    def closed(self, uri: str) -> None: ...

    def again(self, shown: Document | None = None) -> None: ...


def _hides(document: Document) -> bool:
    """Whether a document says something else than its file, which others then see, or see again.

    Runs in the worker.
    """
    snapshot = document.snapshot
    if not document.is_python or not os.path.isabs(snapshot.path):
        return False
    try:
        return files.read(snapshot.path).text != snapshot.source
    except files.SourceError:
        return True


async def _appeared(server: GraphMendServer, document: Document) -> None:
    """A document was opened; one with changes that were never saved counts for others, too."""
    if await server.analyses.call(functools.partial(_hides, document), BACKGROUND):
        server.analyses.invalidate()
        server.results.changed(document)


async def _disappeared(server: GraphMendServer, document: Document) -> None:
    """A document was closed: what was not saved is gone, and what it made of profiles."""
    hidden = await server.analyses.call(functools.partial(_hides, document), BACKGROUND)
    if hidden:
        server.analyses.invalidate()
    if await server.analyses.call(server.results.look, BACKGROUND) or hidden:
        server.results.changed()


def register(server: GraphMendServer) -> None:
    """Follow the documents of a client whose capabilities are known."""
    channel: Channel
    if server.client.pulls:
        pull.register(server)
        channel = pull.Refresher(server)
    else:
        channel = Publisher(server)
        server.whole.publish(channel.send)
    cells = notebooks.register(server)
    server.results.listeners += [channel.again, server.whole.again, cells.again]

    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = server.documents.text_document(params.text_document.uri)
        if document is not None:
            channel.opened(document)
            server.whole.opened(document.uri)
            server.spawn(_appeared(server, document))

    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.text_document(params.text_document.uri)
        if document is not None:
            document.advance(params.text_document.version)
            channel.typed(document)

    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.project.refresh()
        server.analyses.invalidate()  # others may use what this file defines, or be called from it
        first = server.documents.find(params.text_document.uri)
        channel.saved(first)
        cells.again()
        server.whole.again()

    def folders_changed(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.configuration.folders_changed()
        server.watch.folders_changed()
        server.surroundings_changed()

    def closed(params: types.DidCloseTextDocumentParams) -> None:
        document = server.documents.just_closed(params.text_document.uri)
        channel.closed(params.text_document.uri)
        server.whole.again()
        if document is not None:
            server.spawn(_disappeared(server, document))

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(changed)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))(saved)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(closed)
    server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(folders_changed)
