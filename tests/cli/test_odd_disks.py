"""The command goes on where the disk is not as it should be: odd trees, ruined caches, files that change or go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphmend_lsp.cli import work
from graphmend_lsp.cli.main import main
from graphmend_lsp.cli.results import Results, forget
from graphmend_lsp.hook import indexes
from graphmend_lsp.project import store
from tests.support.robust import disk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and links as in POSIX")
SECONDS = 60
REPOSITORY = Path(__file__).parents[2]


@contextmanager
def in_time() -> Iterator[None]:
    """Fail instead of waiting for a pipe for ever."""

    def stop(*_: object) -> None:
        raise BaseException("it hangs")  # not to be taken for an error of one rule

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


FORMATS = ("concise", "json", "sarif", "github", "gitlab")


def test_odd_trees(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = disk.odd_tree(tree)
    for form in FORMATS:
        with in_time():
            assert main(["check", "--output-format", form]) == 2  # binary.py is not text
        out, err = capsys.readouterr()
        assert "internal error" not in out + err and "Traceback" not in err
        if form == "json":
            found = json.loads(out)["findings"]
            assert len(found) == expected and {f["code"] for f in found} == {"GM101", "GM201"}
    with in_time():
        assert main(["fix", "--diff"]) == 2
    assert "internal error" not in "".join(capsys.readouterr())
    (tree / "binary.py").unlink()
    with in_time():
        main(["check", "--baseline", "known.json", "--write-baseline"])
        capsys.readouterr()
        assert main(["check", "--baseline", "known.json"]) == 0
    assert "4 findings in the baseline" in "".join(capsys.readouterr())


@pytest.mark.parametrize("ruin", disk.RUINS)
def test_ruined_caches(tree: Path, cache: Path, capsys: pytest.CaptureFixture[str], ruin: str) -> None:
    """What is found is the same, and the cache is of use again afterwards, if it can be written."""
    disk.odd_tree(tree)
    (tree / "binary.py").unlink()
    assert main(["check", "--output-format", "concise"]) == 1
    out, _ = capsys.readouterr()
    kept = disk.files_of(cache)
    assert {path.suffix for path in kept} == {".sqlite", ".bin"}
    for path in kept:
        disk.RUINS[ruin](path)
    for _ in range(2):
        indexes._INDEXES.clear()  # as if it were another process
        with in_time():
            assert main(["check", "--output-format", "concise"]) == 1
        again, err = capsys.readouterr()
        assert again == out and "error" not in err
    if ruin != "a folder":
        assert {path.suffix for path in disk.files_of(cache)} == {".sqlite", ".bin"}
        assert set(store.load(str(tree))) >= {str(tree / "model.py"), str(tree / "pkg" / "inner.py")}
        forget()
        assert all(Results().known(job) is not None for job in work.plan(["."], None, _none()).jobs)


def _none():  # type: ignore[no-untyped-def]
    from graphmend_lsp.cli.options import Overrides

    return Overrides()


def test_a_cache_that_is_no_folder(tree: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "model.py").write_text(disk.MODEL)
    cache.write_text("")
    assert main(["check", "--output-format", "concise"]) == 1
    assert "error" not in capsys.readouterr().err


def test_files_that_change_or_go(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tree / name).write_text(disk.MODEL + disk.INNER)
    real = work.plan

    def plan(*arguments, **more):  # type: ignore[no-untyped-def]
        made = real(*arguments, **more)
        (tree / "a.py").unlink()
        (tree / "b.py").write_text("import torch\n")
        return made

    monkeypatch.setattr(work, "plan", plan)
    assert main(["check", "--output-format", "concise"]) == 2
    out, err = capsys.readouterr()
    assert "c.py:9:" in out and "b.py" not in out
    assert err.strip() == "error: a.py: no such file or directory"


def test_a_file_that_is_edited_while_it_is_mended(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tree / "a.py"
    path.write_text(disk.MODEL.replace("        return", "        print(x)\n        return"))
    real = work.fix_file

    def fix_file(job):  # type: ignore[no-untyped-def]
        made = real(job)
        path.write_text("typed = 1\n")
        return made

    monkeypatch.setattr(work, "fix_file", fix_file)
    assert main(["fix"]) == 2
    assert "the file has changed since it was read" in capsys.readouterr().err
    assert path.read_text() == "typed = 1\n"


def test_a_current_folder_that_is_gone(tree: Path) -> None:
    gone = tree / "gone"
    gone.mkdir()
    code = (
        f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); sys.path.insert(0, {str(REPOSITORY)!r}); "
    )
    code += "from graphmend_lsp.cli.main import main; sys.exit(main(['check']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "error: the current folder: no such file or directory"


def test_two_at_once_on_one_cache(tree: Path, cache: Path) -> None:
    """Processes that start together, each of which writes all of the cache, over what a third one ruins meanwhile."""
    for number in range(12):
        (tree / f"m{number}.py").write_text(disk.MODEL.replace("Net", f"Net{number}") + disk.INNER)
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--output-format", "concise"]
    here = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    outputs = []
    for _ in range(2):
        running = [subprocess.Popen(command, cwd=tree, env=here, stdout=-1, stderr=-1, text=True) for _ in range(3)]
        outputs += [(*process.communicate(timeout=SECONDS), process.returncode) for process in running]
        for path in disk.files_of(cache)[::3]:
            disk.RUINS["some bytes"](path)
    assert len(set(outputs)) == 1 and outputs[0][1:] == ("", 1)
