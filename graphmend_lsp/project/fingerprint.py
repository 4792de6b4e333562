"""What stays of a finding while the code around it moves: its rule, its function, and the words of its statement."""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator

from graphmend_lsp.finding import Finding
from graphmend_lsp.text import LineIndex, Span

_SKIPPED = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.ENCODING,
    )
)
_CLOSING = frozenset(")]}")
_DIGITS = 16


def fingerprint(finding: Finding, index: LineIndex) -> str:
    """16 hexadecimal digits that are the same for the same finding in moved, re-indented or re-wrapped code.

    ``index`` is the text that the finding's places refer to.  The name of the file is not in it.  Findings that
    differ in nothing else have the same one (see ``numbered``).
    """
    parts = (finding.code, finding.function, statement(finding, index), words(index.slice(finding.span)))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def numbered(findings: Iterable[Finding], index: LineIndex) -> Iterator[tuple[Finding, str, int]]:
    """Findings of one file with their fingerprints, and the how-manieth (from 1) of its kind each is."""
    seen: dict[str, int] = {}
    for finding in findings:
        mark = fingerprint(finding, index)
        seen[mark] = seen.get(mark, 0) + 1
        yield finding, mark, seen[mark]


def statement(finding: Finding, index: LineIndex) -> str:
    """The words of the finding's statement, of a compound one those of its header."""
    span = finding.statement
    if not span.contains(finding.span) and not span.overlaps(finding.span):
        return words(index.slice(finding.span))  # the finding has no statement
    if span.line <= finding.header_end < span.end_line:
        span = Span(span.line, span.column, finding.header_end, len(index.line(finding.header_end)))
    return words(index.slice(span))


def words(text: str) -> str:
    """The tokens of a piece of Python, without comments, layout, and the comma that formatters put before a bracket."""
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _SKIPPED:
                continue
            if found and found[-1] == "," and token.string in _CLOSING:
                found.pop()
            found.append(token.string)
    except (tokenize.TokenError, SyntaxError):  # the header of a compound statement ends in the middle
        pass
    return " ".join(found or text.split())
