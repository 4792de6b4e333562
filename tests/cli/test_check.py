"""``graphmend check``."""

from __future__ import annotations

import codecs
import json
import sys
from pathlib import Path

import pytest

from .conftest import CLEAN, MODEL, Run


def test_full_output(run: Run, model: Path) -> None:
    result = run("check")
    head, _, rest = result.out.partition("\n")
    assert result.code == 1
    assert head.startswith("GM201 print-in-graph (information): ")
    frame = """\
 --> model.py:7:9
  |
5 |     def forward(self, x: torch.Tensor) -> torch.Tensor:
6 |         y = x + 1
7 |         print("step")
  |         ^^^^^^^^^^^^^
8 |         return y * 2
  |
"""
    assert rest.startswith(frame)
    assert "\n  = fix (safe): " in rest
    assert "\n  = see https://meta-pytorch.github.io/compile-graph-break-site/gb/gb" in rest
    assert rest.endswith("\n\nFound 1 finding (1 safe fix) in 1 file.\n")
    assert result.err == ""


def test_concise_output(run: Run, model: Path) -> None:
    result = run("check", "--output-format", "concise", model.name)
    first, last = result.out.splitlines()
    assert first.startswith("model.py:7:9: GM201 [*] ")
    assert last == "Found 1 finding (1 safe fix) in 1 file."


def test_json_output(run: Run, model: Path) -> None:
    model.write_text(MODEL.replace('"step"', '"\N{WAVING HAND SIGN}"'), encoding="utf-8")
    result = run("check", "--output-format", "json", "model.py", "none.py")
    document = json.loads(result.out)
    assert result.code == 2
    assert document["version"] == 1
    (finding,) = document["findings"]
    assert finding["code"] == "GM201" and finding["name"] == "print-in-graph"
    assert (finding["line"], finding["column"], finding["end_line"]) == (7, 9, 7)
    assert Path(finding["path"]) == model
    assert finding["severity"] in ("error", "warning", "information", "hint")
    assert {"message", "entry", "confidence", "evidence", "offers", "refusals", "gb"} <= set(finding)
    for step in finding["evidence"]:
        assert set(step) == {"path", "line", "column", "message"}
    safe = [offer for offer in finding["offers"] if offer["safety"] == "safe"]
    assert safe and all(offer["changes"] == "" for offer in safe)
    for edit in safe[0]["edits"]:
        assert {"path", "line", "column", "end_line", "end_column", "text"} <= set(edit)
    assert document["errors"] == [
        {"path": str(model.parent / "none.py"), "line": None, "message": "no such file or directory"}
    ]


def test_nothing_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "other.py").write_text("x = 1\n")
    result = run("check", ".")
    assert (result.code, result.out, result.err) == (0, "No findings in 2 files.\n", "")


