"""What stays of a finding while the code around it moves: its rule, its function, and the words of its statement."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from graphmend_lsp.finding import Finding
from graphmend_lsp.text import LineIndex, Span

_DIGITS = 16
_WORD = re.compile(
    r"""
    (?P<skipped> \#[^\r\n]* | \\(?:\r\n|\n|\r) | \s+ )
    | [A-Za-z]{0,2} (?: \"{3} (?:\\.|[^\\])*? (?:\"{3}|\Z) | \'{3} (?:\\.|[^\\])*? (?:\'{3}|\Z) )
    | [A-Za-z]{0,2} (?: " (?:\\.|[^"\\\r\n])* "? | ' (?:\\.|[^'\\\r\n])* '? )
    | \w+
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
"""Not the tokens of ``tokenize``, which differ between releases of Python: a baseline is shared by all of them."""


def fingerprint(finding: Finding, index: LineIndex) -> str:
    """16 hexadecimal digits that are the same for the same finding in moved, re-indented or re-wrapped code.

    ``index`` is the text that the finding's places refer to.  The name of the file is not in it.  Findings that
    differ in nothing else have the same one (see ``numbered``).
    """
    parts = (finding.code, finding.function, *map(_joined, (statement(finding, index), index.slice(finding.span))))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def numbered(findings: Iterable[Finding], index: LineIndex) -> Iterator[tuple[Finding, str, int]]:
    """Findings of one file with their fingerprints, and the how-manieth (from 1) of its kind each is."""
    seen: dict[str, int] = {}
    for finding in findings:
        mark = fingerprint(finding, index)
        seen[mark] = seen.get(mark, 0) + 1
        yield finding, mark, seen[mark]


def statement(finding: Finding, index: LineIndex) -> str:
    """The text of the finding's statement, of a compound one that of its header."""
    span = finding.statement
    if not span.contains(finding.span) and not span.overlaps(finding.span):
        span = finding.span  # the finding has no statement
    elif span.line <= finding.header_end < span.end_line:
        span = Span(span.line, span.column, finding.header_end, len(index.line(finding.header_end)))
    return index.slice(span)


def words(text: str) -> list[str]:
    """A piece of Python without comments, layout, and the comma that formatters put before a bracket."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        if match["skipped"] is not None:
            continue
        if match[0] in (")", "]", "}") and found and found[-1] == ",":
            found.pop()
        found.append(match[0])
    return found


def _joined(text: str) -> str:
    return " ".join(words(text) or text.split())
