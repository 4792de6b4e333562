"""Text to syntax trees, one per top-level statement; never raises on bad input.

A chunk that an edit did not touch keeps its tree, its identity and everything computed from it; only its place
in the file moves.  That is sound because Python's tokenizer is back in its initial state (no open bracket, no open
string, indentation zero) wherever a top-level statement begins: if the lines before, the changed
lines and the lines after each parse on their own, the whole file parses to the same statements.

While somebody types a text often does not parse.  Then the part that does not is a *hole* (``chunks.Hole``), which
remembers what stood there, and is all that is parsed with the next key.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from graphmend_lsp.chunks import (
    BOM,
    Chunk,
    Hole,
    NotPython,
    Parsed,
    ParseFailure,
    Place,
    chunks_of,
    first_line,
    ids,
    tree,
)
from graphmend_lsp.text import split_lines

__all__ = ["BOM", "Chunk", "Hole", "ParseFailure", "Parsed", "Place", "first_line", "parsable", "parse"]

_MOST_BLANKED = 8
"""Blocks with errors that are blanked one after the other, a parse for each."""
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=]", re.ASCII)
_BLANK = r"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)"
_STATEMENT = re.compile(rf"(?:{_BLANK})*(?!{_BLANK}|(?:else|elif|except|finally)\b|[ \t\f\\])")
"""The beginning of a text that does not go on with what stands before it, behind *all* of its blank lines."""
_STRING = re.compile(
    r"#[^\r\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r"|(?P<open>\"\"\"|''')"
    r'|"(?:\\(?:\r\n|.)|[^"\\\r\n])*"?'
    r"|'(?:\\(?:\r\n|.)|[^'\\\r\n])*'?",
    re.DOTALL,
)
_NESTED = re.compile(r"(?is)\b(?:f|fr|rf|t|tr|rt)(?:\"\"\"|'''|[\"'](?:[^\r\n\\]|\\(?:\r\n|.))*?(?:\"\"\"|'''))")
"""Strings that from Python 3.12 on may hold others that go on over lines."""
_KEYWORD = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""What cannot stand inside brackets."""


def parse(text: str, previous: Parsed | None = None) -> Parsed:
    """The chunks of ``text``, reusing those of ``previous`` that did not change.

    Where a part does not parse, what ``previous`` knows of it is kept (``Parsed.seen``).
    """
    step = None
    if previous is not None:
        if previous.text == text:
            return previous
        step = _step(text, previous)
        if step is not None and step.certain:
            return Parsed(text, step.chunks, step.failure)
    try:
        chunks = tuple(chunks_of(text, 1, tree(text)))
    except NotPython as error:
        if step is not None:
            return Parsed(text, step.chunks, error.failure)
        return _around_the_error(text, error.failure)
    return Parsed(text, _adopted(chunks, previous.seen) if previous is not None else chunks)


