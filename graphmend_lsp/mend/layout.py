"""Source text that is written anew: line length, indentation, quotes of the file."""

from __future__ import annotations

import ast
import re
import textwrap
import tokenize
from functools import lru_cache
from io import StringIO

DEFAULT_WIDTH = 88


def call(head: str, name: str, arguments: list[str], *, room: int, indent: str, tail: str = "") -> list[str]:
    """Lines of ``head + name(arguments) + tail``, one argument a line if it does not fit ``room``."""
    line = f"{head}{name}({', '.join(arguments)}){tail}"
    if len(line) <= room and "\n" not in line:
        return [line]
    lines = [f"{head}{name}("]
    inner = room - len(indent.expandtabs(4)) - 1
    for argument in arguments:
        lines.extend(indent + line for line in _wrapped(argument, inner, indent))
        lines[-1] += ","
    lines.append(f"){tail}")
    return lines


def _wrapped(text: str, room: int, indent: str) -> list[str]:
    """Lines of one argument; a call that does not fit is laid out in turn."""
    if len(text) <= room:
        return [text]
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text.split("\n")
    if not isinstance(node, ast.Call) or not text.isascii() or "\n" in text or not (node.args or node.keywords):
        return text.split("\n")
    starts = [(a.col_offset, a.end_col_offset or 0) for a in node.args]
    starts += [(k.col_offset, k.end_col_offset or 0) for k in node.keywords]
    name = text[: node.func.end_col_offset]
    return call("", name, [text[a:b] for a, b in sorted(starts)], room=room, indent=indent)


def flat(source: str) -> str | None:
    """An expression's source on one line; None if a comment or a string over several lines is inside."""
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    parts: list[str] = []
    end = (1, 1)
    before = "("
    try:
        for token in tokenize.generate_tokens(StringIO(f"({text})").readline):
            kind = tokenize.tok_name[token.type]
            if kind == "COMMENT" or (token.start[0] != token.end[0] and kind not in ("NL", "NEWLINE")):
                return None
            if kind in ("NL", "NEWLINE", "ENDMARKER", "INDENT", "DEDENT") or token.start == (1, 0):
                continue
            if token.start[0] == end[0]:
                parts.append(" " * (token.start[1] - end[1]))
            elif token.string not in ")]}" and before not in "([{":
                parts.append(" ")
            elif token.string in ")]}" and parts and parts[-1] == ",":
                parts.pop()
            parts.append(token.string)
            end, before = token.end, token.string
    except (tokenize.TokenError, SyntaxError):
        return None
    return "".join(parts[:-1]).strip()


@lru_cache(maxsize=8)
def indent_unit(text: str) -> str:
    """One level of indentation as a file has it."""
    for line in text.split("\n"):
        if line[:1] == "\t":
            return "\t"
        match = re.match(r"( +)\S", line)
        if match is not None:
            return match.group(1) if len(match.group(1)) in (2, 4, 8) else "    "
    return "    "


@lru_cache(maxsize=8)
def line_width(text: str) -> int:
    """The width a file keeps to: that of its longest code line, between 79 and 120."""
    longest = max((len(line.rstrip()) for line in text.split("\n") if "http" not in line), default=0)
    return min(max(longest, DEFAULT_WIDTH), 120)


def reindent(source: str, old: str, new: str) -> list[str]:
    """Lines of a statement moved from indentation ``old`` to ``new``; text inside strings stays."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    inside = _string_lines(source)
    result: list[str] = []
    for number, line in enumerate(lines):
        if number == 0:
            result.append(new + line)
        elif number in inside or not line.strip():
            result.append(line)
        elif line.startswith(old):
            result.append(new + line[len(old) :])
        else:
            result.append(new + line.lstrip())
    return result


def _string_lines(source: str) -> set[int]:
    """0-based lines that begin inside a string."""
    inside: set[int] = set()
    text = textwrap.dedent(source)
    starts: list[int] = []
    try:
        for token in tokenize.generate_tokens(StringIO(text).readline):
            if token.type == tokenize.STRING:
                inside.update(range(token.start[0], token.end[0]))
            elif tokenize.tok_name[token.type] in ("FSTRING_START", "TSTRING_START"):
                starts.append(token.start[0])
            elif tokenize.tok_name[token.type] in ("FSTRING_END", "TSTRING_END") and starts:
                inside.update(range(starts.pop(), token.end[0]))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass
    return inside
