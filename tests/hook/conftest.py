"""Programs as a user writes them, run in another process or loaded into this one with the hook installed."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from graphmend_lsp import hook
from graphmend_lsp.hook import depends, indexes, loader, record
from graphmend_lsp.hook.cache import Cache

ROOT = Path(__file__).resolve().parents[2]
_UNSET = ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONDONTWRITEBYTECODE", "GRAPHMEND_HOOK")

NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("step")
        return y * 2
"""


class Result:
    """What a program left behind."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
        self.err = done.stderr.decode("utf-8", "replace").replace("\r\n", "\n")

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Run(Protocol):
    def __call__(self, *arguments: str, mended: bool = True, cwd: Path | None = None, **environment: str) -> Result: ...


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``graphmend run ...`` in ``tmp_path``, or ``python ...`` where ``mended`` is false."""

    def run(*arguments: str, mended: bool = True, cwd: Path | None = None, **environment: str) -> Result:
        env = {name: value for name, value in os.environ.items() if name not in _UNSET}
        cache = str(tmp_path / "cache")
        env |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "GRAPHMEND_CACHE_DIR": cache, **environment}
        command = [sys.executable, *(("-m", "graphmend_lsp", "run") if mended else ()), *arguments]
        return Result(subprocess.run(command, cwd=cwd or tmp_path, capture_output=True, env=env, timeout=300))

    return run


class Write(Protocol):
    def __call__(self, name: str, text: str) -> Path: ...


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below ``tmp_path``; the indentation that all lines share is taken off."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to import from, with a cache of its own; afterwards the hook is gone and so are the modules."""
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(hook.VARIABLE, raising=False)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    fresh(monkeypatch)
    yield tmp_path
    hook.uninstall()
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process knows of files, as a new process would."""
    importlib.invalidate_caches()
    monkeypatch.setattr(loader, "_cache", Cache())
    monkeypatch.setattr(depends, "_LISTINGS", {})
    monkeypatch.setattr(depends, "_ANSWERED", {})
    monkeypatch.setattr(record, "_SEEN", {})
    monkeypatch.setattr(indexes, "_INDEXES", {})


def is_mended(module: object) -> bool:
    return "graph_effect" in vars(module)
