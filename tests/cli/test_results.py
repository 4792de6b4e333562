"""Results kept between runs and made in several processes: always those of one process without a cache."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp import check as core
from graphmend_lsp.cli import main, pool, results

from .conftest import CLEAN, MODEL, ROOT, Run

HELPER = """\
import torch


def scaled(x):
    return x * 2
"""
BROKEN_HELPER = """\
import torch


def scaled(x):
    if x.sum() > 0:
        return x * 2
    return x
"""
USER = """\
import torch

from pkg.helper import scaled
from pkg.other import number


@torch.compile
def run(x: torch.Tensor) -> torch.Tensor:
    n = number(x)
    if n:
        return scaled(x)
    return x
"""
NUMBER = "def number(x):\n    return {}\n"
Write = Callable[[str, "str | None"], None]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder; the current folder is ``tmp_path / "here"``."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return tmp_path / "cache" / "check"


@pytest.fixture
def write(cache: Path) -> Write:
    """Write or delete a file; it looks old enough for its time to be relied on, and each time another one."""
    count = 0

    def write(name: str, text: str | None) -> None:
        nonlocal count
        path = Path(name)
        if text is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        count += 1
        os.utime(path, (time.time() - 1000 + count,) * 2)

    return write


class Checks:
    """``main(["check", ...])`` in this process; ``made`` are the files that were really checked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.made: list[str] = []
        self.code = 0
        real = core.check

        def check(text: str, path: str = "", **rest: Any) -> core.Analysis:
            self.made.append(os.path.basename(path))
            return real(text, path, **rest)

        monkeypatch.setattr(core, "check", check)

    def __call__(self, *arguments: str) -> str:
        self.made.clear()
        self._capsys.readouterr()
        self.code = main(["check", *arguments])
        return self._capsys.readouterr().out


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checks:
    return Checks(monkeypatch, capsys)


def test_a_helper_in_another_file_changes_the_finding_of_its_caller(check: Checks, write: Write) -> None:
    write("pkg/__init__.py", "")
    write("pkg/helper.py", HELPER)
    write("pkg/other.py", NUMBER.format("x.shape[0]"))
    write("pkg/user.py", USER)
    assert check("pkg/user.py").startswith("No findings") and check.made == ["user.py"]
    assert check("pkg/user.py").startswith("No findings") and check.made == []
    write("pkg/other.py", NUMBER.format("x.sum()"))
    assert "user.py:10:8" in check("pkg/user.py", "--format", "concise") and check.made == ["user.py"]
    assert "user.py:10:8" in check("pkg/user.py", "--format", "concise") and check.made == []
    write("pkg/other.py", NUMBER.format("x.shape[0]"))
    assert check("pkg/user.py").startswith("No findings")


def test_a_caller_in_another_file_changes_the_finding_of_its_helper(check: Checks, write: Write) -> None:
    write("pkg/__init__.py", "")
    write("pkg/helper.py", BROKEN_HELPER)
    write("pkg/other.py", NUMBER.format("1"))
    assert check("pkg/helper.py").startswith("No findings")
    write("pkg/user.py", USER)
    assert "`run`" in check("pkg/helper.py") or check.code == 1
    assert check.made == ["helper.py"]
    write("pkg/unrelated.py", CLEAN)  # the index is asked again, and says the same
    assert check.code == 1 and check("pkg/helper.py") and check.made == []
    write("pkg/user.py", USER.replace("@torch.compile\n", ""))
    assert check("pkg/helper.py").startswith("No findings")