def test_exit_zero(run: Run, model: Path) -> None:
    assert run("check", "--exit-zero").code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--select", "GM201"), 1),
        (("--select", "GM2,print-in-graph"), 1),
        (("--select", "print-in-graph"), 1),
        (("--select", "ALL", "--ignore", "GM2"), 0),
        (("--ignore", "gm201"), 0),
    ],
)
def test_choice_of_rules(run: Run, model: Path, arguments: tuple[str, ...], code: int) -> None:
    assert run("check", *arguments, "model.py").code == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--select", "GM999"), "'GM999'"),
        (("--output-format", "xml"), "xml"),
        (("--torch-version", "new"), "'new'"),
        (("--no-such-option",), "--no-such-option"),
    ],
)
def test_wrong_options(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("check", *arguments)
    assert result.code == 2 and said in result.err and result.out == ""


def test_a_missing_path_and_a_good_one(run: Run, model: Path) -> None:
    result = run("check", "none", "model.py")
    assert result.code == 2
    assert "error: none: no such file or directory\n" in result.err
    assert "model.py:7:9" in result.out


def test_a_syntax_error_beside_a_good_file(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n    pass\n")
    result = run("check")
    assert result.code == 2
    assert "error: broken.py:1: " in result.err
    assert "model.py:7:9" in result.out
    assert result.out.endswith("\nFound 1 finding (1 safe fix) in 1 file; 1 file not checked.\n")


def test_the_last_line_says_what_was_not_checked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n    pass\n")
    assert run("check").out == "1 file not checked.\n"
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "broken.py").write_text(CLEAN + "\n\ndef f(:\n    pass\n")
    said = "No findings in 1 file; 1 file checked only in part: the rest does not parse, and fix leaves it alone.\n"
    assert run("check").out == said
    (tmp_path / "broken.py").write_text(MODEL + "\n\ndef f(:\n    pass\n")
    assert run("check", "broken.py").out.splitlines()[-1].startswith("Found 1 finding in 1 file; 1 file checked only")
    (finding,) = json.loads(run("check", "broken.py", "--output-format", "json").out)["findings"]
    assert finding["offers"] == [] and "the file does not parse" in [r["message"] for r in finding["refusals"]]
    assert run("check", "none.py").out == "Nothing was checked.\n"


def test_unused_suppressions_are_reported_once(run: Run, model: Path) -> None:
    model.write_text(CLEAN.replace("x * 2", "x * 2  # graphmend: ignore[GM101]"))
    full = run("check").out
    assert full.startswith("GM001 unused-suppression") and full.count("model.py:6") == 1
    rows = run("check", "--output-format", "concise").out.splitlines()
    assert len(rows) == 2 and "GM001" in rows[0]
    assert run("check", "--ignore", "GM001").out == "No findings in 1 file.\n"
    document = json.loads(run("check", "--output-format", "json", "--ignore", "GM001").out)
    assert [row["line"] for row in document["unused_suppressions"]] == [6]


@pytest.mark.parametrize("command", ["check", "fix"])
def test_an_entry_that_no_file_has(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "other.py").write_text("class Trainer:\n    def step(self):\n        pass\n")
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nentries = ['Model', 'setp']\n")
    result = run(command, "--entry", "Trainer.step,Model.forwrad", "--entry", "step")
    said = 'graphmend: no function or class is named "{}" in the files checked\n'
    assert result.err == said.format("setp") + said.format("Model.forwrad") + said.format("step")
    assert run(command, "--entry", "Trainer.step", "other.py").err == said.format("Model") + said.format("setp")
    (tmp_path / "other.py").write_text("def setp(:\n")  # it may be there
    assert said.format("setp") not in run(command).err


def test_an_undecodable_file_beside_a_good_one(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_bytes(b"x = '\xff'\n")
    result = run("check")
    assert result.code == 2
    assert "error: bytes.py: not utf-8 text (byte 0xff in line 1)" in result.err
    assert "model.py:7:9" in result.out


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + MODEL.encode(),
        ("# coding: latin-1\n# é\n" + MODEL).encode("latin-1"),
        MODEL.replace("\n", "\r\n").encode(),
        MODEL.replace("\n", "\r").encode(),
        MODEL.encode().rstrip(b"\n"),
        ("x = '\N{LINE SEPARATOR}'\n\f\n" + MODEL).encode(),
    ],
    ids=["bom", "latin-1", "crlf", "cr", "no last newline", "odd separators"],
)
def test_every_kind_of_text(run: Run, model: Path, data: bytes) -> None:
    model.write_bytes(data)
    result = run("check")
    assert result.code == 1, result.err
    assert '|         print("step")\n' in result.out
    assert " |         ^^^^^^^^^^^^^\n" in result.out


def test_standard_input(run: Run, tmp_path: Path) -> None:
    result = run("check", "-", stdin=MODEL.encode())
    assert result.code == 1 and "<stdin>:7:9" in result.out
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nper-file-ignores = { 'sub/*' = ['GM201'] }\n")
    assert run("check", "-", "--stdin-filename", "sub/m.py", stdin=MODEL.encode()).code == 0
    named = run("check", "--stdin-filename", "m.py", stdin=MODEL.encode())
    assert named.code == 1 and "m.py:7:9" in named.out


def test_options_may_stand_between_paths(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(MODEL)
    assert "in 2 files" in run("check", "other.py", "--exit-zero", "model.py").out


def test_configuration_mistakes_are_warnings(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nselct = ['GM101']\n")
    result = run("check", "--output-format", "concise")
    assert result.code == 1
    assert result.err == "warning: pyproject.toml:2: [tool.graphmend] unknown key 'selct'\n"


def test_the_command_line_wins_over_the_configuration(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nignore = ['GM201']\n")
    assert run("check").code == 0
    assert run("check", "--select", "GM201").code == 1


def test_colours_only_where_wanted(run: Run, model: Path) -> None:
    assert "\x1b" not in run("check").out
    assert "\x1b[" in run("check", FORCE_COLOR="1").out
    assert "\x1b" not in run("check", FORCE_COLOR="1", NO_COLOR="1").out


def test_escape_codes_in_the_source_stay_in_the_source(run: Run, model: Path) -> None:
    model.write_bytes(MODEL.encode().replace(b'"step"', b'"\x1b[2J"'))
    assert "\x1b" not in run("check").out


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal(model: Path) -> None:
    import os
    import pty
    import subprocess

    from .conftest import ROOT

    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    env |= {"PYTHONPATH": str(ROOT), "TERM": "xterm"}

    def output(**more: str) -> bytes:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "graphmend_lsp", "check"], cwd=model.parent, stdout=theirs, env={**env, **more}
        )
        os.close(theirs)
        data = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:
                break
            if not chunk:
                break
            data += chunk
        process.wait()
        os.close(ours)
        return data

    assert b"\x1b[" in output()
    assert b"\x1b[" not in output(NO_COLOR="1")


def test_a_reader_that_stops_early_is_no_error(model: Path) -> None:
    import subprocess

    from .conftest import ROOT

    model.write_text(MODEL.replace('        print("step")\n', '        print("step")\n' * 300))
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); from graphmend_lsp.cli import main; sys.exit(main())",
            "check",
        ],
        cwd=model.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in (0, 1)
