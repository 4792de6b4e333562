"""IPython's syntax in a cell as Python with the same lines: magics, shell commands, help.

What is not Python is *masked*: its lines are replaced, all others stay as they are, so places in the one are places in
the other.  At the top level a masked line is left empty.  In a block it becomes a call of something that nobody knows
(what the magic does is as unknown), and so does what is assigned from a magic.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field

_PYTHON_BODY = frozenset(
    "capture debug heat ipytest memit mprun prun pyinstrument scalene snakeviz time timeit viztracer wandb".split()
)
"""Cell magics whose cell is Python for the notebook's own interpreter."""

_UNKNOWN = "get_ipython()"

_CELL_MAGIC = re.compile(r"%%(\w[\w.]*)(?!.*\?\s*$)")
_HELP = re.compile(r"[%\w][^'\"#]*[\w*\])]\?\??\s*|\w\?\??\s*")
_TARGET = r"(?:[\w.*]|\[[\w'\".:-]*\])+"
_ASSIGNED = re.compile(rf"({_TARGET}(?:\s*,\s*{_TARGET})*\s*=\s*)[!%]")
_TIMED = re.compile(r"(%(?:time|timeit|prun|memit)\s+)(?=[^-\s])")
_NEXT = re.compile(r"#|'''|\"\"\"|'|\"|[(\[{]|[)\]}]|\\$")
_STRING_END = {quote: re.compile(rf"(?:[^\\]|\\.)*?{quote}", re.DOTALL) for quote in ("'''", '"""', "'", '"')}


@dataclass(frozen=True)
class Masked:
    """The lines of a cell as Python, without their endings, and the 0-based numbers of those that are replaced."""

    lines: tuple[str, ...]
    masked: frozenset[int]


@dataclass
class _Scanner:
    """Whether the next line begins a statement, as far as strings, brackets and continuations tell."""

    quote: str = ""
    depth: int = 0
    continued: bool = field(default=False)

    @property
    def at_start(self) -> bool:
        return not (self.quote or self.depth or self.continued)

    def feed(self, line: str) -> None:
        self.continued = False
        at = 0
        while at < len(line):
            if self.quote:
                at = self._string(line, at)
                continue
            found = _NEXT.search(line, at)
            if found is None or found[0] == "#":
                return
            at = found.end()
            if found[0] == "\\":
                self.continued = True
            elif found[0] in "([{":
                self.depth += 1
            elif found[0] in ")]}":
                self.depth = max(self.depth - 1, 0)
            else:
                self.quote = found[0]
        if len(self.quote) == 1 and not line.endswith("\\"):
            self.quote = ""  # not closed: the parser will say so

    def _string(self, line: str, at: int) -> int:
        end = _STRING_END[self.quote].match(line, at)
        if end is not None:
            self.quote = ""
            return end.end()
        return len(line)


def as_python(lines: list[str]) -> Masked:
    """The lines of a cell, given without their endings, as Python."""
    result = list(lines)
    masked: set[int] = set()
    at = 0
    while (head := _cell_magic(lines, at)) is not None:
        number, name = head
        end = number + 1 if name in _PYTHON_BODY else len(lines)
        masked.update(range(number, end))
        at = end
    for number in masked:
        result[number] = ""
    scanner = _Scanner()
    while at < len(lines):
        replaced = _replaced(lines[at]) if scanner.at_start else None
        if replaced is None:
            scanner.feed(lines[at])
            at += 1
            continue
        result[at] = replaced
        masked.add(at)
        while lines[at].endswith("\\") and at + 1 < len(lines):
            at += 1
            result[at] = ""
            masked.add(at)
        at += 1
    return Masked(tuple(result), frozenset(masked))


def is_head(line: str) -> bool:
    """Whether a line is a cell magic, above which nothing may stand."""
    return _CELL_MAGIC.match(line) is not None


def _cell_magic(lines: list[str], at: int) -> tuple[int, str] | None:
    """Line and name of the cell magic with which the cell begins, from a line on."""
    for number in range(at, len(lines)):
        line = lines[number].strip()
        if line and not line.startswith("#"):
            found = _CELL_MAGIC.match(lines[number])
            return None if found is None else (number, found[1])
    return None


def _replaced(line: str) -> str | None:
    """What stands for the line that begins a statement; None if it is Python's business."""
    body = line.lstrip(" \t")
    indent = line[: len(line) - len(body)]
    if not body:
        return None
    assigned = _ASSIGNED.match(body)
    if assigned is not None:
        return indent + assigned[1] + _UNKNOWN
    if body[0] in "%!?,;/" or (body[0] not in "#'\"" and _HELP.fullmatch(body)):
        return _timed(indent, body) or (indent + _UNKNOWN if indent else "")
    return None


def _timed(indent: str, body: str) -> str | None:
    """The statement that a line magic times, in its place; None if the magic does not run a statement."""
    found = _TIMED.match(body)
    if found is None or body.endswith("\\"):
        return None
    text = "0;".ljust(found.end()) + body[found.end() :]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return indent + text
