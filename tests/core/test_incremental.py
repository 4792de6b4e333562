"""A check that builds on the last one finds what a check from scratch finds, whatever was edited."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from graphmend_lsp.check import Analysis, Superseded, check
from graphmend_lsp.model.closure import Closures
from graphmend_lsp.model.module import Module
from graphmend_lsp.model.program import NoProgram
from graphmend_lsp.parse import parse
from graphmend_lsp.project.program import DiskProgram

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
        (f, f.statement, f.header_end, f.entries, f.named_line, f.costs)  # the first compares the rest
        for f in analysis.findings
    ]


def outside(analysis: Analysis, gone: set[int]) -> list[object]:
    """What a user sees of the findings that are not on some lines, wherever the others have moved to.

    Offers are left out: they are proved on the text as it is, and nothing is mended that does not parse.
    """
    lines = analysis.text.splitlines()
    return [
        (lines[f.span.line - 1], f.span.column, f.code, f.severity, f.function, f.entry, f.costs)
        for f in analysis.findings
        if f.span.line not in gone
    ]


def assert_holes_cost_nothing_else(analysis: Analysis, name: str) -> bool:
    """Where a text does not parse, the rest has the findings that it has with what stood there before."""
    if analysis.parsed is None or any(c.broken and (c.hole is None or c.nodes) for c in analysis.parsed.chunks):
        return False
    text, gone, missing = "", set[int](), set[int]()
    for chunk in analysis.parsed.chunks:
        if chunk.hole is not None:
            missing |= set(range(chunk.line, chunk.line + len(chunk.lines)))
        for part in chunk.hole.stale if chunk.hole is not None else (chunk,):
            line = text.count("\n") + 1
            text += part.text
            if chunk.hole is not None:
                gone |= set(range(line, text.count("\n") + 2))
    fresh = check(text, name)
    if fresh.problems:  # what two holes have made of their order
        return False
    assert not {f.span.line for f in analysis.findings} & missing
    assert outside(analysis, missing) == outside(fresh, gone)
    return True


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
    reused = holes = 0
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
            holes += assert_holes_cost_nothing_else(analysis, name)
            continue
        assert shown(analysis) == shown(check(text, name)), f"step {step}"
    assert reused > 5, "nothing was used again"
    assert holes > 5, "nothing was broken"


FIXTURES = ROOT / "tests" / "rules"


@pytest.mark.parametrize("rule", sorted(path.name for path in FIXTURES.glob("GM*")))
def test_every_edit_of_a_fixture_gives_what_a_fresh_check_gives(rule: str) -> None:
    choice = random.Random(rule)
    for path in sorted((FIXTURES / rule).glob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        analysis = check(text, path.name)
        for step in range(8):
            if step == 5:
                lines = text.splitlines(keepends=True)
            lines = edited(lines, choice)
            analysis = check("".join(lines), path.name, previous=analysis)
            if analysis.problems:
                assert_holes_cost_nothing_else(analysis, path.name)
            else:
                assert shown(analysis) == shown(check("".join(lines), path.name)), f"{path}, step {step}"


class Two(NoProgram):
    """A project of this file and ``base.py``."""

    def __init__(self, base: str) -> None:
        self.base = base

    def source(self, module: str) -> tuple[str, str] | None:
        return ("base.py", self.base) if module == "base" else None

    def module_name(self, path: str) -> tuple[str, bool]:
        return path.removesuffix(".py"), False


BASE = """\
import torch
from torch import nn


class Base(nn.Module):
    def gate(self, x):
        return x

    def forward(self, x):
        return self.gate(x.relu()) + self.width
"""
CHILD = """\
import torch

from base import Base


class Child(Base):
    def __init__(self):
        super().__init__()
        self.width = 3

    def gate(self, x):
        if x.sum() > 0:
            x = x * 2
        return x
"""


def test_a_forward_inherited_from_another_file() -> None:
    first = check(CHILD, "child.py", program=Two(BASE))
    assert [(f.code, f.span.line) for f in first.findings] == [("GM101", 12)]
    analysis = first
    for text, base, lines in (
        (CHILD + "\n\nOTHER = 1\n", BASE, [12]),
        (CHILD.replace("        return x\n", "        print(x)\n        return x\n"), BASE, [12, 14]),
        (CHILD.replace("x.sum()", "x.shape[0]"), BASE, []),
        (CHILD, BASE.replace("self.gate(x.relu())", "self.gate(3)"), []),
        (CHILD, BASE, [12]),
    ):
        analysis = check(text, "child.py", program=Two(base), previous=analysis)
        assert [f.span.line for f in analysis.findings] == lines
        assert shown(analysis) == shown(check(text, "child.py", program=Two(base)))


THREE = """\
import torch
from torch import nn


