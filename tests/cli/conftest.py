"""The command line as a user runs it: another process, real files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODEL = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("step")
        return y * 2
"""

CLEAN = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2
"""


class Result:
    """What a command left behind."""

    def __init__(self, code: int, raw: bytes, err: str) -> None:
        self.code = code
        self.raw = raw
        self.out = raw.decode("utf-8", "replace").replace("\r\n", "\n")
        self.err = err


class Run(Protocol):
    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Result: ...


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``python -m graphmend_lsp ...`` in ``tmp_path``."""

    def run(*arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        unset = ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environment}
        done = subprocess.run(
            [sys.executable, "-m", "graphmend_lsp", *arguments], cwd=tmp_path, input=stdin, capture_output=True, env=env
        )
        return Result(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").replace("\r\n", "\n"))

    return run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file with one finding."""
    path = tmp_path / "model.py"
    path.write_bytes(MODEL.encode())
    return path
