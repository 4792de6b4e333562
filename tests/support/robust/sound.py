"""What may be wrong with an analysis, whatever the text is: errors of ours, and places that are not in the text."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import get_args

from graphmend_lsp.check import Analysis, resolve
from graphmend_lsp.finding import Change, Reason
from graphmend_lsp.profile.targets import Outline
from graphmend_lsp.server.snapshots import Snapshot
from graphmend_lsp.text import Span, apply_edits, split_lines

ENCODINGS = ("utf-8", "utf-16", "utf-32")
MOST_RESOLVED = 3
"""Offers of one analysis whose edits are made."""


def complaints(analysis: Analysis) -> list[str]:
    """All that is wrong with an analysis; empty if nothing is."""
    return [*_internal(analysis), *_places(analysis), *_client_places(analysis), *_edits(analysis)]


def outline_complaints(outline: Outline) -> list[str]:
    """Parts whose name is not where it is said to be."""
    lines = split_lines(outline.text)
    found: list[str] = []
    for part in (*outline.targets, *outline.parts):
        span = part.span
        if not _inside(span, lines) or not 1 <= part.first <= part.last <= len(lines):
            found.append(f"{part.name}: {span}, lines {part.first} to {part.last} of {len(lines)}")
        elif lines[span.line - 1][span.column : span.end_column] != part.name.rpartition(".")[2]:
            found.append(f"{part.name} is not at {span}")
    return found


def _internal(analysis: Analysis) -> Iterator[str]:
    for failure in analysis.internal:
        yield f"internal error in {failure.what}: {failure.error}"


def _inside(span: Span, lines: list[str]) -> bool:
    if not 1 <= span.line <= span.end_line <= len(lines):
        return False
    ends = [len(lines[number - 1].rstrip("\r\n")) for number in (span.line, span.end_line)]
    return (
        0 <= span.column <= ends[0]
        and 0 <= span.end_column <= ends[1]
        and span <= Span(span.end_line, span.end_column, span.end_line, span.end_column)
    )


def _places(analysis: Analysis) -> Iterator[str]:
    lines = split_lines(analysis.text)
    for problem in analysis.problems:
        if problem.line is not None and not 1 <= problem.line <= len(lines):
            yield f"a problem in line {problem.line} of {len(lines)}"
        if not problem.message.strip():
            yield "a problem without words"
    for span in analysis.unused_suppressions:
        if not _inside(span, lines):
            yield f"an unused suppression at {span}"
    for finding in analysis.findings:
        spans = [("itself", finding.span), ("its statement", finding.statement)]
        spans += [("evidence", step.span) for step in finding.evidence if step.path is None]
        spans += [("a refusal", refusal.span) for refusal in finding.refusals if refusal.span is not None]
        for what, span in spans:
            if not _inside(span, lines):
                yield f"{finding.code}: {what} at {span}, {len(lines)} lines"
        if finding.header_end > len(lines) or finding.named_line > len(lines):
            yield f"{finding.code}: lines {finding.header_end}, {finding.named_line} of {len(lines)}"
        if any(refusal.reason not in get_args(Reason) for refusal in finding.refusals):
            yield f"{finding.code}: a reason of its own"
        if not finding.message.strip() or len(finding.message.splitlines()) != 1:
            yield f"{finding.code}: the message is {finding.message!r}"


def _client_places(analysis: Analysis) -> Iterator[str]:
    """The same in a client's units, by other arithmetic than the server's."""
    rows = [row.rstrip("\r\n") for row in split_lines(analysis.text)]
    for encoding in ENCODINGS:
        positions = Snapshot("file:///m.py", 1, analysis.text, encoding).positions
        codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
        for finding in analysis.findings:
            shown = positions.range(finding.span)
            for place in (shown.start, shown.end):
                length = len(rows[place.line].encode(codec, "surrogatepass")) // width
                if place.character > length:
                    yield f"{finding.code}: {place} in {encoding}, the line has {length}"


def _edits(analysis: Analysis) -> Iterator[str]:
    """The edits of some offers are in the text, and what they make of one that parses does."""
    left = MOST_RESOLVED
    lines = split_lines(analysis.text)
    for finding in analysis.findings:
        for offer in finding.offers:
            if not left:
                return
            left -= 1
            made = resolve(analysis, finding, offer)
            if not isinstance(made, Change):
                continue
            outside = [edit.span for edit in made.edits if not _inside(edit.span, lines)]
            if outside:
                yield f"{finding.code}, {offer.kind}: edits {outside}"
                continue
            if not analysis.problems and not parses(apply_edits(analysis.text, made.edits)):
                yield f"{finding.code}, {offer.kind}: the mended text does not parse"


def parses(text: str) -> bool:
    """Whether Python takes a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
