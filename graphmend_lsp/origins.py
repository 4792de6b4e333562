"""Which lines of the original a line of mended text comes from, through all rounds of mending."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from graphmend_lsp.text import Edit, LineIndex, apply_edits, line_starts, split_lines


class Origin(NamedTuple):
    """Lines ``first`` to ``last`` of the original, 1-based; ``same`` if the line is that one, untouched.

    ``last`` is ``first - 1`` for a line that was put in before line ``first``.
    """

    first: int
    last: int
    same: bool


def origins(text: str, rounds: Sequence[Sequence[Edit]]) -> list[list[Origin]]:
    """For the original text, and for the text after each round, the origin of each line."""
    now = [Origin(number, number, True) for number in range(1, len(line_starts(text)) + 1)]
    found = [now]
    for edits in rounds:
        changed = apply_edits(text, edits)
        now = [_through(step, now) for step in _step(text, changed, edits)]
        found.append(now)
        text = changed
    return found


def _through(step: Origin, before: Sequence[Origin]) -> Origin:
    """The origin of a line whose origin in the text before is ``step``."""
    first = before[min(step.first, len(before)) - 1]
    if step.same:
        return first
    if step.last < step.first:
        return Origin(first.first, first.first - 1, False)
    last = before[min(step.last, len(before)) - 1]
    return Origin(first.first, max(first.last, last.last), False)


def _step(old: str, new: str, edits: Sequence[Edit]) -> list[Origin]:
    """The origin of each line of ``new`` in ``old``, of which ``edits`` made it."""
    index = LineIndex(old)
    spans = [
        (index.offset(e.span.line, e.span.column), index.offset(e.span.end_line, e.span.end_column)) for e in edits
    ]
    places: list[tuple[int, int, int, int]] = []  # begin and end in old, begin and end in new
    grown = 0
    for (begin, end), edit in sorted(zip(spans, edits, strict=True), key=lambda row: row[0]):
        places.append((begin, end, begin + grown, begin + grown + len(edit.text)))
        grown += len(edit.text) - (end - begin)
    found: list[Origin] = []
    lines = split_lines(old)
    starts = [*line_starts(new), len(new) + 1]
    passed = moved = 0
    for start, stop in pairwise(starts):
        while passed < len(places) and places[passed][3] <= start:
            moved = places[passed][3] - places[passed][1]
            passed += 1
        touching = [place for place in islice(places, passed, None) if place[2] < stop]
        if touching:
            begin, end = touching[0][0], touching[-1][1]
            first, column = index.position(begin)
            last = first - 1 if begin == end and column == 0 else index.position(max(begin, end - 1))[0]
            found.append(Origin(first, last, False))
        else:
            line = index.position(start - moved)[0]
            found.append(Origin(line, line, lines[line - 1] == new[start:stop]))
    return found
