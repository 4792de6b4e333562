"""Expectations written in a fixture: ``# GM101`` behind a statement that must be flagged."""

from __future__ import annotations

import ast
import io
import re
import tokenize

_MARK = re.compile(r"#\s*((?:GM\d{3}[ ,]*)+)$")


def headers(text: str) -> list[tuple[int, int]]:
    """First and last line of every statement's header (a compound statement ends before its body)."""
    found: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            if isinstance(node, ast.Match):
                end = node.subject.end_lineno or node.lineno
            elif isinstance(body, list) and body:
                end = max(node.lineno, body[0].lineno - 1) if body[0].lineno > node.lineno else node.lineno
            found.append((node.lineno, end))
    return found


class Statements:
    """The statements of a text, by line."""

    def __init__(self, text: str) -> None:
        self._headers = headers(text)

    def at(self, line: int) -> tuple[int, int] | None:
        """The innermost header that contains a line."""
        around = [h for h in self._headers if h[0] <= line <= h[1]]
        return max(around, default=None, key=lambda h: (h[0], -h[1]))


def expected(text: str) -> set[tuple[int, str]]:
    """(first line of the statement, code) for every mark."""
    statements = Statements(text)
    found: set[tuple[int, str]] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match = _MARK.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            header = statements.at(token.start[0])
            assert header is not None, f"line {token.start[0]}: a mark without a statement"
            found |= {(header[0], code) for code in re.findall(r"GM\d{3}", match.group(1))}
    return found
