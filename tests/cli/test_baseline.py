"""``graphmend check --baseline``: findings that are known, found again by what they say, not by where they stand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from graphmend_lsp.project.fingerprint import words

from .conftest import CLEAN, MODEL, Run

PRINT = '        print("step")\n'


@pytest.fixture
def baseline(run: Run, model: Path, tmp_path: Path) -> Path:
    """A baseline with the one finding of ``model.py``."""
    result = run("check", "--baseline", "known.json", "--write-baseline")
    assert (result.code, result.out) == (0, "No findings in 1 file.\n")
    assert result.err == "graphmend: wrote known.json: 1 finding in 1 file\n"
    return tmp_path / "known.json"


def content(path: Path) -> dict[str, list[dict[str, object]]]:
    return json.loads(path.read_text(encoding="utf-8"))["findings"]


def test_what_is_known_is_not_reported(run: Run, baseline: Path) -> None:
    result = run("check", "--baseline", "known.json")
    assert (result.code, result.err) == (0, "")
    assert result.out == "No new findings in 1 file; 1 finding in the baseline.\n"
    assert json.loads(run("check", "--baseline", "known.json", "--format", "json").out)["findings"] == []
    assert run("check").code == 1


def test_the_file_can_be_read_by_people(baseline: Path) -> None:
    assert json.loads(baseline.read_text(encoding="utf-8"))["version"] == 1
    ((entry,),) = content(baseline).values()
    assert list(content(baseline)) == ["model.py"]
    assert entry["code"] == "GM201" and entry["function"] == "Model.forward" and entry["count"] == 1
    assert entry["statement"] == 'print("step")'


@pytest.mark.parametrize(
    "text",
    [
        "import os\n\n# more\n" + MODEL,
        MODEL.replace("        return", "        y = y.relu()\n        return"),
        MODEL.replace(PRINT, '        print(\n            "step",\n        )  # reported\n'),
        MODEL.replace(PRINT, f"        if self.training:\n    {PRINT}"),
        MODEL.replace("\n", "\r\n"),
    ],
    ids=["moved", "beside", "wrapped", "indented", "crlf"],
)
def test_unrelated_edits_revive_nothing(run: Run, model: Path, baseline: Path, text: str) -> None:
    model.write_bytes(text.encode())
    result = run("check", "--baseline", "known.json")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        MODEL.replace('"step"', '"other"'),
        MODEL.replace("class Model", "class Other"),
        MODEL.replace(PRINT, PRINT.replace("print", "import pprint; pprint.pprint")),
    ],
    ids=["statement", "function", "call"],
)
def test_other_findings_are_new_and_old_ones_stale(run: Run, model: Path, baseline: Path, text: str) -> None:
    model.write_text(text)
    result = run("check", "--baseline", "known.json")
    assert result.code == 1 and result.out.endswith("Found 1 finding (1 safe fix) in 1 file.\n")
    assert result.err.splitlines() == [
        "graphmend: 1 finding of known.json is no longer found; --update-baseline takes it out:",
        'graphmend:   model.py: GM201 print("step")',
    ]


def test_findings_that_are_alike_are_counted(run: Run, model: Path, tmp_path: Path) -> None:
    model.write_text(MODEL.replace(PRINT, PRINT * 2))
    run("check", "--baseline", "known.json", "--write-baseline")
    assert content(tmp_path / "known.json")["model.py"][0]["count"] == 2
    model.write_text(MODEL.replace(PRINT, PRINT * 3))
    result = run("check", "--baseline", "known.json", "--format", "concise")
    assert result.code == 1 and result.out.splitlines()[0].startswith("model.py:9:9: GM201")
    assert result.out.splitlines()[1] == "Found 1 finding (1 safe fix) in 1 file; 2 findings in the baseline."
    model.write_text(MODEL)
    result = run("check", "--baseline", "known.json")
    assert result.code == 0 and "1 finding of known.json is no longer found" in result.err
    result = run("check", "--baseline", "known.json", "--update-baseline")
    assert result.code == 0 and result.err == "graphmend: took 1 finding of known.json out of it: no longer found\n"
    assert content(tmp_path / "known.json")["model.py"][0]["count"] == 1
    model.write_text(MODEL.replace(PRINT, PRINT * 2))
    assert run("check", "--baseline", "known.json").code == 1


def test_updating_adds_nothing(run: Run, model: Path, baseline: Path, tmp_path: Path) -> None:
    before = baseline.read_bytes()
    (tmp_path / "more.py").write_text(MODEL)
    result = run("check", "--baseline", "known.json", "--update-baseline", "--format", "concise")
    assert result.code == 1 and result.out.startswith("more.py:7:9") and baseline.read_bytes() == before
    model.unlink()
    run("check", "--baseline", "known.json", "--update-baseline")
    assert content(baseline) == {}


def test_what_is_not_looked_at_is_not_stale(run: Run, model: Path, baseline: Path, tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(CLEAN)
    model.write_text(CLEAN)
    for arguments in (("more.py",), ("--select", "GM1"), ("--ignore", "print-in-graph", "model.py")):
        assert run("check", *arguments, "--baseline", "known.json", "--update-baseline").err == ""
    model.write_text(CLEAN + "def f(:\n")
    assert "no longer" not in run("check", "--baseline", "known.json", "--update-baseline").err
    assert list(content(baseline)) == ["model.py"]
    model.unlink()  # but a file that is gone has no findings
    assert "1 finding of known.json is no longer found" in run("check", "more.py", "--baseline", "known.json").err


def test_writing_keeps_what_was_not_looked_at(run: Run, model: Path, baseline: Path, tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(MODEL)
    run("check", "more.py", "--baseline", "known.json", "--write-baseline")
    assert sorted(content(baseline)) == ["model.py", "more.py"]
    run("check", "--select", "GM1", "--baseline", "known.json", "--write-baseline")
    assert sorted(content(baseline)) == ["model.py", "more.py"]
    model.write_text(CLEAN)
    (tmp_path / "more.py").unlink()
    run("check", "--baseline", "known.json", "--write-baseline")
    assert content(baseline) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<<<<<< ours\n{}\n", ":1: not a baseline: not JSON (Expecting value); --write-baseline makes it anew"),
        ("[]", ": not a baseline: it has no version or no findings"),
        (
            '{"version": 0, "graphmend": "0.0.1", "findings": {}}',
            ": a baseline of form 0, by graphmend 0.0.1; this rel",
        ),
        ('{"version": 1, "findings": []}', ": not a baseline: findings is not a table"),
        ('{"version": 1, "findings": {"a.py": [{"code": "GM101"}]}}', ": not a baseline: what it says of a.py is not"),
        ('{"version": 1, "findings": {"a.py": 3}}', ": not a baseline: what it says of a.py is not understood"),
        (None, ": no such baseline; --write-baseline makes one"),
    ],
)
def test_broken_baselines(run: Run, model: Path, tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "known.json"
    if text is not None:
        path.write_text(text)
    result = run("check", "--baseline", "known.json")
    assert result.code == 2 and f"error: known.json{said}" in result.err
    assert "model.py:7:9" in result.out  # all the same
    assert run("check", "--baseline", "known.json", "--update-baseline").code == 2
    assert run("check", "--baseline", "known.json", "--write-baseline").code == 0
    assert run("check", "--baseline", "known.json").code == 0


def test_a_baseline_in_the_configuration(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nbaseline = 'ci/known.json'\n")
    (tmp_path / "ci").mkdir()
    assert "error: ci/known.json: no such baseline" in run("check").err.replace("\\", "/")
    assert run("check", "--write-baseline").code == 0
    assert list(content(tmp_path / "ci" / "known.json")) == ["../model.py"]
    assert run("check").code == 0
    assert run("check", "--baseline", "ci/known.json").code == 0
    assert run("check", "-", "--stdin-filename", "model.py", stdin=model.read_bytes()).code == 0
    assert run("check", "-", stdin=model.read_bytes()).code == 1
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nbaseline = 3\n")
    assert "[tool.graphmend] baseline must be a string" in run("check").err


def test_writing_without_a_file_to_write(run: Run, model: Path, tmp_path: Path) -> None:
    for mode in ("write", "update"):
        result = run("check", f"--{mode}-baseline")
        assert result.code == 2 and f"--{mode}-baseline needs --baseline FILE" in result.err
    assert run("check", "--write-baseline", "--update-baseline", "--baseline", "known.json").code == 2
    failed = run("check", "--write-baseline", "--baseline", "none/known.json")
    assert failed.code == 2 and "known.json: not written: " in failed.err


def test_fix_mends_what_is_known(run: Run, model: Path, tmp_path: Path, baseline: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nbaseline = 'known.json'\n")
    assert run("fix").code == 0 and "graph_effect" in model.read_text()
    assert "no longer found" in run("check").err


def test_fingerprints_of_findings_without_a_statement(run: Run, model: Path, tmp_path: Path) -> None:
    model.write_text(CLEAN.replace("x * 2", "x * 2  # graphmend: ignore[GM101]"))
    run("check", "--baseline", "known.json", "--write-baseline")
    model.write_text("import os\n" + model.read_text())
    assert run("check", "--baseline", "known.json").code == 0
    model.write_text(model.read_text().replace("GM101", "GM102"))
    assert run("check", "--baseline", "known.json").code == 1


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('f(a, "b  c")', 'f(\n    a,  # why\n    "b  c",\n)'),
        ('print(f"{x!r}: {y:.2f}", 1.5e-3)', 'print( f"{x!r}: {y:.2f}" ,1.5e-3 )'),
        ("a = b[c, :] + 'it''s # no comment'", "a=b[c,:]+'it''s # no comment'"),
        ('x = """a\n  b""" + "\\""', 'x = """a\n  b""" \\\n + "\\""'),
        ("if x.any():", "if x.any():  # noqa"),
        ("if (a and\r\n    b):", "if (a and b):"),
    ],
)
def test_words(text: str, same: str) -> None:
    assert words(text) == words(same)


@pytest.mark.parametrize(
    ("text", "other"),
    [('f("a b")', 'f("a  b")'), ("f(x)", "f(y)"), ("f(a, b)", "f(a)"), ('f("#")', 'f("")'), ("not x", "notx")],
)
def test_other_words(text: str, other: str) -> None:
    assert words(text) != words(other)


def test_fingerprints_are_those_of_every_release_of_python(run: Run, model: Path, tmp_path: Path) -> None:
    """Tokens of f-strings are others from 3.12 on: a baseline is shared by people with different releases."""
    model.write_text(MODEL.replace('print("step")', 'print(f"norm {x.norm():.3f} of {y!r}")'))
    run("check", "--baseline", "known.json", "--write-baseline")
    ((entry,),) = content(tmp_path / "known.json").values()
    assert entry["fingerprint"] == "894655935c83ab4a"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_links_to_the_project(run: Run, model: Path, baseline: Path, tmp_path: Path) -> None:
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path, target_is_directory=True)
    result = run("check", str(link / "model.py"), "--baseline", "known.json")
    assert (result.code, result.err) == (0, "")
    result = run("check", "model.py", "--baseline", str(link / "known.json"))
    assert (result.code, result.err) == (0, "")
