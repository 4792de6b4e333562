"""What was measured, as diagnostics and as text.  Everything here is for the worker thread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.finding import Finding, gb_url
from graphmend_lsp.profile import words
from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.profile.report import Report, Site
from graphmend_lsp.profile.text import headline
from graphmend_lsp.server.documents import Document, Outlined
from graphmend_lsp.text import Span

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

SOURCE = "torch.compile"
STALE = " (stale)"
_MARK = re.compile(r"[\\`*\[<|]|(?<!\w)_|_(?!\w)|\A[#>]")
"""What Markdown reads as one; no more, since Neovim shows the backslashes."""
_STATUS = {"confirmed": "confirmed", "no-break": "ran without a break", "not-reached": "not reached"}


def diagnostics(server: GraphMendServer, document: Document) -> list[types.Diagnostic]:
    """The measured breaks in a document, whichever file's entry was profiled, where their function is unchanged."""
    known = profiles_of(server, document.snapshot.path)
    outlined = server.results.outlined(document) if known else None
    if outlined is None:
        return []
    found: dict[tuple[int, str, str], list[str]] = {}
    for measured, stale in known:
        for site in measured.report.original.sites if measured.report.original is not None else ():
            line = _line(measured, outlined, site.path, site.line)
            if line is not None:
                found.setdefault((line, site.reason, site.gb), []).append(_origin(measured.report, site, stale))
    rows = sorted(found.items())
    return [_diagnostic(server, outlined, line, reason, gb, origins) for (line, reason, gb), origins in rows]


def profiles_of(server: GraphMendServer, path: str) -> list[tuple[Measured, bool]]:
    """The profiles that measured breaks in a file, each with whether it is stale."""
    return [
        (measured, server.results.stale(measured))
        for measured in server.results.all()
        if measured.report.original is not None and any(site.path == path for site in measured.report.original.sites)
    ]


def _line(measured: Measured, outlined: Outlined, path: str, line: int) -> int | None:
    if path != outlined.snapshot.path or line < 1:
        return None
    return measured.line(path, line, outlined.outline)


def _origin(report: Report, site: Site, stale: bool) -> str:
    often = f", {site.events} times" if site.events > 1 else ""
    return f"measured: {report.entry}{often} ({_when(report)}){STALE if stale else ''}"


def _when(report: Report) -> str:
    """Date and device."""
    return ", ".join(part for part in (report.when[:10], words.device(report)) if part)


def _diagnostic(
    server: GraphMendServer, outlined: Outlined, line: int, reason: str, gb: str, origins: list[str]
) -> types.Diagnostic:
    text = outlined.outline.lines[line - 1].rstrip() if line <= len(outlined.outline.lines) else ""
    span = Span(line, len(text) - len(text.lstrip()), line, len(text))
    href = gb_url(gb) if server.client.code_description else None
    return types.Diagnostic(
        range=outlined.snapshot.positions.range(span),
        message="\n".join([reason.strip() or "graph break", *origins]),
        severity=types.DiagnosticSeverity.Information,
        code=gb or None,
        code_description=types.CodeDescription(href=href) if href else None,
        source=SOURCE,
    )


def notes(server: GraphMendServer, document: Document, finding: Finding) -> Iterator[str]:
    """What the profiles say of a finding of the static analysis."""
    outlined = server.results.outlined(document)
    for measured in server.results.all() if outlined is not None else ():
        for row in measured.report.findings:
            if row.code != finding.code or outlined is None:
                continue
            if _line(measured, outlined, row.path, row.line) == finding.span.line:
                stale = STALE if server.results.stale(measured) else ""
                report = measured.report
                yield f"measured: {_STATUS[row.status]} in `{report.entry}` ({_when(report)}){stale}"


def numbers_at(server: GraphMendServer, document: Document, line: int, column: int) -> tuple[str, Span] | None:
    """The numbers of the profile whose entry has its name at a place, in Markdown."""
    outlined = server.results.outlined(document)
    here = Span(line, column, line, column)
    for measured in server.results.of(outlined.snapshot.path) if outlined is not None else ():
        part = outlined.outline.named(measured.report.entry) if outlined is not None else None
        if part is not None and part.span.contains(here):
            return numbers(measured.report, server.results.stale(measured)), part.span
    return None


def numbers(report: Report, stale: bool) -> str:
    """The numbers of a report in Markdown."""
    head = f"**{report.entry}: {_escaped(headline(report))}**"
    if stale:
        head += f"{STALE}: the code has changed since"
    rows = words.rows(report)
    mended = report.mended is not None
    table = ["| | original | mended | ratio |", "|---|---:|---:|---:|"] if mended else ["| | original |", "|---|---:|"]
    for row in rows:
        cells = [row.name, row.original, row.mended, row.ratio] if mended else [row.name, row.original]
        table.append("| " + " | ".join(map(_escaped, cells)) + " |")
    facts = [_when(report), f"torch {report.torch}" if report.torch else "", report.inputs]
    parts = [head, "\n".join(table), *words.warnings(report), _escaped("; ".join(fact for fact in facts if fact))]
    if mended and any(row.ratio for row in rows):
        parts.insert(2, words.RATIOS)
    return "\n\n".join(part for part in parts if part)


def _escaped(text: str) -> str:
    """Text of the user's or of torch, so that Markdown takes nothing in it for a mark."""
    return _MARK.sub(r"\\\g<0>", text)
