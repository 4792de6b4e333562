"""Files as they are while somebody types them: cut at statements, at lines and in the middle of words."""

from __future__ import annotations

import ast
import random
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from graphmend_lsp.check import Analysis, NoProgram, check
from graphmend_lsp.profile.targets import Outline, outline
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import line_starts
from tests.support.robust import sound

_TAILS = (
    "",
    "",
    "",
    ".",
    "(",
    "[",
    "{",
    ",",
    " =",
    ':\n    """',
    " if",
    "\\",
    "'",
    '"""',
    "#",
    "@",
    "\n    ",
    " = f'{x.",
)
"""What may be typed last."""


@dataclass(frozen=True)
class Cut:
    """A text that was cut, and what was found out about it."""

    end: int
    tail: str
    seconds: float
    complaints: tuple[str, ...]


def cuts(text: str, most: int, seed: str) -> list[int]:
    """Offsets: ends of statements, ends of lines and random ones, at most so many, in order."""
    choice = random.Random(seed)
    starts = line_starts(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text.removeprefix("\ufeff"))
    places: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.end_lineno is not None:
            line = text[starts[node.end_lineno - 1] :].partition("\n")[0]
            column = len(line.encode()[: node.end_col_offset].decode("utf-8", "ignore"))
            places.add(starts[node.end_lineno - 1] + column)
    places |= set(starts)
    whole = sorted(place for place in places if place <= len(text))
    count = min(len(whole), most * 3 // 4)
    chosen = choice.sample(whole, count)
    chosen += (choice.randrange(len(text) + 1) for _ in range(most - count))
    return sorted(set(chosen))


def typing(text: str, name: str, most: int, *, incremental: bool = True) -> Iterator[Cut]:
    """Check each prefix, each after the one before as an editor does, and at last the whole text.

    ``incremental`` False checks each anew.
    """
    choice = random.Random(f"{name} tails")
    before: Analysis | None = None
    seen: Outline | None = None
    for end in [*cuts(text, most, name), len(text)]:
        tail = "" if end == len(text) else choice.choice(_TAILS)
        begun = time.process_time()
        analysis = check(text[:end] + tail, name, settings=Settings(), previous=before if incremental else None)
        seconds = time.process_time() - begun
        found = sound.complaints(analysis)
        assert analysis.parsed is not None
        seen = outline(name, analysis.parsed, NoProgram(), Settings(), seen)
        found += sound.outline_complaints(seen)
        before = analysis
        if end == len(text):
            found += _differs(analysis, check(text, name))
        yield Cut(end, tail, seconds, tuple(found))


def _differs(last: Analysis, fresh: Analysis) -> list[str]:
    """What the last of many checks found otherwise than one of the same text would."""
    if last.problems or fresh.problems:
        return ["the whole text does not parse"]
    if [shown(last), last.unused_suppressions] == [shown(fresh), fresh.unused_suppressions]:
        return []
    return ["the last check differs from a fresh one"]


def shown(analysis: Analysis) -> list[object]:
    """All that a user sees of the findings."""
    return [
        (f.code, f.span, f.message, f.severity, f.function, f.entry, f.evidence, f.offers, f.refusals, f.costs)
        for f in analysis.findings
    ]
