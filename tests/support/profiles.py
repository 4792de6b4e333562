"""Reports as the profiler makes them, by hand: tests of what is written need no torch."""

from __future__ import annotations

from dataclasses import replace

from graphmend_lsp.finding import Applied
from graphmend_lsp.profile.report import (
    Arm,
    Confirmed,
    Failure,
    Graph,
    Launches,
    Recompile,
    Report,
    Site,
    Timing,
)

PATH = "/project/net.py"
HELPERS = "/project/lib/helpers.py"

NET = '''"""A small network that breaks three times."""

import torch
from torch import nn

from lib.helpers import scaled


class Head(nn.Module):
    """Never called with these inputs."""

    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 16)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        h = self.fc(x)
        if h.abs().max() > 10:
            h = h.clamp(-10, 10)
        print("after the first layer", h.mean())
        h = torch.relu(h)
        h = scaled(h)
        return self.out(h)
'''
LIBRARY = """import torch


def scaled(x):
    y = x / x.norm()
    n = int(y.sum().item())
    return y * n
"""
TEXTS = {PATH: NET, HELPERS: LIBRARY}

BRANCH = Site(PATH, 26, "Data-dependent branching", "GB0170", 1, "Net.forward")
PRINT = Site(PATH, 28, "Failed to trace builtin operator `print`", "GB0059", 1, "Net.forward")
ITEM = Site(HELPERS, 6, "Unsupported Tensor.item() call with capture_scalar_outputs=False", "GB0124", 2, "scaled")

ORIGINAL = Arm(
    graphs=(
        Graph(4, {PATH: (25, 26)}),
        Graph(2, {PATH: (27, 28)}),
        Graph(5, {PATH: (29, 30), HELPERS: (5, 6)}),
        Graph(3, {PATH: (30, 31), HELPERS: (7,)}),
    ),
    events=4,
    sites=(BRANCH, PRINT, ITEM),
    recompiles=(Recompile("scaled", HELPERS, 4, "n == 3  # return y * n"),),
    skipped=1,
    guards=41,
    eager=Timing(1.52e-3, 1.49e-3, 1.58e-3, 200),
    compiled=Timing(1.31e-3, 1.27e-3, 1.36e-3, 200),
    cold=2.134,
    to_steady=2.61,
    peak_memory=37_800_000,
    launches=Launches(14, 0),
)
MENDED = replace(
    ORIGINAL,
    graphs=(Graph(11, {PATH: (25, 26, 27, 28, 29, 30), HELPERS: (5, 6)}), Graph(3, {PATH: (30, 31), HELPERS: (7,)})),
    events=1,
    sites=(replace(ITEM, events=1),),
    recompiles=(),
    skipped=0,
    guards=19,
    compiled=Timing(1.284e-3, 1.25e-3, 1.33e-3, 200),
    cold=0.6467,
    to_steady=0.88,
    peak_memory=36_100_000,
    launches=Launches(9, 0),
)
APPLIED = (
    Applied(PATH, 26, "GM101", "Compute both sides and select with torch.where", "safe"),
    Applied(PATH, 28, "GM201", "Print after the graph", "unsafe", "the output appears when forward returns"),
)
FINDINGS = (
    Confirmed(PATH, 26, "GM101", "confirmed"),
    Confirmed(PATH, 28, "GM201", "confirmed"),
    Confirmed(PATH, 13, "GM101", "not-reached"),
)

FULL = Report(
    path=PATH,
    entry="Net",
    device="cuda",
    device_name="NVIDIA H200",
    torch="2.13.0+cu130",
    python="3.11.9",
    backend="inductor",
    inputs="example_inputs() in net.py",
    training=False,
    original=ORIGINAL,
    mended=MENDED,
    applied=APPLIED,
    left=1,
    findings=FINDINGS,
    same_inputs=True,
    same_result=True,
    notes=("The CUDA graphs of mode reduce-overhead were off.",),
    seconds=14.26,
    digest="c0ffee",
    when="2026-11-30T19:00:00+00:00",
)
ALONE = replace(FULL, mended=None, applied=(), left=3, same_inputs=None, same_result=None)
ON_CPU = replace(FULL, device="cpu", device_name="AMD EPYC 9654", torch="2.13.0+cpu")


def untimed(arm: Arm, why: str = "") -> Arm:
    """An arm of which only graphs were counted."""
    return replace(
        arm, eager=None, compiled=None, cold=None, to_steady=None, peak_memory=None, launches=None, untimed=why
    )


COUNTED = replace(FULL, device="cpu", device_name="", original=untimed(ORIGINAL), mended=untimed(MENDED), backend="")
FAILED = Report(
    path=PATH,
    entry="Net",
    failure=Failure("inputs", "No inputs are known for Net: there is no example_inputs() in net.py"),
    python="3.11.9",
    when="2026-11-30T19:00:00+00:00",
)
REPORTS = {"full": FULL, "alone": ALONE, "cpu": ON_CPU, "counted": COUNTED, "failed": FAILED}
