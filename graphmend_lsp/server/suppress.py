"""The comment that switches a rule off for one line."""

from __future__ import annotations

import re
import tokenize

from graphmend_lsp.finding import Change, Finding, Refusal
from graphmend_lsp.text import Edit, Span, split_lines

_IGNORE = re.compile(r"#\s*graphmend\s*:\s*ignore\s*\[(?P<codes>[^\]]*)\]", re.IGNORECASE)
_COMMENT = re.compile(r"#\s*(?:graphmend:\s*ignore(?:-file)?\b|(?:[\w-]+:\s*)?noqa\b)[^#]*", re.IGNORECASE)
_CODE = re.compile(r"\bGM\d{3}\b", re.IGNORECASE)


def suppression(source: str, finding: Finding) -> Change | Refusal:
    """The edit that writes ``# graphmend: ignore[CODE]`` on the finding's line, or adds the code to the one there.

    In the middle of a string or before a continuation no comment can stand: then another line on which
    the comment counts for the finding.
    """
    lines = split_lines(source)
    span, statement = finding.span, finding.statement
    for number in dict.fromkeys((span.line, span.end_line, statement.line, statement.end_line)):
        edit = _edit(lines, number, finding.code) if number <= len(lines) else None
        if edit is not None:
            return Change((edit,))
    return Refusal("ignore", "location", "no line of this statement can take a comment")


def _edit(lines: list[str], number: int, code: str) -> Edit | None:
    """The edit of one line, or None if no comment can stand at its end."""
    text = lines[number - 1].rstrip("\r\n")
    column = _comment(lines, number)
    found = None if column is None else _IGNORE.search(text, column)
    if found is not None:
        codes = [*(each.strip() for each in found["codes"].split(",") if each.strip()), code]
        return Edit(Span(number, found.start("codes"), number, found.end("codes")), ", ".join(codes))
    end = len(text.rstrip())
    new = f"  # graphmend: ignore[{code}]"
    if column is None:
        with_comment = [*lines[: number - 1], text[:end] + new, *lines[number:]]
        if text.endswith("\\") or _comment(with_comment, number) != end + 2:
            return None
    return Edit(Span(number, end, number, len(text)), new)


def _comment(lines: list[str], number: int) -> int | None:
    """Column at which the comment of line ``number`` begins; not what only looks like one in a string."""
    feed = iter([line.rstrip("\r\n") + "\n" for line in lines])
    try:
        for token in tokenize.generate_tokens(lambda: next(feed, "")):
            if token.type == tokenize.COMMENT and token.start[0] == number:
                return token.start[1]
            if token.start[0] > number:
                return None
    except (tokenize.TokenError, SyntaxError):
        pass  # what follows is not our concern
    return None


def code_at(line: str, column: int) -> tuple[str, int, int] | None:
    """The rule code under ``column`` in a suppression comment of ``line``: code, start, end."""
    for comment in _COMMENT.finditer(line):
        for code in _CODE.finditer(comment.group()):
            start, end = comment.start() + code.start(), comment.start() + code.end()
            if start <= column <= end:
                return code.group().upper(), start, end
    return None