def _adopted(chunks: Sequence[Chunk], known: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """The chunks, in place of new ones those that are known with the same text."""
    pool: dict[str, list[Chunk]] = {}
    for chunk in reversed(known):
        if not chunk.broken:
            pool.setdefault(chunk.text, []).append(chunk)
    found: list[Chunk] = []
    for chunk in chunks:
        same = pool.get(chunk.text)
        found.append(replace(same.pop(), line=chunk.line) if same else chunk)
    return tuple(found)


class _Window(NamedTuple):
    before: tuple[Chunk, ...]
    text: str
    line: int
    after: tuple[Chunk, ...]
    gone: tuple[Chunk, ...]
    """What stood where the text stands now, of holes what stood there before."""


def _window(text: str, previous: Parsed) -> _Window | None:
    """The changed lines, widened to whole chunks, between the untouched chunks before and after."""
    old, new = previous.text, text
    chunks = previous.chunks
    if not chunks or any(c.broken and c.hole is None for c in chunks) or old.startswith(BOM) is not new.startswith(BOM):
        return None
    limit = min(len(old), len(new))
    prefix = _common_prefix(old, new, limit)
    suffix = _common_suffix(old, new, limit - prefix)
    first = 0
    used = 0
    # A chunk that ends where the change begins is touched, too: the change may continue its last line.
    while first < len(chunks) and used + len(chunks[first].text) < prefix:
        used += len(chunks[first].text)
        first += 1
    last = len(chunks)
    tail = 0
    while last > first and tail + len(chunks[last - 1].text) <= suffix:
        tail += len(chunks[last - 1].text)
        last -= 1
    # What does not parse may go on in what is beside it.
    while first and (first == last or chunks[first - 1].broken):
        first -= 1
        used -= len(chunks[first].text)
    while last < len(chunks) and chunks[last].broken:
        tail -= len(chunks[last].text)
        last += 1
    end = len(new) - tail
    if last < len(chunks) and end > 0 and not _begins_line(new, end):
        return None
    line = chunks[first].line if first < len(chunks) else 1
    moved = _count_lines(new[:end]) + 1 - (chunks[last].line if last < len(chunks) else 0)
    after = tuple(replace(c, line=c.line + moved) if moved else c for c in chunks[last:])
    gone = tuple(part for c in chunks[first:last] for part in (c.hole.stale if c.hole is not None else (c,)))
    return _Window(chunks[:first], new[used:end], line, after, gone)


class _Step(NamedTuple):
    """The chunks of a text, some of them holes; ``certain`` if it is proved that the whole does not parse then."""

    chunks: tuple[Chunk, ...]
    failure: ParseFailure | None
    certain: bool


def _step(text: str, previous: Parsed) -> _Step | None:
    """A text from the one before it; None where its changed lines cannot be parsed on their own."""
    window = _window(text, previous)
    if window is None:
        return None
    piece = window.text
    if not window.before and _CODING.match(piece):
        return None
    if piece and window.after and (piece[-1] not in "\r\n" or _goes_on(piece)):
        return None
    if window.before and piece.startswith(BOM):
        return None  # only the first character of a file may be one
    try:
        nodes = tree(piece)
    except NotPython:
        middle = tuple(_parts(piece, window.line, window.gone))
        if not any(chunk.broken for chunk in middle):
            return None
    else:
        if not nodes and (window.before or window.after) and piece.strip() == "" and not window.before:
            return None
        middle = _adopted(list(chunks_of(piece, window.line, nodes)), window.gone) if piece else ()
    chunks = window.before + middle + window.after
    holes = [number for number, chunk in enumerate(chunks) if chunk.broken]
    if not holes:
        return _Step(chunks, None, True)
    first = chunks[holes[0]]
    if first.hole is None:
        return None
    line = first.hole.failure.line
    failure = replace(first.hole.failure, line=None if line is None else line + first.shift)
    certain = all(hole is not None and hole.certain for hole in (chunks[n].hole for n in holes))
    # An open bracket may be closed in the next hole, unless something stands between that ends all hope.
    apart = all(
        any(isinstance(node, _KEYWORD) for chunk in chunks[a + 1 : b] for node in chunk.nodes)
        for a, b in pairwise(holes)
    )
    return _Step(chunks, failure, certain and apart)


def _parts(piece: str, line: int, gone: tuple[Chunk, ...]) -> Iterator[Chunk]:
    """The chunks of a text that does not parse: what was there before, what parses on its own, and holes."""
    at = 0
    lost: list[Chunk] = []
    for old in gone:
        found = -1 if old.broken else piece.find(old.text, at)
        while found > 0 and not _begins_line(piece, found):
            found = piece.find(old.text, found + 1)
        end = found + len(old.text)
        if found < 0 or (end < len(piece) and not (_begins_line(piece, end) and _STATEMENT.match(piece, end))):
            lost.append(old)
            continue
        yield from _part(piece[at:found], line, tuple(lost))
        line += _count_lines(piece[at:found])
        yield replace(old, line=line)
        line += _count_lines(old.text)
        at = end
        lost.clear()
    yield from _part(piece[at:], line, tuple(lost))


def _begins_line(text: str, at: int) -> bool:
    """Whether a line begins there; not between the two characters of one ending."""
    return text[at - 1] in "\r\n" and text[at - 1 : at + 1] != "\r\n"


def _part(piece: str, line: int, lost: tuple[Chunk, ...]) -> Iterator[Chunk]:
    if not piece:
        return
    failure = _fails(piece, first=line == 1)
    if failure is None:
        yield from _adopted(list(chunks_of(piece, line, tree(piece))), lost)
        return
    chunks = _adopted(_blanked_chunks(piece, line, failure) or (), lost)
    failures = {chunk.id: _fails(chunk.text, first=chunk.line == 1) for chunk in chunks if chunk.broken}
    if not failures or None in failures.values():
        chunks = (Chunk(next(ids), piece, 1, line, (), broken=True),)
        failures = {chunks[0].id: failure}
    anew = {name for chunk in chunks for name in _defined(chunk)}
    found_again = {chunk.id for chunk in chunks}
    stale = tuple(old for old in lost if old.id not in found_again and anew.isdisjoint(_defined(old)))
    for chunk in chunks:
        found = failures.get(chunk.id)
        if found is not None:
            at = None if found.line is None else found.line + chunk.raw_line - 1
            hole = Hole(replace(found, line=at), stale, at is not None and _ends(chunk.text))
            chunk, stale = replace(chunk, hole=hole), ()
        yield chunk


def _fails(piece: str, *, first: bool) -> ParseFailure | None:
    """Why lines do not parse on their own, ``first`` at the beginning of a file."""
    if not first and piece.startswith(BOM):
        return ParseFailure(1, "invalid non-printable character U+FEFF")
    if _goes_on(piece):
        return ParseFailure(None, "unexpected EOF while parsing")
    try:
        tree(piece)
    except NotPython as error:
        return error.failure
    return None


def _defined(chunk: Chunk) -> set[str]:
    """Functions and classes that a chunk defines."""
    return {n.name for n in chunk.nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}


def _goes_on(piece: str) -> bool:
    """Whether the last line may be continued on the next; at the end of a text Python does not always mind."""
    return piece.rstrip("\r\n").endswith("\\")


def _ends(piece: str) -> bool:
    """Whether lines that do not parse do so with no lines around them that are statements of their own.

    They begin with a statement, and what they leave open, nothing behind them takes up: strings, a continued line,
    decorators.  A bracket may be open: what closes all of its own never closes it.
    """
    if not _STATEMENT.match(piece) or _goes_on(piece):
        return False
    if sys.version_info >= (3, 12) and _NESTED.search(piece):
        return False
    if any(found["open"] for found in _STRING.finditer(piece)):
        return False
    code = _STRING.sub("''", piece)
    decorator = re.search(r"(?s)(?:^|[\r\n])@(?!.*[\r\n]@)(.*)", code)
    return decorator is None or re.search(r"[\r\n](?:async|def|class)\b", decorator[1]) is not None


def _around_the_error(text: str, failure: ParseFailure) -> Parsed:
    """Blank the top-level block with the error and parse the rest; twice, then give up."""
    chunks = _blanked_chunks(text, 1, failure) or (Chunk(next(ids), text, 1, 1, (), broken=True),)
    return Parsed(text, chunks, failure)


def _blanked_chunks(text: str, line: int, failure: ParseFailure) -> tuple[Chunk, ...] | None:
    """The chunks of a piece of text that begins on ``line``, without the blocks that do not parse; None if that fails.

    Chunks keep their real text; those with a blanked line are ``broken``, so that nothing is derived from
    their length, but what did parse in them has its nodes.
    """
    lines = split_lines(text)
    blanked = list(lines)
    gone: set[int] = set()
    current = failure
    for _ in range(2):
        if current.line is None:
            break
        begin, end = _block(blanked, current.line)
        for number in range(begin, end):
            blanked[number] = _ending(blanked[number])
            gone.add(number + 1)
        try:
            nodes = tree("".join(blanked))
        except NotPython as error:
            current = error.failure
            continue
        return tuple(
            replace(c, broken=not c.nodes or any(c.raw_line <= n < c.raw_line + len(c.lines) for n in gone))
            for c in chunks_of(text, line, nodes)
        )
    return None


def parsable(text: str) -> tuple[str, ParseFailure | None]:
    """``text`` with the top-level blocks that do not parse left blank, and the first reason why one does not.

    Where that does not help all of it is blank.  Lines keep their numbers.
    """
    lines = split_lines(text)
    first: ParseFailure | None = None
    for _ in range(_MOST_BLANKED):
        try:
            tree("".join(lines))
        except NotPython as error:
            failure = error.failure
        else:
            return "".join(lines), first
        first = first or failure
        if failure.line is None:
            break
        for number in range(*_block(lines, failure.line)):
            lines[number] = _ending(lines[number])
    return "".join(map(_ending, lines)), first


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _block(lines: list[str], error_line: int) -> tuple[int, int]:
    """0-based range of the top-level block around a 1-based line."""

    def begins(line: str) -> bool:
        return bool(line.strip()) and line[0] not in " \t\f#)]}"

    at = min(max(error_line - 1, 0), len(lines) - 1)
    begin = at
    while begin > 0 and not begins(lines[begin]):
        begin -= 1
    while begin > 0 and lines[begin - 1].startswith("@"):
        begin -= 1
    end = max(at, begin) + 1
    while end < len(lines) and not begins(lines[end]):
        end += 1
    return begin, end


def _count_lines(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _common_prefix(a: str, b: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(a: str, b: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle :] == b[len(b) - middle :]:
            low = middle
        else:
            high = middle - 1
    return low
