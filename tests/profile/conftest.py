"""``graphmend profile`` as a user runs it: real processes, real torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return self.lin(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        print("mean", x.mean())
        return self.block(x)
"""
INPUTS = "\n\ndef example_inputs():\n    return (torch.randn(3, 4),)\n"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def report(self) -> Any:
        return json.loads(self.out)

    @property
    def failure(self) -> Any:
        return self.report["failure"]


Profile = Callable[..., Ran]


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """Run ``graphmend profile`` in ``tmp_path``: as JSON, without times and on the CPU unless told otherwise."""

    def run(
        *arguments: str,
        timing: bool = False,
        text: bool = False,
        python: str = sys.executable,
        device: str = "cpu",
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        command = [sys.executable, "-m", "graphmend_lsp", "profile", *arguments, "--python", python]
        command += [] if timing else ["--no-timing"]
        command += [] if text else ["--json"]
        command += ["--device", device] if device else []
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env={**os.environ, **(env or {})}
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL + INPUTS)
    return path
