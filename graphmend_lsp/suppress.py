"""Suppression comments: ``# graphmend: ignore[GM101]``, ``# graphmend: ignore-file``, ``# noqa: GM101``."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field

from graphmend_lsp.rules import rule
from graphmend_lsp.text import Span

_MARK = re.compile(r"#\s*graphmend\s*:\s*(ignore-file|ignore)\b\s*(?:\[([^\]]*)\])?", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa\s*:\s*([A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)", re.IGNORECASE)
_ANY = re.compile(r"graphmend\s*:|noqa\s*:[^\r\n]*gm", re.IGNORECASE)
_WORDS = ("graphmend", "noqa")


@dataclass(eq=False)
class Suppression:
    """One comment; ``lines`` are those it covers (None: the file), ``codes`` empty for all."""

    span: Span
    codes: tuple[str, ...]
    line: int | None
    ours: bool
    used: set[str] = field(default_factory=set[str])

    def covers(self, code: str) -> bool:
        return not self.codes or any(code.startswith(c) for c in self.codes)

    def moved(self, lines: int) -> Suppression:
        """The same comment, found in a text that begins so many lines further down."""
        line = None if self.line is None else self.line + lines
        return Suppression(self.span.shifted(lines), self.codes, line, self.ours)

    @property
    def unused(self) -> bool:
        """Whether it hides nothing (codes of other tools in a ``noqa`` are none of our business)."""
        return self.ours and (not self.used if not self.codes else any(not _hit(c, self.used) for c in self.codes))


def _hit(code: str, used: set[str]) -> bool:
    return any(u.startswith(code) for u in used)


def suppressions(text: str) -> list[Suppression]:
    """All suppression comments of a text; comments are found by the tokenizer, so strings do not count."""
    lowered = text.lower()  # to find a word is much faster than to search for a pattern
    if not any(word in lowered for word in _WORDS) or not _ANY.search(text):
        return []
    found: list[Suppression] = []
    last_code_line = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type == tokenize.COMMENT:
                made = _comment(token.string, token.start, own_line=token.start[0] != last_code_line)
                if made is not None:
                    found.append(made)
            elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                last_code_line = token.end[0]
    except (tokenize.TokenError, SyntaxError):
        pass  # what was found before the error counts
    return found


def _code(text: str) -> str:
    """A code or a rule's name as a code."""
    known = rule(text)
    return known.code if known is not None else text.upper()


def _comment(text: str, start: tuple[int, int], *, own_line: bool) -> Suppression | None:
    line, column = start
    match = _MARK.search(text)
    if match is not None:
        codes = tuple(_code(c.strip()) for c in (match.group(2) or "").split(",") if c.strip())
        span = Span(line, column + match.start(), line, column + match.end())
        whole = match.group(1).lower() == "ignore-file"
        return Suppression(span, codes, None if whole else line + 1 if own_line else line, ours=True)
    match = _NOQA.search(text)
    if match is not None:
        codes = tuple(c for c in re.split(r"[,\s]+", match.group(1).upper()) if c.startswith("GM"))
        if codes:
            return Suppression(Span(line, column + match.start(), line, column + match.end()), codes, line, ours=True)
    return None