def test_every_state_of_a_project_gives_what_it_gives_without_the_cache(check: Checks, write: Write) -> None:
    """Each step changes something that findings may depend on; the cache has seen all states before it."""
    write("pkg/__init__.py", "")
    write("pkg/helper.py", BROKEN_HELPER)
    write("pkg/other.py", NUMBER.format("x.sum()"))
    write("pkg/user.py", USER)
    write("script.py", "import torch\nfrom pkg.user import run\n\nprint(run(torch.ones(3)))\n")
    steps: list[list[tuple[str, str | None]]] = [
        [],
        [("pkg/helper.py", HELPER)],
        [("pkg/other.py", NUMBER.format("x.ndim"))],
        [("pkg/helper.py", None)],
        [("pkg/helper.py", BROKEN_HELPER)],
        [("pyproject.toml", "[tool.graphmend]\nexclude = ['pkg/user.py']\n")],
        [("pyproject.toml", "[tool.graphmend]\nentries = ['scaled']\n")],
        [("pyproject.toml", "[tool.graphmend.severity]\nGM1 = 'error'\n")],
        [("pyproject.toml", "[tool.graphmend]\nruntime = 'package'\n")],
        [("pyproject.toml", None)],
        [("pkg/__init__.py", None)],
        [("pkg/__init__.py", "")],
        [("pkg/nested/pyproject.toml", "[tool.graphmend]\nexclude = ['*']\n"), ("pkg/nested/far.py", USER)],
        [("pkg/nested/pyproject.toml", None)],
        [("pkg/_graphmend.py", "# mine\n")],
        [("pkg/model.py", MODEL), ("pkg/_graphmend.py", None)],
        [("user.py", USER.replace("pkg.helper", "helper")), ("helper.py", BROKEN_HELPER)],
        [("pkg/user.py", "def f(:\n")],
        [("pkg/user.py", USER), ("user.py", None)],
        [("setup.py", "")],
    ]
    seen: set[str] = set()
    for number, step in enumerate([*steps, *steps[1:3]]):
        for name, text in step:
            write(name, text)
        kept = check("--format", "json")
        again = check("--format", "json")
        assert check.made == [], number
        fresh = check("--format", "json", "--no-cache")
        assert check.made
        assert json.loads(kept) == json.loads(again) == json.loads(fresh), number
        seen.add(fresh)
    assert len(seen) > 10


def test_what_is_as_it_was_is_not_written_again(check: Checks, write: Write, cache: Path) -> None:
    write("pkg/__init__.py", "")
    write("pkg/helper.py", HELPER)
    write("pkg/other.py", NUMBER.format("x.shape[0]"))
    write("pkg/user.py", USER)
    write("pkg/more.py", USER)
    check()

    def written() -> dict[Path, int]:
        return {path: path.stat().st_ino for path in cache.rglob("*.bin")}

    before = written()
    assert len(before) == 5
    check()
    assert written() == before
    os.utime("pkg/helper.py", (time.time() - 500,) * 2)  # the same text with another time: looked at once more only
    check()
    assert check.made == [] and written() != before
    before = written()
    check()
    assert written() == before


def test_a_package_that_is_installed_later(
    check: Checks, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (site / "torch-2.13.0.dist-info").mkdir(parents=True)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    write(
        "net.py",
        """\
import torch


@torch.compile
def run(x: torch.Tensor) -> torch.Tensor:
    try:
        import flash_thing
    except ImportError:
        flash_thing = None
    return x * 2
""",
    )
    first = check("--format", "json")
    (site / "flash_thing").mkdir()
    assert check("--format", "json") == check("--format", "json", "--no-cache") != first


def test_settings_and_folders_are_part_of_the_name(
    check: Checks, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("model.py", MODEL)
    variants = [(), ("--select", "GM1"), ("--ignore", "GM2"), ("--entry", "Model"), ("--torch-version", "2.4")]
    for variant in variants:
        check("model.py", *variant)
        assert check.made == ["model.py"]
    for variant in variants:
        check("model.py", *variant)
        assert check.made == []
    check("model.py", "--format", "json")
    assert check.made == ["model.py"]  # now with edits
    check("model.py", "--format", "github")
    assert check.made == []


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "swapped", "folder"])
def test_a_damaged_cache(check: Checks, write: Write, cache: Path, damage: str) -> None:
    write("a.py", MODEL)
    write("b.py", CLEAN)
    right = check("--format", "json")
    entries = sorted(cache.rglob("*.bin"))
    assert len(entries) == 2
    blobs = [path.read_bytes() for path in entries]
    for path, blob, other in zip(entries, blobs, blobs[::-1], strict=True):
        if damage == "folder":
            path.unlink()
            path.mkdir()
        else:
            content = {"cut": blob[:-9], "noise": os.urandom(len(blob)), "empty": b"", "swapped": other}[damage]
            path.write_bytes(content)
    assert check("--format", "json") == right and check.made == ["a.py", "b.py"]


def test_what_is_read_is_nothing_but_findings(check: Checks, write: Write, cache: Path) -> None:
    """An entry with another class in it is not made, though its hash is right."""
    import marshal
    import pickle

    from graphmend_lsp.hook.cache import digest

    write("a.py", MODEL)
    right = check("--format", "json")
    (path,) = cache.rglob("*.bin")
    rows, _ = marshal.loads(path.read_bytes()[20:])
    bad = marshal.dumps((rows, pickle.dumps(Path("x"))))
    path.write_bytes(digest(bad) + bad)
    assert check("--format", "json") == right and check.made == ["a.py"]


