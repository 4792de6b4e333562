"""Mending of real files: what comes out parses, stays as it is when mended again, and differs where an edit is only."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from graphmend_lsp.check import Accept, mend
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import apply_edits, split_lines
from tests.support.robust import sound


@dataclass(frozen=True)
class Outcome:
    """What came of one file."""

    applied: int
    again: int
    """Offers that the second mending applied."""
    seconds: float
    wrong: tuple[str, ...]


def examine(path: Path, *, unsafe: bool = False) -> Outcome:
    """Mend a file, twice; nothing is written.  All functions count as entries, so that there is something to mend."""
    begun = time.process_time()
    text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    accept = Accept(unsafe)
    entries = Settings(entries=tuple(dict.fromkeys(re.findall(r"^def (\w+)", text, re.MULTILINE))))
    made = mend(text, path.name, accept=accept, settings=entries)
    again = mend(made.text, path.name, accept=accept, settings=entries)
    wrong: list[str] = []
    if sound.parses(text) and not sound.parses(made.text):
        wrong.append("the mended text does not parse")
    if again.text != made.text:
        wrong.append(f"a second time changes it: {[offer.title for _, offer in again.applied]}")
    wrong += (
        f"internal error in {each.what}: {each.error}" for each in (*made.analysis.internal, *again.analysis.internal)
    )
    replayed = text
    for _, edits in made.rounds:
        before = split_lines(replayed)
        replayed = apply_edits(replayed, edits)
        touched = {line for edit in edits for line in range(edit.span.line, edit.span.end_line + 1)}
        kept = [row for number, row in enumerate(before, 1) if number not in touched]
        if not _in_order(kept, split_lines(replayed)):
            wrong.append("a line that no edit names has changed")
    if replayed != made.text:
        wrong.append("the edits do not make the text")
    return Outcome(len(made.applied), len(again.applied), time.process_time() - begun, tuple(wrong))


def _in_order(rows: list[str], among: list[str]) -> bool:
    """Whether rows are in a list, in their order."""
    rest = iter(among)
    return all(row in rest for row in rows)
