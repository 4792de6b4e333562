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
        self._blocks = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.If, ast.For, ast.While, ast.Match))
        ]

    def blocks_around(self, line: int) -> list[int]:
        """First lines of the tests and loops that a line stands in."""
        return [first for first, last in self._blocks if first <= line <= last]

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


def touched(before: str, after: str) -> set[str]:
    """Top-level names of ``after`` whose definition differs from that in ``before``, or which use such a name."""

    def definitions(text: str) -> dict[str, tuple[str, set[str]]]:
        found: dict[str, tuple[str, set[str]]] = {}
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                found[node.name] = ast.dump(node), names
        return found

    old, new = definitions(before), definitions(after)
    changed = {name for name, (dump, _) in new.items() if name not in old or old[name][0] != dump}
    while more := {name for name, (_, used) in new.items() if used & changed} - changed:
        changed |= more
    return changed
