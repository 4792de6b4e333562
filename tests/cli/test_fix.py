"""``graphmend fix``."""

from __future__ import annotations

import ast
import codecs
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphmend_lsp import check as core
from graphmend_lsp.cli import main
from graphmend_lsp.finding import Finding, NewFile, Offer, Problem
from graphmend_lsp.text import Span

from .conftest import CLEAN, MODEL, Run


def test_mends_in_place(run: Run, model: Path) -> None:
    result = run("fix")
    assert result.code == 0, result.err
    assert result.out.splitlines()[-1] == "Mended 1 finding in 1 file."
    text = model.read_text()
    assert text != MODEL
    ast.parse(text)
    again = run("fix")
    assert (again.code, model.read_text()) == (0, text)
    assert run("check").code == 0


def test_diff_writes_nothing_and_applies(run: Run, model: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    result = run("fix", "--diff")
    assert result.code == 1
    assert "--- model.py\n+++ model.py\n" in result.out
    assert '-        print("step")\n' in result.out
    assert result.err == "Would mend 1 finding in 1 file.\n"
    assert model.read_text() == MODEL and sorted(path.name for path in tmp_path.iterdir()) == before
    run("fix")
    mended = model.read_text()
    for path in tmp_path.glob("*.py"):
        path.unlink()
    model.write_text(MODEL)
    try:
        subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=result.raw, check=True)
    except FileNotFoundError:
        pytest.skip("needs git")
    assert model.read_text() == mended


def test_nothing_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text(CLEAN)
    assert run("fix").code == 0
    result = run("fix", "--diff")
    assert (result.code, result.out) == (0, "")


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + MODEL.encode(),
        ("# coding: latin-1\n# é\n" + MODEL).encode("latin-1"),
        MODEL.replace("\n", "\r\n").encode(),
        MODEL.replace("\n", "\r").encode(),
    ],
    ids=["bom", "latin-1", "crlf", "cr"],
)
def test_encoding_and_line_endings_stay(run: Run, model: Path, data: bytes) -> None:
    model.write_bytes(data)
    result = run("fix")
    assert result.code == 0, result.err
    mended = model.read_bytes()
    assert mended != data
    assert mended.startswith(codecs.BOM_UTF8) == data.startswith(codecs.BOM_UTF8)
    assert (b"\xe9" in mended) == (b"\xe9" in data)
    if b"\r\n" in data:
        assert mended.count(b"\n") == mended.count(b"\r\n")
    elif b"\r" in data:
        assert b"\n" not in mended
    assert mended[-1:] == data[-1:]


