"""Only plain files are read, and none that would fill the memory."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from graphmend_lsp.project import files, plain
from graphmend_lsp.project.config import load_for
from tests.support.robust import disk

posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes as in POSIX")


def test_a_file_and_how_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\n\x1a")
    found, data = plain.read(str(path))
    assert data == b"x = 1\r\n\x1a" and (found.st_size, found.st_mtime_ns) == (8, path.stat().st_mtime_ns)
    assert plain.read(str(path), 8)[1] == data


def test_more_than_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.touch()
    os.truncate(path, 5_000_000_000)  # of no blocks
    with pytest.raises(files.SourceError, match="too large: 5,000,000,000 bytes, and 20,000,000 are the most"):
        files.read(str(path))
    with pytest.raises(plain.TooLarge):
        plain.read(str(path), 4_999_999_999)


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x" * 10)
    real = os.fstat

    def fstat(handle: int) -> os.stat_result:
        found = real(handle)
        path.write_bytes(b"x" * 1000)
        return found

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(plain.TooLarge):
        plain.read(str(path), 20)


@posix
def test_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    signal.alarm(20)  # which ends the run, where it would never end
    try:
        with pytest.raises(files.SourceError, match=r"^not a plain file$"):
            files.content(str(tmp_path / "a.py"))
        with pytest.raises(files.SourceError, match=r"^not a plain file$"):
            files.content("/dev/zero")
        with pytest.raises(files.SourceError, match=r"^is a directory$"):
            files.content(str(tmp_path))
    finally:
        signal.alarm(0)


@posix
def test_a_configuration_that_becomes_a_pipe_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.graphmend]\n")
    real = os.open

    def swapped(name: str, *arguments: int, **more: int) -> int:
        if name == str(path):
            disk.RUINS["a pipe"](path)
        return real(name, *arguments, **more)

    monkeypatch.setattr(os, "open", swapped)
    signal.alarm(20)
    try:
        (problem,) = load_for(str(tmp_path)).problems
    finally:
        signal.alarm(0)
    assert problem.message == "not a plain file"
