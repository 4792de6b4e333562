"""A check that builds on the last one finds what a check from scratch finds, whatever was edited."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from graphmend_lsp.check import Analysis, check

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in (
        ROOT / "examples" / "captioner.py",
        ROOT / "tests" / "rules" / "GM101" / "flag_regions.py",
        ROOT / "tests" / "rules" / "GM301" / "flag_guards.py",
    )
}
INSERTS = [
    "\n",
    "# a comment\n",
    "VALUE = 3\n",
    "import math\n",
    "        print('here')\n",
    "    if x.sum() > 0:\n        x = x + 1\n",
    "def helper(x):\n    return x\n",
    "    (\n",
    "        x = x * 2\n",
    "@property\n",
]


def shown(analysis: Analysis) -> list[object]:
    """All that a user sees of the findings."""
    return [
        (f.code, f.span, f.message, f.severity, f.function, f.entry, f.evidence, f.offers, f.refusals)
        for f in analysis.findings
    ]


def edited(lines: list[str], choice: random.Random) -> list[str]:
    lines = list(lines)
    at = choice.randrange(len(lines) + 1)
    kind = choice.randrange(4)
    if kind == 0:
        lines.insert(at, choice.choice(INSERTS))
    elif kind == 1 and lines:
        del lines[min(at, len(lines) - 1)]
    elif kind == 2 and lines:
        at = min(at, len(lines) - 1)
        lines[at] = lines[at].replace("x", "y", 1)
    elif lines:
        at = min(at, len(lines) - 1)
        lines[at] = lines[at].replace("sum", "mean", 1).replace("print", "len", 1)
    return lines


@pytest.mark.parametrize("name", TEXTS)
def test_every_edit_gives_what_a_fresh_check_gives(name: str) -> None:
    choice = random.Random(name)
    original = TEXTS[name].splitlines(keepends=True)
    analysis = check(TEXTS[name], name)
    lines = original
    reused = 0
    for step in range(60):
        if step % 12 == 11:
            lines = original
        lines = edited(lines, choice)
        text = "".join(lines)
        before = {id(kept.facts) for kept in analysis.kept.entries.values()} if analysis.kept else set[int]()
        analysis = check(text, name, previous=analysis)
        if analysis.kept is not None:
            reused += sum(id(kept.facts) in before for kept in analysis.kept.entries.values())
        if analysis.problems:
            continue  # what is untouched is kept: another test looks at that
        assert shown(analysis) == shown(check(text, name)), f"step {step}"
    assert reused > 5, "nothing was used again"
