"""A model whose fixes can be verified, and the command on it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
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
        return self.lin(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if x.sum() > 0:
            x = x * 2
        print("mean", x.mean())
        return self.block(x)


def example_inputs():
    return (torch.randn(3, 4),)
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def file(self) -> Any:
        (found,) = json.loads(self.out)["files"]
        return found

    @property
    def entry(self) -> Any:
        (found,) = self.file["entries"]
        return found


Verify = Callable[..., Ran]


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    """Run ``graphmend verify`` in ``tmp_path``, eagerly unless a backend is named; JSON unless ``full``."""

    def run(*arguments: str, backend: str = "none", full: bool = False) -> Ran:
        form = "full" if full else "json"
        command = [sys.executable, "-m", "graphmend_lsp", "verify", "--backend", backend, "--output-format", form]
        command += ["--python", sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path