def gate(x: torch.Tensor):
    if x.max() > 3:
        x = x.clamp(-3, 3)
    return x


class Block(nn.Module):
    def forward(self, x):
        print(x.mean())
        return gate(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        x = self.block(x)
        return x * x.sum()


net = torch.compile(Net())
"""


def test_evidence_of_another_entry_goes_with_it() -> None:
    """`Block` was analysed for `Net` first: what showed there that its `x` is a tensor is in the edited class."""
    first = check(THREE)
    text = THREE.replace("        x = self.block(x)\n        return x * x.sum()\n", "        return self.block(x)\n")
    assert shown(check(text, previous=first)) == shown(check(text))
    gone = THREE.replace("    def forward(self, x):\n        x = self.block(x)\n        return x * x.sum()\n", "")
    assert shown(check(gone, previous=first)) == shown(check(gone))


def test_of_two_distant_edits_only_the_broken_one_costs_findings() -> None:
    first = check(THREE)
    text = THREE.replace("        x = x.clamp", "\n        x = x.clamp").replace("return x * x.sum()", "return x * (")
    analysis = check(text, previous=first)
    assert analysis.problems
    assert [(f.code, f.span.line) for f in analysis.findings] == [("GM101", 6), ("GM201", 14)]
    assert assert_holes_cost_nothing_else(analysis, "<stdin>")
    hole = range(text[: text.index("class Net")].count("\n") + 1, text[: text.index("net =")].count("\n") + 1)
    assert not {e.span.line for f in analysis.findings for e in f.evidence} & set(hole)


def test_a_text_that_parses_again_keeps_its_trees() -> None:
    good = "import torch\n\n\ndef f(x):\n    return x\n\n\ndef g(x):\n    return x\n"
    first = parse(good)
    broken = parse(good.replace("return x\n\n\n", "return (\n\n\n"), first)
    worse = parse(good.replace("return x\n\n\n", "return ((\n\n\n"), broken)
    assert broken.failure is not None and worse.failure is not None
    again = parse(good.replace("return x\n\n\n", "return (x)\n\n\n"), worse)
    assert again.failure is None
    assert [a.id == b.id for a, b in zip(first.chunks, again.chunks, strict=True)] == [True, False, True]
    assert [a.id == b.id for a, b in zip(first.chunks, parse(good, worse).chunks, strict=True)] == [True] * 3


def test_strings_and_comments_lead_nowhere() -> None:
    parsed = parse(
        "class Layer: pass\nclass Block: pass\n\n"
        'class Base:\n    """Layer"""\n    names = ["Layer"]  # Layer\n    def f(self, x: "Block"): pass\n'
    )
    layer, block, base = (chunk.id for chunk in parsed.chunks)
    found = Closures(Module("m.py", parsed, "m", False)).of(base)
    assert found == {block, base} and layer not in found


def test_a_check_that_nobody_wants_any_more_ends_before_the_next_entry() -> None:
    net = "\n\nclass Net{}(nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n"
    text = "from torch import nn\n" + "".join(net.format(number) for number in range(4))
    asked: list[int] = []

    def wanted() -> bool:
        asked.append(1)
        return len(asked) < 3

    with pytest.raises(Superseded):
        check(text, wanted=wanted)
    assert len(asked) == 3
    first = check(text, wanted=lambda: True)
    assert len(first.findings) == 4
    assert check("# note\n" + text, previous=first, wanted=lambda: False).findings  # nothing is analysed again


def test_entries_of_other_files_go_on_counting(tmp_path: Path) -> None:
    """They are not analysed again where an edit does not concern them, and what they reach is still found."""
    (tmp_path / "helpers.py").write_text(
        "import torch\n\n\ndef gate(x):\n    return x if x.sum() > 0 else -x\n\n\ndef other(y):\n    return y\n"
    )
    (tmp_path / "model.py").write_text(
        "from torch import nn\nfrom helpers import gate\n\n\nclass Model(nn.Module):\n"
        "    def forward(self, x):\n        return gate(x)\n"
    )
    path = str(tmp_path / "helpers.py")
    text = (tmp_path / "helpers.py").read_text()
    overlay = {path: text}
    program = DiskProgram([str(tmp_path)], overlay=overlay).for_file(path)
    before = check(text, path, program=program)
    assert [f.code for f in before.findings] == ["GM101"]
    for edited in ("return y + 1", "return y + 2", "return -y"):
        overlay[path] = text.replace("return y", edited)
        after = check(overlay[path], path, program=program, previous=before)
        assert shown(after) == shown(check(overlay[path], path, program=program))
        before = after
