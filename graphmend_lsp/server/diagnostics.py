"""The diagnostics of a document: its findings and what was measured in it, the same however they reach the client."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from graphmend_lsp.project import files
from graphmend_lsp.server import measured, translate
from graphmend_lsp.server.documents import Checked, Document, Snapshot
from graphmend_lsp.server.worker import URGENT
from graphmend_lsp.text import LineIndex

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer


@dataclass(frozen=True)
class Listed:
    """All diagnostics of one version of a document; ``result_id`` is the same for lists that say the same."""

    snapshot: Snapshot
    diagnostics: list[types.Diagnostic]
    result_id: str


NOTHING = hashlib.sha256(b"[]").hexdigest()[:16]
"""The result id of an empty list."""


async def of(server: GraphMendServer, document: Document, priority: int = URGENT) -> Listed | None:
    """The diagnostics of an open document as it is now; None if it changed meanwhile or the check failed."""
    checked = await server.analyses.of(document, priority)
    if checked is None:
        return None
    log(server, checked)
    _log_syntax(server, document, checked)
    answer = await server.analyses.call(functools.partial(_look, server, document, checked))
    if answer is None:
        return None
    listed, differs = answer
    if differs:
        server.results.changed(document)
    return listed


def _look(server: GraphMendServer, document: Document, checked: Checked) -> tuple[Listed, bool]:
    """The list, and whether a profile has come or gone stale by what was typed.  Runs in the worker."""
    differs = server.results.look()
    return listed(server, document, checked), differs


def listed(server: GraphMendServer, document: Document, checked: Checked) -> Listed:
    """Findings and measured breaks of a document.

    Runs in the worker: evidence in other files is placed by their text.
    """
    texts: dict[str, LineIndex | None] = {}

    def other_text(path: str) -> LineIndex | None:
        if path not in texts:
            texts[path] = _read(server, path)
        return texts[path]

    snapshot = checked.snapshot
    found = [
        translate.diagnostic(
            finding,
            snapshot=snapshot,
            client=server.client,
            other_text=other_text,
        )
        for finding in checked.analysis.findings
    ]
    found += measured.diagnostics(server, document)
    return Listed(snapshot, found, _result_id(server, found))


def _result_id(server: GraphMendServer, diagnostics: list[types.Diagnostic]) -> str:
    converter: Any = server.wire.converter
    text = json.dumps([converter.unstructure(each) for each in diagnostics], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(server: GraphMendServer, path: str) -> LineIndex | None:
    document = server.documents.find(translate.uri_of(path))
    if document is not None:
        return LineIndex(document.snapshot.source)
    try:
        return LineIndex(files.read(path).text)
    except files.SourceError:
        return None


def log(server: GraphMendServer, checked: Checked) -> None:
    """Mistakes in the configuration, and our own, each once."""
    for problem in checked.problems:
        server.log_once(problem, types.MessageType.Warning)
    for failure in checked.analysis.internal:
        server.report_internal(failure)


def _log_syntax(server: GraphMendServer, document: Document, checked: Checked) -> None:
    """A file that cannot be parsed is other tools' business: say once why its findings stand still."""
    problems = checked.analysis.problems
    if problems and not document.unparsable:
        first = problems[0]
        place = first.path if first.line is None else f"{first.path}:{first.line}"
        message = f"{place}: {first.message}; only what parses is checked"
        server.window_log_message(types.LogMessageParams(types.MessageType.Log, message))
    document.unparsable = bool(problems)
