"""Files and folders that become something else while a command runs: a word about each, and all else is done."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from graphmend_lsp.check import mend
from graphmend_lsp.cli import work
from graphmend_lsp.cli.main import main
from tests.support.robust import disk, shared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, links and signals as in POSIX")
NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("step", {0})
        return x * {0}
"""


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.graphmend]\nruntime = 'package'\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    signal.alarm(150)  # ends the run, where something would never end
    yield
    signal.alarm(0)


@pytest.mark.parametrize("command", ["check", "fix", "fix --diff"])
@pytest.mark.parametrize("what", disk.BECOMES)
def test_between_listing_and_reading(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str, command: str
) -> None:
    for number in range(3):
        (tree / f"m{number}.py").write_text(NET.format(number))
    real = work.plan
    become, reason = disk.BECOMES[what]

    def plan(*arguments, **more):  # type: ignore[no-untyped-def]
        made = real(*arguments, **more)
        become(tree / "m1.py")
        return made

    monkeypatch.setattr(work, "plan", plan)
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    error = next(line for line in err.splitlines() if line.startswith("error: "))
    assert error.startswith(f"error: m1.py: {reason}")
    assert "internal error" not in out + err
    if command == "check":
        assert out.count("GM201") == 2
    mended = [(tree / f"m{number}.py").read_text() != NET.format(number) for number in (0, 2)]
    assert mended == [command == "fix"] * 2


@pytest.mark.parametrize("there", ["mine = 1\n", "", None])
def test_another_file_in_the_place_of_the_runtime(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: str | None
) -> None:
    (tree / "pyproject.toml").write_text("")
    (tree / "m.py").write_text(NET.format(1))
    real = work.fix_file

    def fix_file(job: work.Job) -> work.Fixed:
        made = real(job)
        (tree / "_graphmend.py").mkdir() if there is None else (tree / "_graphmend.py").write_text(there)
        return made

    monkeypatch.setattr(work, "fix_file", fix_file)
    assert main(["fix"]) == 2
    why = "is a directory" if there is None else "another file stands there now"
    assert f"error: _graphmend.py: not written: {why}" in capsys.readouterr().err
    assert (tree / "m.py").read_text() == NET.format(1)
    assert there is None or (tree / "_graphmend.py").read_text() == there


def test_fixes_beside_somebody_who_types(tree: Path) -> None:
    """What is in the files afterwards was typed, or is what mending makes of that."""
    paths = [tree / f"m{number}.py" for number in range(6)]
    texts = {path: [NET.format(f"1{number}{turn}") for turn in range(4)] for number, path in enumerate(paths)}
    for path in paths:
        path.write_text(texts[path][0])
    over = threading.Event()
    last: dict[Path, str] = {path: texts[path][0] for path in paths}
    choice = random.Random(3)

    def type_() -> None:
        while not over.wait(0.01):
            path = choice.choice(paths)
            made = tree.parent / "typed"
            made.write_text(choice.choice(texts[path]))
            last[path] = made.read_text()
            os.replace(made, path)

    here = {**os.environ, "PYTHONPATH": str(shared.REPOSITORY)}
    command = [sys.executable, "-m", "graphmend_lsp", "fix", "--exit-zero"]
    typist = threading.Thread(target=type_)
    typist.start()
    said: list[str] = []
    try:
        for _ in range(3):
            running = [subprocess.Popen(command, cwd=tree, env=here, stdout=-1, stderr=-1, text=True) for _ in range(2)]
            said += [text for process in running for text in process.communicate(timeout=60)]
    finally:
        over.set()
        typist.join()
    settings = work.plan(["."], None, _none()).jobs[0]
    mended = {text: _mended(text, path, settings) for path in paths for text in texts[path]}
    assert all(mended[text] != text for text in mended)
    for path in paths:
        assert path.read_text() in (last[path], mended[last[path]])
    assert not any("internal error" in text or "Traceback" in text for text in said)
    errors = {line.rpartition(": ")[2] for text in said for line in text.splitlines() if line.startswith("error: ")}
    assert errors <= {"the file has changed since it was read"}
    assert sorted(path.name for path in tree.iterdir()) == ["m0.py", *(p.name for p in paths[1:]), "pyproject.toml"]


def _none():  # type: ignore[no-untyped-def]
    from graphmend_lsp.cli.options import Overrides

    return Overrides()


def _mended(text: str, path: Path, job: work.Job) -> str:
    return mend(text, str(path), program=job.program, settings=job.settings).text


def test_checks_beside_somebody_who_moves_everything(tree: Path, tmp_path: Path) -> None:
    """Files and folders that go, come back and become others, whole packages with them."""
    shutil.rmtree(tree)
    shared.workspace(tree, 10)
    over = threading.Event()
    choice = random.Random(4)
    shutil.copytree(tree, tmp_path / "spare")

    def move() -> None:
        while not over.wait(0.02):
            package = tree / f"pkg{choice.randrange(10)}"
            with suppress(OSError, ValueError):
                deed = choice.randrange(5)
                if deed == 0:
                    package.rename(tree / f"moved{choice.randrange(3)}")
                elif deed == 1:
                    disk.remove(package)
                    choice.choice((package.touch, package.mkdir))()
                elif deed == 4:
                    disk.remove(package)
                    package.symlink_to(tree)
                elif deed == 2:
                    path = package / choice.choice(("model.py", "__init__.py"))
                    disk.remove(path)  # nothing is written into a pipe
                    path.write_text("x = 1\n")
                    choice.choice(list(disk.BECOMES.values()))[0](path)
                else:
                    disk.remove(package)
                    shutil.copytree(tmp_path / "spare" / package.name, package)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for number in range(8):
            command = "fix" if number % 4 == 3 else "check"
            check = shared.Check(tree, tmp_path / "cache", command=command)
            out, err = check.process.communicate(timeout=100)
            assert check.process.returncode in (0, 1, 2), err
            assert "internal error" not in out + err and "Traceback" not in err, err
    finally:
        over.set()
        mover.join()
    shutil.rmtree(tree)
    shutil.copytree(tmp_path / "spare", tree)
    assert len(shared.Check(tree, tmp_path / "cache").findings()) == 20


def test_watching_what_becomes_others(tree: Path, tmp_path: Path) -> None:
    for number in range(2):
        (tree / f"m{number}.py").write_text(NET.format(number))
    here = {**os.environ, "PYTHONPATH": str(shared.REPOSITORY)}
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--watch", "--output-format", "concise"]
    watched = subprocess.Popen(command, cwd=tree, env=here, stdout=-1, stderr=subprocess.STDOUT, text=True)
    assert watched.stdout is not None
    lines: list[str] = []

    def round_() -> str:
        lines.clear()
        for line in watched.stdout or ():
            lines.append(line)
            if "Watching for changes" in line:
                return "".join(lines)
        raise AssertionError("it has ended: " + "".join(lines))

    try:
        assert round_().count("GM201") == 2
        for become, _ in disk.BECOMES.values():
            become(tree / "m0.py")
            said = round_()
            assert said.count("m1.py:7:9: GM201") == 1 and "internal error" not in said
            disk.remove(tree / "m0.py")
            (tree / "m0.py").write_text(NET.format(0))
            while round_().count("GM201") != 2:  # it may have seen that the file was gone
                time.sleep(0.1)
        shutil.rmtree(tree)
        while "error: the current folder: no such file or directory\n" not in round_():
            pass  # it may have seen it half gone
        tree.mkdir()
        (tree / "m0.py").write_text(NET.format(0))
        assert round_().startswith("m0.py:7:9: GM201")
    finally:
        watched.kill()
        watched.communicate()