def test_a_cache_that_cannot_be_written(
    check: Checks, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "file" / "cache"))
    write("a.py", MODEL)
    first = check("--format", "concise")
    assert check.code == 1 and check("--format", "concise") == first


def test_no_cache_writes_nothing(check: Checks, write: Write, tmp_path: Path) -> None:
    write("a.py", MODEL)
    write("b.py", CLEAN)
    check("--no-cache")
    assert not (tmp_path / "cache").exists()


def test_an_error_of_ours_is_not_kept(
    check: Checks, write: Write, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> object:
        raise KeyError("oops")

    write("a.py", MODEL)
    with monkeypatch.context() as patch:
        patch.setattr(core, "check", fail)
        check()
        assert check.code == 2 and not list(cache.rglob("*.bin"))
    check()
    assert check.code == 1


def test_notebooks_are_kept_too(check: Checks, write: Write) -> None:
    from .test_notebooks import BODY
    from .test_notebooks import write as notebook

    notebook(Path("nb.ipynb"), "import torch", BODY)
    for form in ("full", "json", "sarif", "github"):
        first = check("--format", form)
        assert check("--format", form) == first and "cell" in first
        assert check.made == []


# -- several processes -----------------------------------------------------------------------------


@pytest.fixture
def many(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty files, and no file too small to be worth a process."""
    monkeypatch.setattr(results, "_WORTH", 0)
    for number in range(30):
        write(f"f{number:02}.py", MODEL if number % 3 else CLEAN)


def test_the_order_is_that_of_one_process(many: None, check: Checks) -> None:
    one = check("--no-cache", "--jobs", "1", "--format", "json")
    assert len(check.made) == 30
    assert check("--no-cache", "--jobs", "4", "--format", "json") == one
    assert check.made == []  # not in this process
    assert check("--jobs", "3", "--format", "json") == one
    assert check("--jobs", "3", "--format", "json") == one


def test_processes_that_are_not_forked(many: None, check: Checks, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS and Windows."""
    one = check("--no-cache", "--jobs", "1", "--format", "json")
    monkeypatch.setattr(pool, "_context", lambda: multiprocessing.get_context("spawn"))
    assert check("--no-cache", "--jobs", "2", "--format", "json") == one
    assert check("--jobs", "2", "--format", "json") == one and check.made == []
    assert check("--format", "json") == one and check.made == []


@pytest.mark.skipif(sys.platform != "linux", reason="the broken check has to be inherited")
def test_a_file_that_ends_its_process_costs_itself_only(
    many: None, check: Checks, write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = check("--no-cache", "--jobs", "2", "--format", "concise").splitlines()
    real = core.check

    def fatal(text: str, path: str = "", **rest: Any) -> core.Analysis:
        if path.endswith(("f07.py", "f11.py")):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(text, path, **rest)

    monkeypatch.setattr(core, "check", fatal)
    assert main(["check", "--no-cache", "--jobs", "2", "--format", "concise"]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[:-1] == [row for row in whole[:-1] if not row.startswith(("f07", "f11"))]
    assert err.splitlines() == [
        f"error: {name}: internal error: the process that checked it ended (signal 9); please report"
        for name in ("f07.py", "f11.py")
    ]


def test_two_runs_on_one_cache(many: None, check: Checks) -> None:
    right = check("--no-cache", "--jobs", "1", "--format", "json")
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--jobs", "2", "--format", "json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=env) for _ in range(2)]
    assert [json.loads(each.communicate()[0]) for each in runs] == [json.loads(right)] * 2
    assert check("--format", "json") == right and check.made == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_an_interrupt_ends_all_processes(write: Write, tmp_path: Path) -> None:
    body = "".join(f"        if x.sum() > {n}:\n            x = x * {n}\n" for n in range(400))
    for number in range(8):
        write(f"f{number}.py", MODEL.replace('        print("step")\n', body))
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--jobs", "2", "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True, start_new_session=True
    )
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    end = time.monotonic() + 60
    pids: list[str] = []
    while time.monotonic() < end and run.poll() is None and len(pids) < 2:
        pids = children.read_text().split() if children.exists() else pids
        time.sleep(0.01)
    assert run.poll() is None, run.communicate()
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, "")
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_wrong_numbers_of_processes(run: Run, model: Path) -> None:
    for wrong in ("0", "-1", "many"):
        result = run("check", "--jobs", wrong)
        assert result.code == 2 and "not a number of processes" in result.err
