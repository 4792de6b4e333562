"""Code lens: "Profile on GPU" above what can be profiled; always one line, so that no text moves while typing."""

from __future__ import annotations

import functools

from lsprotocol import types

from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.profile import PROFILE
from graphmend_lsp.server.session import GraphMendServer


def _lenses(server: GraphMendServer, document: Document) -> list[types.CodeLens]:
    """Runs in the worker."""
    outlined = server.results.outlined(document)
    if outlined is None or not outlined.outline.targets:
        return []
    title = "Profile on CPU" if server.results.no_cuda else "Profile on GPU"
    positions = outlined.snapshot.positions
    return [
        types.CodeLens(
            positions.range(target.span),
            types.Command(title, PROFILE, arguments=[{"uri": document.uri, "entry": target.name}]),
        )
        for target in outlined.outline.targets
    ]


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/codeLens`` for a client that has it; the title is refreshed when a run has seen no GPU."""
    if not server.client.code_lens:
        return

    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        document = server.documents.find(params.text_document.uri)
        if document is None:
            return None
        return await server.analyses.call(functools.partial(_lenses, server, document))

    def refresh(_: Document | None) -> None:
        server.spawn(server.refresh(server.workspace_code_lens_refresh_async))

    server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))(code_lens)
    if server.client.lens_refresh:
        server.results.listeners.append(refresh)