def test_a_read_only_file_is_reported_and_the_others_mended(run: Run, model: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked.py"
    locked.write_text(MODEL)
    locked.chmod(0o444)
    result = run("fix")
    assert result.code == 2
    assert "error: locked.py: not written: the file is read-only" in result.err
    assert locked.read_text() == MODEL and model.read_text() != MODEL


def test_a_syntax_error_is_reported_and_the_others_mended(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    result = run("fix")
    assert result.code == 2
    assert result.err.startswith("error: broken.py:1: ") and result.err.endswith("; left alone\n")
    assert result.out.endswith("Mended 1 finding in 1 file; 1 file left alone: it does not parse.\n")
    assert model.read_text() != MODEL


def test_a_file_that_parses_in_part_is_left_alone(run: Run, model: Path) -> None:
    text = MODEL + "\n\ndef f(:\n    pass\n"
    model.write_text(text)
    for option in ([], ["--diff"], ["--unsafe"]):
        result = run("fix", *option)
        assert result.code == 2 and result.err.startswith("error: model.py:11: ")
        last = (result.out + result.err).splitlines()[-1 if "--diff" in option else 0]
        assert last == "1 file left alone: it does not parse."
    assert model.read_text() == text


def test_standard_input_gives_the_text(run: Run, tmp_path: Path) -> None:
    data = ("# coding: latin-1\r\n# é\r\n" + MODEL.replace("\n", "\r\n")).encode("latin-1")
    result = run("fix", "-", stdin=data)
    assert result.code == 0
    assert result.raw != data and b"\xe9\r\n" in result.raw
    assert result.err == "Mended 1 finding in 1 file.\n"
    unchanged = run("fix", "-", "--ignore", "GM201", stdin=data)
    assert (unchanged.code, unchanged.raw) == (0, data)
    broken = run("fix", "-", stdin=b"def f(:\n")
    assert (broken.code, broken.raw) == (2, b"def f(:\n")


# from here on with a mender of our own: what the command does with what it gets


def finding(*offers: Offer) -> Finding:
    return Finding("GM101", "x", "m.py", Span(1, 0, 1, 1), "m", "warning", "f", "f", "implied", (), offers)


SAFE, UNSAFE, DELETE = (
    Offer("where", "w", "safe"),
    Offer("trap", "t", "unsafe", "c"),
    Offer("delete", "d", "unsafe", "c"),
)


@pytest.fixture
def mender(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """``core.mend`` replaced by one that gives ``result.text`` and ``result.creates``; records its calls."""
    result = SimpleNamespace(text="mended = 1\n", creates=(), left=0, problems=(), error=None, calls=[])

    def mend(text: str, path: str, *, program: Any, settings: Any, accept: Any) -> core.Mended:
        result.calls.append((path, settings, accept))
        if result.error:
            raise result.error
        analysis = core.Analysis(path, result.text, (finding(),) * result.left, result.problems)
        return core.Mended(result.text, ((finding(SAFE), SAFE),), analysis, result.creates)

    monkeypatch.setattr(core, "mend", mend)
    monkeypatch.chdir(tmp_path)
    return result


def test_files_it_creates_are_written_first_and_once(
    mender: Any, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.py").write_text(MODEL)
    mender.creates = (NewFile(str(tmp_path / "_graphmend.py"), "# runtime\n"),)
    assert main(["fix", "model.py", "other.py"]) == 0
    assert (tmp_path / "_graphmend.py").read_text() == "# runtime\n"
    out = capsys.readouterr().out
    assert out == "Wrote _graphmend.py, which the mended code imports.\nMended 2 findings in 2 files.\n"


def test_the_diff_shows_created_files(mender: Any, model: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    mender.creates = (NewFile(str(model.parent / "_graphmend.py"), "# runtime\n"),)
    assert main(["fix", "--diff"]) == 1
    out = capfdbinary.readouterr().out
    assert out.startswith(b"--- /dev/null\n+++ _graphmend.py\n@@ -0,0 +1 @@\n+# runtime\n--- model.py\n+++ model.py\n")
    assert not (model.parent / "_graphmend.py").exists()


def test_if_the_created_file_cannot_be_written_nothing_is(mender: Any, model: Path, tmp_path: Path) -> None:
    mender.creates = (NewFile(str(tmp_path / "no" / "folder" / "_graphmend.py"), "# runtime\n"),)
    assert main(["fix"]) == 2
    assert model.read_text() == MODEL


def test_a_character_that_does_not_fit_stops_before_anything_is_written(mender: Any, model: Path) -> None:
    model.write_bytes(b"# coding: latin-1\n" + MODEL.encode())
    mender.text = "# coding: latin-1\n# \N{SNOWMAN}\n"
    mender.creates = (NewFile(str(model.parent / "_graphmend.py"), "# runtime\n"),)
    assert main(["fix"]) == 2
    assert model.read_bytes() == b"# coding: latin-1\n" + MODEL.encode()
    assert not (model.parent / "_graphmend.py").exists()


def test_mended_text_that_does_not_parse_is_never_written(
    mender: Any, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mender.problems = (Problem("m.py", 1, "invalid syntax"),)
    assert main(["fix"]) == 2
    assert model.read_text() == MODEL
    assert "please report" in capsys.readouterr().err


def test_an_internal_error_stops_one_file_only(
    mender: Any, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mender.error = RuntimeError("oops")
    (tmp_path / "other.py").write_text(MODEL)
    assert main(["fix"]) == 2
    err = capsys.readouterr().err
    assert "error: model.py: internal error: RuntimeError: oops" in err and "error: other.py: " in err
    assert err.count("please report") == 2


def test_what_is_left_is_counted(mender: Any, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mender.left = 2
    assert main(["fix"]) == 1
    assert capsys.readouterr().out == "Mended 1 finding in 1 file (2 left: run graphmend check to see why).\n"
    assert main(["fix", "--exit-zero"]) == 0


@pytest.mark.parametrize("how", ["option", "configuration", "not"])
def test_which_offers_are_accepted(mender: Any, model: Path, how: str) -> None:
    if how == "configuration":
        (model.parent / "pyproject.toml").write_text("[tool.graphmend]\nunsafe-fixes = true\n")
    main(["fix", *(["--unsafe"] if how == "option" else [])])
    ((_, _, accept),) = mender.calls
    unsafe = how != "not"
    assert accept(finding(UNSAFE, SAFE), SAFE)
    assert not accept(finding(UNSAFE, SAFE), UNSAFE)
    assert accept(finding(DELETE, UNSAFE), UNSAFE) == unsafe
    assert not accept(finding(DELETE), DELETE)


def test_settings_reach_the_core(mender: Any, model: Path) -> None:
    main(["fix", "--entry", "f,g", "--entry", "M.h", "--torch-version", "2.9", "--select", "GM2", "--ignore", "GM201"])
    ((_, settings, _),) = mender.calls
    assert settings.entries == ("f", "g", "M.h") and settings.torch_version == (2, 9)
    assert settings.select == ("GM2",) and settings.ignore == ("GM201",)
