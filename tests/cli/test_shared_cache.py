"""One cache for several servers and checks at the same time, while it is ruined, removed, replaced or read-only."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.project import store
from tests.server import conftest
from tests.support.processes import wait_for_the_end
from tests.support.robust import disk, shared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, links and users as in POSIX")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shared.workspace(tmp_path / "tree", 12)
    return tmp_path / "tree"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server(tree: Path, cache: Path) -> Iterator[Callable[..., Any]]:
    running: list[Any] = []

    def start(*before: str) -> Any:
        wire = conftest.Wire([*before, sys.executable, "-m", "graphmend_lsp", "server"])
        running.append(wire)
        folders = [{"uri": tree.as_uri(), "name": "tree"}]
        everywhere = {"workspaceDiagnostics": "all"}
        wire.initialize(conftest.EVERYTHING, workspaceFolders=folders, initializationOptions=everywhere)
        return wire

    yield start
    for wire in running:
        wire.request("shutdown")
        wire.notify("exit")
        assert (wire.wait(), wire.errors, wire.stray) == (0, b"", b"")


@pytest.mark.parametrize("ruin", [False, True])
def test_servers_and_checks_together(server: Callable[..., Any], tree: Path, cache: Path, ruin: bool) -> None:
    expected = shared.Check(tree, cache, "--no-cache").findings()
    assert len(expected) == 24
    servers = [server(), server()]
    with shared.Ruiner(cache, 1) if ruin else nullcontext() as ruiner:
        assert shared.together(servers, tree, cache, rounds=3, expected=expected, seed=1) == []
    assert ruiner is None or ruiner.done > 20
    assert list(shared.afterwards(tree, cache, expected)) == []


WRITER = """
import sys
from graphmend_lsp.hook.cache import Blobs
from graphmend_lsp.project import store
from graphmend_lsp.project.summary import Outline, Summary, Unit
units = [(Unit("f", f" {n} " * 200),) for n in range(400)]
outline = Outline("m", (), (), False, True, (), 1, bytes(1))
rows = [(f"/tree/{n}.py", n, n, Summary(outline, made)) for n, made in enumerate(units)]
blobs = Blobs("check")
print(flush=True)
while True:
    store.save(rows, ())
    for number in range(50):
        blobs.save(f"{number:02}", b"%d" % number * 20_000)
"""


def test_killed_while_writing(cache: Path) -> None:
    """What is there is whole, or is not there; and the next one can write."""
    from graphmend_lsp.hook.cache import Blobs

    choice = random.Random(5)
    here = {**os.environ, "PYTHONPATH": str(shared.REPOSITORY)}
    for _ in range(8):
        process = subprocess.Popen([sys.executable, "-c", WRITER], env=here, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(choice.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        rows = store.load("/tree")
        units = store.load_units(rows, rows)
        assert units.keys() == rows.keys()
        assert all(units[path][0].names == f" {row[0]} " * 200 for path, row in rows.items())
        for number in range(50):
            found = Blobs("check").load(f"{number:02}")
            assert found in (None, b"%d" % number * 20_000)
    assert len(rows) == 400
    (path,) = cache.glob("*.sqlite")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    store.save((), [f"/tree/{number}.py" for number in range(399)])
    assert list(store.load("/tree")) == ["/tree/399.py"]


def test_a_word_in_the_database_that_is_another(tree: Path, cache: Path) -> None:
    """The database is whole and what it says is wrong: nothing is lost that only the index knows."""
    expected = shared.Check(tree, cache).findings()
    (path,) = cache.glob("*.sqlite")
    data = path.read_bytes()
    assert data.count(b"gate3") > 1
    path.write_bytes(data.replace(b"gate3", b"gone3"))
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    for blob in cache.rglob("*.bin"):
        blob.unlink()
    assert shared.Check(tree, cache).findings() == expected


@pytest.fixture
def bound() -> list[str]:
    """What starts a command so that modes count, as they do not for root."""
    if os.geteuid() != 0:
        return []
    command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("modes do not count for root, who cannot be bound here")
    return command


def test_a_cache_and_a_workspace_that_are_only_read(
    server: Callable[..., Any], tree: Path, cache: Path, bound: list[str]
) -> None:
    expected = shared.Check(tree, cache).findings()
    kept = {path: path.stat().st_mtime_ns for path in disk.files_of(cache)}
    folders = [path for path in (cache, tree, *cache.rglob("*"), *tree.rglob("*")) if path.is_dir()]
    for path in [*kept, *folders]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for _ in range(2):
            assert shared.Check(tree, cache, before=bound).findings() == expected
        assert kept == {path: path.stat().st_mtime_ns for path in disk.files_of(cache)}
        assert list(shared.edits(server(*bound), tree, 3, 0)) == []
        before = {path: path.read_bytes() for path in tree.rglob("*.py")}
        fix = shared.Check(tree, cache, before=bound, command="fix")
        out, err = fix.process.communicate(timeout=120)
        assert fix.process.returncode == 2 and "internal error" not in out + err
        names = [f"pkg{number}" for number in sorted(range(12), key=str)]
        assert err.splitlines() == [f"error: {n}/_graphmend.py: not written: permission denied" for n in names]
        assert before == {path: path.read_bytes() for path in tree.rglob("*.py")}
    finally:
        for path in folders:
            path.chmod(0o755)


def test_a_cache_that_cannot_be_read(tree: Path, cache: Path, bound: list[str]) -> None:
    expected = shared.Check(tree, cache).findings()
    paths = [*cache.rglob("*"), cache]
    for path in paths:
        path.chmod(0)
    try:
        assert shared.Check(tree, cache, before=bound).findings() == expected
    finally:
        for path in reversed(paths):
            path.chmod(0o755)


def test_files_that_may_not_be_read(tree: Path, cache: Path, bound: list[str]) -> None:
    (tree / "pkg0" / "model.py").chmod(0)
    (tree / "pkg1").chmod(0)
    try:
        check = shared.Check(tree, cache, before=bound)
        out, err = check.process.communicate(timeout=120)
    finally:
        (tree / "pkg1").chmod(0o755)
    assert check.process.returncode == 2
    assert err.splitlines() == [f"error: {name}: permission denied" for name in ("pkg1", "pkg0/model.py")]
    assert len(out.splitlines()) == 20 + 1


def test_nowhere_to_keep_anything(server: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder that nobody can make, for a check and a server."""
    cache = Path(sys.executable) / "cache"
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(cache))
    expected = shared.Check(tree, cache).findings()
    assert len(expected) == 24
    assert shared.together([server()], tree, cache, rounds=1, expected=expected, seed=0) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="looks into /proc")
def test_a_check_that_is_killed_leaves_no_process_behind(tree: Path, cache: Path) -> None:
    check = shared.Check(tree, cache)
    pid, children = check.process.pid, list[int]()
    deadline = time.monotonic() + 30
    while len(children) < 2:
        assert time.monotonic() < deadline and check.process.poll() is None
        children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    check.process.kill()
    check.process.communicate()  # which waits for all that can write to it
    wait_for_the_end(children, time.monotonic() + 20)
