"""Inlay hints: the last profile of an entry in one line, at the end of its ``def`` or ``class`` line."""

from __future__ import annotations

import functools
import sys

from lsprotocol import types

from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.profile.text import headline
from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.hover import plain
from graphmend_lsp.server.measured import STALE, numbers
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.translate import as_object


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
        # in front: VS Code cuts a hint off, some versions after 43 characters whatever the settings say
        label = f"{STALE.strip()} {headline(report)}" if server.results.stale(measured) else headline(report)
        hint = types.InlayHint(positions.position(part.span.line, sys.maxsize), label, padding_left=True)
        if server.client.lazy_tooltips:
            hint.data = {"uri": document.uri, "entry": report.entry}
        else:
            hint.tooltip = _tooltip(server, measured)
        hints.append(hint)
    return hints


def _tooltip(server: GraphMendServer, measured: Measured) -> types.MarkupContent:
    text = numbers(measured.report, server.results.stale(measured))
    if server.client.hover_markdown:
        return types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.MarkupContent(types.MarkupKind.PlainText, plain(text))


def _resolved(server: GraphMendServer, hint: types.InlayHint) -> types.InlayHint:
    """With the numbers, if they are still known.  Runs in the worker."""
    try:
        fields = as_object(hint.data)
    except ValueError:
        return hint
    document = server.documents.find(str(fields.get("uri")))
    outlined = server.results.outlined(document) if document is not None else None
    for measured in server.results.of(outlined.snapshot.path) if outlined is not None else ():
        if measured.report.entry == fields.get("entry"):
            hint.tooltip = _tooltip(server, measured)
    return hint


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/inlayHint`` for a client that has it."""
    if not server.client.inlay_hint:
        return

    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        document = server.documents.find(params.text_document.uri)
        if document is None:
            return None
        return await server.analyses.call(functools.partial(_hints, server, document, params.range))

    async def resolve(hint: types.InlayHint) -> types.InlayHint:
        return await server.analyses.call(functools.partial(_resolved, server, hint)) or hint

    def refresh(_: Document | None) -> None:
        server.spawn(server.refresh(server.workspace_inlay_hint_refresh_async))

    lazy = server.client.lazy_tooltips
    server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=lazy))(inlay_hint)
    if lazy:
        server.feature(types.INLAY_HINT_RESOLVE)(resolve)
    if server.client.hint_refresh:
        server.results.listeners.append(refresh)
