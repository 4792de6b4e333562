"""Commands: what can be done about a finding and why not, and the state of the server for a bug report."""

from __future__ import annotations

import dataclasses
import platform
import sys
from collections.abc import Iterator
from typing import Any

from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from graphmend_lsp import __version__
from graphmend_lsp.finding import Finding
from graphmend_lsp.server.actions import EXPLAIN
from graphmend_lsp.server.hover import offers, refusals
from graphmend_lsp.server.plans import find
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.translate import SOURCE, FindingKey, as_object

DEBUG = "graphmend.printDebugInformation"


def _debug(server: GraphMendServer) -> Iterator[str]:
    yield f"graphmend-lsp {__version__}"
    yield f"Python {platform.python_version()} ({sys.executable}) on {platform.platform()}"
    yield f"Position encoding: {server.client.encoding}"
    yield "Workspace roots: " + (", ".join(server.project.roots) or "none")
    yield "Settings from the editor:"
    yield from (f"  {name} = {value!r}" for name, value in server.project.options.fields.items())
    yield f"  python = {server.project.options.python!r}"
    yield f"  trusted = {server.project.options.trusted}"
    yield f"  workspaceDiagnostics = {server.project.options.extent or 'openFiles'}"
    yield from (f"  problem: {problem}" for problem in server.project.options.problems)
    for folder, options in server.project.folders.items():
        if options != server.project.options:
            extent = f"workspaceDiagnostics = {options.extent or 'openFiles'}"
            yield f"  in {folder}: {dict(options.fields)!r}, python = {options.python!r}, {extent}"
    yield "Diagnostics: " + ("pulled by the client" if server.client.pulls else "pushed")
    yield "Client capabilities:"
    yield from (f"  {name} = {value!r}" for name, value in dataclasses.asdict(server.client).items())
    yield "Open documents:"
    for document in (*server.documents, *server.documents.notebooks):
        checked = document.checked
        if checked is None:
            state = "not checked" if document.is_python else "not Python"
        else:
            current = "" if checked.snapshot is document.snapshot else f" in version {checked.snapshot.version}"
            state = f"{len(checked.analysis.findings)} findings{current}, {checked.settings}"
        yield f"  {document.uri} version {document.version}, {len(document.source)} characters: {state}"


def _explained(finding: Finding) -> Iterator[str]:
    yield f"{SOURCE} ({finding.code}): {finding.message}"
    if finding.offers:
        yield "Offered:"
        yield from offers(finding)
        if refused := list(refusals(finding)):
            yield "Refused:"
            yield from refused
    else:
        yield "No fix is offered:"
        yield from list(refusals(finding)) or ["no transformation handles this yet"]


def register(server: GraphMendServer) -> None:
    """Handle ``workspace/executeCommand``."""

    async def explain(*arguments: Any) -> str:
        try:
            (data,) = arguments
            key = FindingKey.from_data(data)
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{EXPLAIN}: {error}") from None
        document = server.documents.find(key.uri)
        if document is None:
            raise JsonRpcInvalidParams(f"{EXPLAIN}: {key.uri} is not open")
        checked = await server.analyses.of(document)
        finding = None if checked is None else find(checked, key)
        if finding is None:
            raise JsonRpcContentModified("the document has changed")
        message = "\n".join(_explained(finding))
        server.show(message)
        return message

    def debug(*arguments: Any) -> str:
        """Without arguments the state of the server; with ``{"uri": ...}`` its copy of that document."""
        if not arguments:
            return "\n".join(_debug(server))
        try:
            (data,) = arguments
            uri = as_object(data).get("uri")
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{DEBUG}: {error}") from None
        document = server.documents.find(uri) if isinstance(uri, str) else None
        if document is None:
            raise JsonRpcInvalidParams(f"{DEBUG}: no open document {uri!r}")
        return document.source

    server.command(EXPLAIN)(explain)
    server.command(DEBUG)(debug)
