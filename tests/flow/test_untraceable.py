"""The table of calls that are not traced: what it says of the installed torch, and of releases between the measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.flow.untraceable import names, untraceable
from graphmend_lsp.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


def test_the_installed_torch_breaks_as_the_table_says() -> None:
    """A part of it, a child process for each call; ``tools/measure_untraceable_calls.py --check`` takes all."""
    part = sorted(names())[::6]
    assert len(part) > 50
    only = [f"--only={name}" for name in part]
    command = [sys.executable, "tools/measure_untraceable_calls.py", "--check", *only]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == f"{len(part)} calls as in the file\n"


@pytest.mark.parametrize(
    ("release", "breaks"),
    [((2, 4), True), ((2, 8), True), ((2, 9), True), ((2, 12), True), ((2, 13), False), ((2, 20), False)],
)
def test_a_release_between_is_as_the_one_before_it(release: tuple[int, int], breaks: bool) -> None:
    assert (untraceable("copy.deepcopy", release) is not None) is breaks


def test_a_release_older_than_all_is_as_the_oldest() -> None:
    assert untraceable("re.match", (2, 1)) is not None


def test_what_was_not_measured_is_not_known_to_break() -> None:
    assert untraceable("some.library.call", (2, 13)) is None


def test_the_release_in_the_settings_decides() -> None:
    text = "import copy\ndef fn(x, items):\n    return x * len(copy.deepcopy(items))\n"
    found = {
        release: [f.code for f in check(text, settings=Settings(entries=("fn",), torch_version=release)).findings]
        for release in ((2, 8), (2, 13))
    }
    assert found == {(2, 8): ["GM601"], (2, 13): []}


@pytest.mark.parametrize("release", [(2, 11), (2, 12)])
def test_fullgraph_carries_numbers_through_the_graph(release: tuple[int, int]) -> None:
    text = """\
import torch

@torch.compile(fullgraph=True)
def step(x):
    n = x.sum().item()
    y = x[x > 1] * n
    if x.sum() > 2:
        y = y + 1
    return y[: x.argmax()]
"""
    codes = [f.code for f in check(text, settings=Settings(torch_version=release)).findings]
    assert codes == (["GM101"] if release == (2, 12) else ["GM401", "GM501", "GM101", "GM402"])


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("", ["GM401", "GM501"]),
        ("torch._dynamo.config.capture_scalar_outputs = True", ["GM501"]),
        ("torch._dynamo.config.capture_dynamic_output_shape_ops = True", ["GM401"]),
        ("torch._dynamo.config.capture_scalar_outputs = False", ["GM401", "GM501"]),
    ],
)
def test_the_configuration_does_so_too(line: str, codes: list[str]) -> None:
    text = f"import torch\n{line}\n\ndef fn(x):\n    return x.nonzero() * x.sum().item()\n"
    found = check(text, settings=Settings(entries=("fn",))).findings
    assert sorted(f.code for f in found) == codes


def test_a_deliberate_break_is_information_unless_compiling_fails() -> None:
    text = """\
import torch

@torch.compiler.disable
def outside(x):
    return x

@torch.compile
def one(x):
    return outside(x)

@torch.compile(fullgraph=True)
def other(x):
    torch._dynamo.graph_break()
    return x
"""
    found = check(text).findings
    assert [(f.code, f.severity) for f in found] == [("GM602", "information"), ("GM602", "error")]
    assert [[r.reason for r in f.refusals] for f in found] == [["deliberate"], ["deliberate"]]
