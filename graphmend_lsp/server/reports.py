"""``graphmend.showReport``: the last profile of an entry, as a page in the browser and as text."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from graphmend_lsp.profile import store
from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.profile.text import Writer
from graphmend_lsp.project import files
from graphmend_lsp.server.places import Place, entry_at
from graphmend_lsp.server.translate import as_object, path_of, uri_of

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

SHOW_REPORT = "graphmend.showReport"


async def show(server: GraphMendServer, path: str, entry: str, *, opening: bool = True) -> dict[str, str] | None:
    """Write the page and open it; where it is and what the report says, or None if there is nothing to show.

    Not ``opening`` is for a client that shows it in its own way.
    """
    written = await server.analyses.call(functools.partial(_write, server, path, entry))
    if written is None:
        server.show(f"GraphMend: there is no profile of {entry} to show.", types.MessageType.Warning)
        return None
    page, text = written
    uri = uri_of(page)
    opened = not opening
    if server.client.show_document and not opened:
        try:
            result = await server.window_show_document_async(types.ShowDocumentParams(uri, external=True))
            opened = bool(result.success)
        except Exception:  # a client that declares it and refuses it
            opened = False
    if not opened:
        server.show(f"GraphMend: the report is in {page}")
    return {"path": page, "uri": uri, "entry": entry, "text": text}


def _write(server: GraphMendServer, path: str, entry: str) -> tuple[str, str] | None:
    """The page's path, and the report as text.  Runs in the worker."""
    measured = server.results.find(path, entry)
    if measured is None:
        return None
    from graphmend_lsp.profile.html import page  # only when it is wanted

    target = store.file_of(path, entry, ".html")
    if not store.write(target, page(measured.report, _texts(server, measured))):
        return None
    lines = list(Writer(shown=os.path.basename).lines(measured.report))
    if server.results.stale(measured):
        lines.append("stale: the code has changed since it was measured")
    return target, "\n".join(lines)


def _measured(server: GraphMendServer, path: str, entry: str) -> bool:
    return server.results.find(path, entry) is not None


def _texts(server: GraphMendServer, measured: Measured) -> Mapping[str, str]:
    """The texts as they were measured; where those were too long to keep, as they are."""
    if measured.texts:
        return measured.texts
    texts = server.documents.texts()
    for path in {anchor.path for anchor in measured.anchors} - texts.keys():
        try:
            texts[path] = files.read(path).text
        except files.SourceError:
            continue
    return texts


def register(server: GraphMendServer) -> None:
    """Handle the command."""

    async def run(*arguments: Any) -> dict[str, str] | None:
        try:
            (data,) = arguments
            fields = as_object(data)
            place = Place.read(fields)
            opening = fields.get("open", True)
            if not isinstance(opening, bool):
                raise ValueError("open is not true or false")
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{SHOW_REPORT}: {error}") from None
        entry = await entry_at(server, place, "show a report", functools.partial(_measured, server))
        if entry is None:
            return None
        return await show(server, os.path.abspath(path_of(place.uri)), entry, opening=opening)

    server.command(SHOW_REPORT)(run)
