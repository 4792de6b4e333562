"""Several processes on one cache and one workspace, while somebody ruins, removes and replaces the cache."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.robust import abuse, disk

REPOSITORY = Path(__file__).parents[3]
HELPER = """\
def gate{0}(x):
    print(x)
    return x
"""
MODEL = """\
import torch
from torch import nn
from pkg{0} import helper


class Net{0}(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return helper.gate{0}(x)
"""


def workspace(folder: Path, count: int) -> int:
    """Make models with helpers in other files, enough of them for several processes; how many findings there are."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    for number in range(count):
        package = folder / f"pkg{number}"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "helper.py").write_text(HELPER.format(number))
        (package / "model.py").write_text(MODEL.format(number) + "#" * 8000 + "\n")
    return 2 * count


class Check:
    """``graphmend check``, or another command, in a process of its own; ``before`` is a command that starts it."""

    def __init__(
        self, tree: Path, cache: Path, *options: str, before: Sequence[str] = (), command: str = "check"
    ) -> None:
        if command == "check":
            options = ("--output-format", "concise", "-j", "2", *options)
        here = {**os.environ, "PYTHONPATH": str(REPOSITORY), "GRAPHMEND_CACHE_DIR": str(cache)}
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "graphmend_lsp", command, *options],
            cwd=tree,
            env=here,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def kill(self) -> None:
        """End it and its processes, wherever they are."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def findings(self, seconds: float = 120) -> list[str]:
        """What was found, a line each."""
        out, err = self.process.communicate(timeout=seconds)
        assert (self.process.returncode, err) == (1, ""), (self.process.returncode, out, err)
        return out.splitlines()[:-1]


class Ruiner:
    """Does to a cache, in a thread, one thing after the other; ``done`` counts them."""

    def __init__(self, cache: Path, seed: int, pause: float = 0.03) -> None:
        self.done = 0
        self._cache = cache
        self._random = random.Random(seed)
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Ruiner:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._pause * self._random.random()):
            with suppress(OSError, ValueError, sqlite3.Error):  # it goes under its hands
                self._random.choice(self._deeds())()
                self.done += 1

    def _deeds(self) -> list[Callable[[], object]]:
        cache = self._cache
        deeds: list[Callable[[], object]] = [lambda: disk.remove(cache), self._replace, self._halve]
        ruins = [ruin for name, ruin in disk.RUINS.items() if name != "a pipe"]
        for path in disk.files_of(cache) if cache.is_dir() else []:
            deeds += [lambda path=path, ruin=self._random.choice(ruins): ruin(path)]
        return deeds

    def _replace(self) -> None:
        """A file where the folder was, for a while."""
        disk.remove(self._cache)
        self._cache.write_text("no folder")
        time.sleep(self._pause)
        disk.remove(self._cache)

    def _halve(self) -> None:
        """Of every folder in it every other file goes."""
        for path in disk.files_of(self._cache)[::2]:
            path.unlink()


def edits(wire: Any, tree: Path, number: int, round_: int) -> Iterator[str]:
    """Open, type, ask, save and close one model; what is not as it should be."""
    path = tree / f"pkg{number}" / "model.py"
    uri = path.as_uri()
    text = path.read_text()
    wire.open(uri, text)
    found = wire.diagnostics(uri, 1)
    if [d["code"] for d in found] != ["GM101"]:
        yield f"{path.name} of pkg{number}, round {round_}: {[d['code'] for d in found]}"
    wire.change(uri, 2, {"text": text + "\n# typed\n"})
    hover = wire.hover(uri, 7, 12)
    if hover is None or "GM101" not in str(hover["contents"]):
        yield f"hover of pkg{number}, round {round_}: {hover}"
    if not any("kind" in action for action in wire.actions(uri, 7, 12)):
        yield f"no action in pkg{number}, round {round_}"
    wire.change(uri, 3, {"text": text})
    wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    wire.close(uri)
    helper = tree / f"pkg{number}" / "helper.py"
    wire.open(helper.as_uri(), helper.read_text())
    codes = [d["code"] for d in wire.diagnostics(helper.as_uri(), 1)]
    if codes != ["GM201"]:
        yield f"helper of pkg{number}, round {round_}: {codes}"
    wire.close(helper.as_uri())


def said(wire: Any) -> Iterator[str]:
    """All that a user was told, by messages or on standard error, where there is nothing to tell."""
    yield from abuse.alarms(wire)
    for name in ("window/showMessage", "window/logMessage"):
        yield from (f"{name}: {params['message']}" for params in wire.seen(name) if params["type"] < 3)


def together(servers: list[Any], tree: Path, cache: Path, *, rounds: int, expected: list[str], seed: int) -> list[str]:
    """Servers, and two checks at a time, on one cache; every third check is killed on its way."""
    wrong: list[str] = []
    count = len(list(tree.glob("pkg*")))
    for round_ in range(rounds):
        running = [Check(tree, cache), Check(tree, cache)]
        doomed = Check(tree, cache)
        for wire in servers:
            wrong += edits(wire, tree, (round_ + seed) % count, round_)
        time.sleep(0.2 * (round_ % 4))
        doomed.kill()
        for check in running:
            try:
                found = check.findings()
            except (AssertionError, ValueError) as error:
                wrong.append(f"a check, round {round_}: {error}")
                continue
            if found != expected:
                wrong.append(f"a check, round {round_}: {len(found)} findings")
    for wire in servers:
        wrong += said(wire)
    return wrong


def afterwards(tree: Path, cache: Path, expected: list[str]) -> Iterator[str]:
    """Whether the cache is whole and of use: filled by one check, it answers the next one alone."""
    for which in ("after it", "again"):
        found = Check(tree, cache).findings()
        if found != expected:
            yield f"a check {which}: {len(found)} findings"
    before = {path: path.stat().st_mtime_ns for path in disk.files_of(cache)}
    Check(tree, cache).findings()
    after = {path: path.stat().st_mtime_ns for path in disk.files_of(cache)}
    if before != after:
        yield "what is known is written again"
    shutil.rmtree(cache)
