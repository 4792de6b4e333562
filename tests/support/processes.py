"""Processes that tests have made others start: which there are, and when they have ended.  Needs ``/proc``."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path


def noting(folder: Path, text: str) -> str:
    """A module's text, so that each process that imports it notes its number in a folder."""
    return f"import os\nopen({str(folder / 'pids')!r}, 'a').write(f'{{os.getpid()}} ')\n" + text


def noted(folder: Path, deadline: float) -> list[int]:
    """Wait for the first process that has noted its number; all that have."""
    pids = folder / "pids"
    while not (pids.exists() and pids.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return list(map(int, pids.read_text().split()))


def runs(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_the_end(pids: Iterable[int], deadline: float) -> None:
    for pid in pids:
        while runs(pid):
            assert time.monotonic() < deadline
            time.sleep(0.1)
