"""``graphmend check --watch``."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import CLEAN, MODEL, ROOT, Run

HELPER = """\
def number(x):
    return {}
"""
USER = """\
import torch

from pkg.helper import number


@torch.compile
def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if number(x) else x
"""


class Watched:
    """A watch that runs in ``tmp_path``; ``lines`` are what it wrote since the last look."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHMEND_CACHE_DIR": str(folder.parent / "cache")}
        command = [sys.executable, "-m", "graphmend_lsp", "check", "--watch", "--format", "concise", *arguments]
        flags = subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0
        self.run = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            creationflags=flags,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.run.stdout is not None
        for line in self.run.stdout:
            self._lines.put(line.rstrip("\n"))

    def round(self) -> list[str]:
        """What the next check says."""
        found: list[str] = []
        while True:
            line = self._lines.get(timeout=60)
            if line.endswith("Watching for changes; Ctrl-C ends it."):
                return found
            found.append(line)

    def quiet(self, seconds: float) -> bool:
        """Whether nothing is said for so long."""
        time.sleep(seconds)
        return self._lines.empty()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    started: list[Watched] = []

    def watch(*arguments: str) -> Watched:
        started.append(Watched(tmp_path / "here", *arguments))
        return started[-1]

    (tmp_path / "here").mkdir()
    yield watch
    for each in started:
        each.run.kill()
        each.run.wait()


def test_changes_are_followed(watch: Callable[..., Watched], tmp_path: Path) -> None:
    model = tmp_path / "here" / "model.py"
    model.write_text(CLEAN)
    watched = watch()
    assert watched.round() == ["No findings in 1 file."]
    model.write_text(MODEL)
    first, last = watched.round()
    assert first.startswith("model.py:7:9: GM201") and last == "Found 1 finding (1 safe fix) in 1 file."
    model.write_text("def f(:\n")
    assert watched.round()[0].startswith("error: model.py:1: ")
    (model.parent / "more.py").write_text(CLEAN)
    model.unlink()
    assert watched.round() == ["No findings in 1 file."]
    (model.parent / "pyproject.toml").write_text("[tool.graphmend]\nexclude = ['more.py']\n")
    assert watched.round() == ["Nothing was checked."]
    assert watched.quiet(1.5)
    assert watched.run.poll() is None


def test_other_files_of_the_project_count(watch: Callable[..., Watched], tmp_path: Path) -> None:
    package = tmp_path / "here" / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text(HELPER.format("x.shape[0]"))
    (package / "user.py").write_text(USER)
    (package.parent / "pyproject.toml").write_text("")
    watched = watch("pkg/user.py")
    assert watched.round() == ["No findings in 1 file."]
    (package / "helper.py").write_text(HELPER.format("x.sum()"))
    assert watched.round()[0].startswith(f"pkg{os.sep}user.py:8:")
    (package / "user.py").unlink()
    assert watched.round()[0] == f"error: pkg{os.sep}user.py: no such file or directory"
    (package / "user.py").write_text(USER)
    assert watched.round()[0].startswith(f"pkg{os.sep}user.py:8:")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
def test_an_interrupt_ends_it(watch: Callable[..., Watched], tmp_path: Path) -> None:
    (tmp_path / "here" / "model.py").write_text(CLEAN)
    watched = watch()
    watched.round()
    watched.run.send_signal(signal.SIGINT)
    assert watched.run.wait(timeout=60) == 130
    assert watched.quiet(0.2)


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made")
def test_the_screen_is_cleared_on_a_terminal_only(tmp_path: Path) -> None:
    import pty

    (tmp_path / "model.py").write_text(CLEAN)
    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--watch"]
    run = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=theirs, stderr=theirs)
    try:
        seen = b""
        while b"Watching" not in seen:
            seen += os.read(ours, 4096)
        assert seen.startswith(b"\x1b[2J\x1b[3J\x1b[H") and b"No findings in 1 file." in seen
    finally:
        run.kill()
        run.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    "arguments",
    [("--format", "json"), ("-o", "out.txt"), ("--baseline", "b.json", "--write-baseline"), ("-",)],
)
def test_what_cannot_be_watched(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("check", "--watch", *arguments)
    assert result.code == 2 and "error: --watch" in result.err
