"""Code lens: "Profile on GPU" above what can be profiled; always one line, so that no text moves while typing."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.profile import PROFILE
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.translate import as_object


def _lenses(server: GraphMendServer, document: Document) -> list[types.CodeLens]:
    """Runs in the worker."""
    outlined = server.results.outlined(document)
    if outlined is None or not outlined.outline.targets:
        return []
    positions = outlined.snapshot.positions
    lenses: list[types.CodeLens] = []
    for target in outlined.outline.targets:
        data = {"uri": document.uri, "entry": target.name}
        lens = types.CodeLens(positions.range(target.span))
        if server.client.lazy_lenses:
            lens.data = data
        else:
            lens.command = _command(server, data)
        lenses.append(lens)
    return lenses


def _command(server: GraphMendServer, data: Mapping[str, object]) -> types.Command:
    return types.Command("Profile on CPU" if server.results.no_cuda else "Profile on GPU", PROFILE, arguments=[data])


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/codeLens`` for a client that has it; the title is refreshed when a run has seen no GPU."""
    if not server.client.code_lens:
        return

    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        document = server.documents.find(params.text_document.uri)
        if document is None:
            return None
        return await server.analyses.call(functools.partial(_lenses, server, document))

    def resolve(lens: types.CodeLens) -> types.CodeLens:
        """With its command, whose title is that of the moment."""
        try:
            lens.command = _command(server, as_object(lens.data))
        except ValueError as error:
            raise JsonRpcInvalidParams(f"code lens data: {error}") from None
        return lens

    def refresh(_: Document | None) -> None:
        server.spawn(server.refresh(server.workspace_code_lens_refresh_async))

    lazy = server.client.lazy_lenses
    server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=lazy))(code_lens)
    if lazy:
        server.feature(types.CODE_LENS_RESOLVE)(resolve)
    if server.client.lens_refresh:
        server.results.listeners.append(refresh)
