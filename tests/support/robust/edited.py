"""Random edits of a file over the wire, with requests and cancels between; the server's text is the client's.

Edits are undone again, so that the text parses every now and then: the analysis then builds on that of a broken one.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmend_lsp.check import Analysis, check
from graphmend_lsp.project.program import DiskProgram

_LINE_END = re.compile(r"\r\n|\n|\r")
_PIECES = (
    "x", "é", "🙂", "本", "_", " ", "\t", "\n", "\r\n", "\r", "\f", "(", ")", "[", '"', "'''", "#", "\\", ":", "=", ".",
    "\u2028", "\x85", "\ufeff", "\x00", "0", "if x.any():\n", "    ", "# ein Wort 🙂\n", "\n\n\n", "import torch\n",
    "        print(x)\n", "class A:\n", "def f(x):\n    return x\n", "return", "@", "async ", "lambda: ", "f'{", "}",
)  # fmt: skip
_WHOLE = ("# note\n", "\n", "VALUE = 3\n", "\n\n\ndef added(x):\n    return x\n", "# 🙂 本\n", "import math\n")
"""What may stand between two statements at the top level."""
_REQUESTS = ("textDocument/hover", "textDocument/codeAction", "textDocument/codeLens", "textDocument/inlayHint")
_DEEPEST = 12
"""Edits that are not undone yet."""


def _split(text: str) -> list[tuple[int, int]]:
    """Begin and end of each line, without its ending."""
    found: list[tuple[int, int]] = []
    begin = 0
    for match in _LINE_END.finditer(text):
        found.append((begin, match.start()))
        begin = match.end()
    return [*found, (begin, len(text))]


@dataclass
class Editing:
    """The client's text, and the edits of it; positions are in UTF-16 units, by arithmetic of our own."""

    text: str
    choice: random.Random
    count: int = 0
    undo: list[str] = field(default_factory=list)

    def change(self) -> dict[str, Any]:
        """The next edit: a new one, one that keeps the text valid, or the last one undone."""
        self.count += 1
        if self.undo and (len(self.undo) >= _DEEPEST or self.choice.random() < 0.5):
            return self._to(self.undo.pop())
        if not self.undo and self.choice.random() < 0.2:
            return self._between_statements()
        self.undo.append(self.text)
        return self._anywhere()

    def parse_again(self) -> dict[str, Any] | None:
        """The edit that undoes all that is not undone yet."""
        if not self.undo:
            return None
        self.count += 1
        first, self.undo = self.undo[0], []
        return self._to(first)

    def _to(self, text: str) -> dict[str, Any]:
        """The smallest edit that gives another text; now and then the whole text."""
        if self.choice.random() < 0.05:
            self.text = text
            return {"text": text}
        old, limit = self.text, min(len(self.text), len(text))
        start = next((i for i in range(limit) if old[i] != text[i]), limit)
        end = 0
        while end < limit - start and old[-1 - end] == text[-1 - end]:
            end += 1
        return self._replace(start, len(old) - end, text[start : len(text) - end])

    def _between_statements(self) -> dict[str, Any]:
        starts = [m.start() for m in re.finditer(r"^(?:def|class|import) ", self.text, re.MULTILINE)] or [0]
        at = self.choice.choice(starts)
        return self._replace(at, at, self.choice.choice(_WHOLE))

    def _anywhere(self) -> dict[str, Any]:
        """A range with any numbers, which a server has to clamp; long ones are seldom."""
        choice, lines = self.choice, _split(self.text)
        line = choice.randrange(len(lines) + 2)
        begin, end = lines[min(line, len(lines) - 1)]
        width = len(self.text[begin:end].encode("utf-16-le")) // 2
        start = {"line": line, "character": choice.randrange(width + 4)}
        far = choice.random()
        if far < 0.5:
            stop = dict(start)
        elif far < 0.85:
            stop = {"line": line, "character": choice.randrange(width + 4)}
        elif far < 0.98:
            stop = {"line": line + choice.randrange(4), "character": choice.randrange(60)}
        else:
            stop = {"line": choice.choice((2**31 - 1, line + 40)), "character": 2**31 - 1}
        new = "" if choice.random() < 0.3 else choice.choice(_PIECES)
        low, high = sorted((self._offset(start, lines), self._offset(stop, lines)))
        self.text = self.text[:low] + new + self.text[high:]
        return {"range": {"start": start, "end": stop}, "text": new}

    def _offset(self, place: dict[str, int], lines: list[tuple[int, int]]) -> int:
        if place["line"] >= len(lines):
            return len(self.text)
        begin, end = lines[place["line"]]
        units = self.text[begin:end].encode("utf-16-le")[: place["character"] * 2]
        return begin + len(units.decode("utf-16-le", "ignore"))

    def _replace(self, start: int, end: int, new: str) -> dict[str, Any]:
        lines = _split(self.text)
        range_ = {"start": self._position(start, lines), "end": self._position(end, lines)}
        low, high = self._offset(range_["start"], lines), self._offset(range_["end"], lines)
        if (low, high) != (start, end):  # between "\r" and "\n" there is no position
            self.text = self.text[:start] + new + self.text[end:]
            return {"text": self.text}
        self.text = self.text[:start] + new + self.text[end:]
        return {"range": range_, "text": new}

    def _position(self, offset: int, lines: list[tuple[int, int]]) -> dict[str, int]:
        line = max(number for number, (begin, _) in enumerate(lines) if begin <= offset)
        return {"line": line, "character": len(self.text[lines[line][0] : offset].encode("utf-16-le")) // 2}


@dataclass(frozen=True)
class Outcome:
    """What came of the edits of one file."""

    edits: int
    requests: int
    compared: int
    """Texts and findings that were compared."""
    wrong: tuple[str, ...]


def run(wire: Any, path: Path, seed: int, edits: int, compare: int = 100) -> Outcome:
    """Edit a file on a connected server that pushes; compare its text and findings every ``compare`` edits."""
    choice = random.Random(seed)
    text = path.read_bytes().decode("utf-8")
    editing = Editing(text, choice)
    uri, version = path.as_uri(), 1
    wrong: list[str] = []
    requests = compared = 0
    wire.open(uri, text)
    for number in range(1, edits + 1):
        changes = [editing.change() for _ in range(choice.choice((1, 1, 1, 2, 3)))]
        if number % compare == 0 and (last := editing.parse_again()) is not None:
            changes.append(last)
        version += 1
        wire.change(uri, version, *changes)
        if choice.random() < 0.05:
            requests += 1
            _request(wire, uri, choice)
        if number % compare == 0 or number == edits:
            compared += 1
            wrong += _compare(wire, path, uri, editing.text, version)
    wire.close(uri)
    return Outcome(editing.count, requests, compared, tuple(wrong))


def _request(wire: Any, uri: str, choice: random.Random) -> None:
    """A request that is cancelled at once, a moment later, or not; nobody waits for its answer."""
    place = {"line": choice.randrange(200), "character": choice.randrange(60)}
    params: dict[str, Any] = {"textDocument": {"uri": uri}, "position": place}
    params |= {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    number = f"{uri} {choice.random()}"
    wire.send({"id": number, "method": choice.choice(_REQUESTS), "params": params})
    if choice.random() < 0.7:
        wire.notify("$/cancelRequest", {"id": number})


def fresh(path: Path, text: str) -> Analysis:
    """What a server that has just been started finds."""
    program = DiskProgram((str(path.parent),), overlay={str(path): text})
    return check(text.removeprefix("\ufeff"), str(path), program=program.for_file(str(path)))


def _compare(wire: Any, path: Path, uri: str, text: str, version: int) -> list[str]:
    if wire.text(uri) != text:
        return [f"{path.name} version {version}: the text is another one"]
    shown = wire.diagnostics(uri, version)
    analysis = fresh(path, text)
    found = sorted((d["range"]["start"]["line"] + 1, d["code"], d["message"].partition("\n")[0]) for d in shown)
    expected = sorted((f.span.line, f.code, f.message) for f in analysis.findings)
    if found == expected or (analysis.problems and {row[:2] for row in found} >= {row[:2] for row in expected}):
        return []
    return [f"{path.name} version {version}: {found} instead of {expected}"]
