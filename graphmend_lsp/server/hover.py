"""Hover: the whole story of a finding, the numbers of a profile on its entry's name, and a rule's page on its code
in a suppression comment."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from lsprotocol import types

from graphmend_lsp import rules
from graphmend_lsp.finding import Finding
from graphmend_lsp.server import measured
from graphmend_lsp.server.documents import Checked, Document
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.snapshots import Snapshot
from graphmend_lsp.server.suppress import code_at
from graphmend_lsp.text import Span


def about(finding: Finding, snapshot: Snapshot, notes: Iterable[str] = ()) -> str:
    """What there is to say of a finding, in Markdown; ``notes`` come right after its message."""
    parts = [f"**{finding.code} {finding.name}**", finding.message, *notes]
    if finding.cost_words is not None:
        parts.append(f"Cost (estimated): {finding.cost_words}")
    if finding.evidence:
        parts.append("Why it is in a graph:\n" + _list(_steps(finding, snapshot)))
    if finding.offers:
        parts.append("Offered:\n" + _list(offers(finding)))
    if refused := list(refusals(finding)):
        parts.append("Refused:\n" + _list(refused))
    if finding.gb_url:
        parts.append(f"[{finding.gb} in PyTorch's list of graph breaks]({finding.gb_url})")
    return "\n\n".join(parts)


def _steps(finding: Finding, snapshot: Snapshot) -> Iterator[str]:
    for step in finding.evidence:
        line = step.span.line
        place = snapshot.words(line, finding.span.line) if step.path is None else f"{step.path}, line {line}"
        yield f"{step.message} ({place})"


def offers(finding: Finding) -> Iterator[str]:
    """Each fix, and whether it is safe."""
    for offer in finding.offers:
        risk = "safe" if offer.safety == "safe" else f"changes behaviour: {offer.changes or 'not proved to keep it'}"
        yield f"{offer.title} ({risk})"


def refusals(finding: Finding) -> Iterator[str]:
    """Each transformation that is not offered, with the reason, unless an offer says the same of itself."""
    told = {offer.changes for offer in finding.offers}
    for refusal in finding.refusals:
        if refusal.message in told:
            continue
        yield f"{refusal.kind}: {refusal.message} ({refusal.reason})"


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def page(code: str) -> str | None:
    """The page of a rule, in Markdown; it begins with a title."""
    rule = rules.rule(code)
    return None if rule is None else rule.page.strip()


def plain(markdown: str) -> str:
    """Markdown with the marks taken out that disturb most; code stays as it is written."""
    text = re.sub(r"\[([^\]]*)\]\((https?://[^)]*)\)", r"\1: \2", markdown)
    text = re.sub(r"^#+ |^```.*\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text)


def _hover(
    server: GraphMendServer, document: Document, checked: Checked, line: int, column: int
) -> tuple[str, Span] | None:
    """Runs in the worker."""
    here = Span(line, column, line, column)
    found = [finding for finding in checked.analysis.findings if finding.span.contains(here)]
    if found:
        codes = dict.fromkeys(finding.code for finding in found)
        pages = [text for code in codes if (text := page(code)) is not None]
        if len(pages) == 1:  # the finding above has its title
            pages = [re.sub(r"\A# .*\n+", "", pages[0])]
        texts = [*(about(f, checked.snapshot, measured.notes(server, document, f)) for f in found), *pages]
        return "\n\n---\n\n".join(texts), found[0].span
    told = measured.numbers_at(server, document, line, column)
    if told is not None:
        return told
    positions = checked.snapshot.positions
    text = positions.index.line(line)[positions.skipped if line == 1 else 0 :]
    code = code_at(text, column)
    text = page(code[0]) if code is not None else None
    if code is None or text is None:
        return None
    return text, Span(line, code[1], line, code[2])


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/hover``."""

    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        document = server.documents.containing(uri)
        checked = await server.analyses.of(document) if document is not None and document.is_python else None
        positions = checked.snapshot.positions_of(uri) if checked is not None else None
        if document is None or checked is None or positions is None:
            return None
        place = positions.place(params.position)
        told = await server.analyses.call(functools.partial(_hover, server, document, checked, *place))
        if told is None:
            return None
        text, span = told
        if server.client.hover_markdown:
            contents = types.MarkupContent(types.MarkupKind.Markdown, text)
        else:
            contents = types.MarkupContent(types.MarkupKind.PlainText, plain(text))
        return types.Hover(contents, positions.range(span))

    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
