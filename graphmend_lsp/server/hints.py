"""Inlay hints: the last profile of an entry in one line, at the end of its ``def`` or ``class`` line."""

from __future__ import annotations

import functools
import sys

from lsprotocol import types

from graphmend_lsp.profile.text import headline
from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.hover import plain
from graphmend_lsp.server.measured import STALE, numbers
from graphmend_lsp.server.session import GraphMendServer


def _hints(server: GraphMendServer, document: Document, range_: types.Range) -> list[types.InlayHint]:
    """Runs in the worker."""
    outlined = server.results.outlined(document)
    if outlined is None:
        return []
    positions = outlined.snapshot.positions
    asked = positions.span(range_)
    hints: list[types.InlayHint] = []
    for measured in server.results.of(outlined.snapshot.path):
        report = measured.report
        part = outlined.outline.named(report.entry)
        if part is None or not asked.line <= part.span.line <= asked.end_line:
            continue
        stale = server.results.stale(measured)
        label = headline(report) + (STALE if stale else "")
        text = numbers(report, stale)
        tooltip = (
            types.MarkupContent(types.MarkupKind.Markdown, text)
            if server.client.hover_markdown
            else types.MarkupContent(types.MarkupKind.PlainText, plain(text))
        )
        end = positions.position(part.span.line, sys.maxsize)
        hints.append(types.InlayHint(end, label, tooltip=tooltip, padding_left=True))
    return hints


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/inlayHint`` for a client that has it."""
    if not server.client.inlay_hint:
        return

    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        document = server.documents.find(params.text_document.uri)
        if document is None:
            return None
        return await server.analyses.call(functools.partial(_hints, server, document, params.range))

    def refresh(_: Document | None) -> None:
        server.spawn(server.refresh(server.workspace_inlay_hint_refresh_async))

    server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=False))(inlay_hint)
    if server.client.hint_refresh:
        server.results.listeners.append(refresh)
