"""The command itself, ``graphmend rule``, and what the commands share."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp import __version__
from graphmend_lsp import check as core
from graphmend_lsp.cli import main, work
from graphmend_lsp.cli.options import Overrides

from .conftest import MODEL, ROOT, Run


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == f"graphmend {__version__}\n"
    shown = run("--help")
    assert shown.code == 0
    assert all(f"\n    {command} " in shown.out for command in ("check", "fix", "rule", "server"))
    assert run("check", "--help").code == 0
    server = run("server", "--help")
    assert server.code == 0 and server.out.startswith("usage: graphmend server") and server.err == ""


def test_without_a_command(run: Run) -> None:
    result = run()
    assert result.code == 2 and "usage: graphmend" in result.err
    assert run("chekc").code == 2


def test_rule_page(run: Run) -> None:
    page = run("rule", "GM201")
    assert page.code == 0 and page.out.startswith("# ") and "\x1b" not in page.out
    assert run("rule", "print-in-graph").out == page.out == run("rule", "gm201").out
    assert page.out.strip() in run("rule", "--all").out
    assert any(line.startswith("GM201 print-in-graph ") for line in run("rule").out.splitlines())


def test_rule_as_json(run: Run) -> None:
    one = json.loads(run("rule", "GM201", "--output-format", "json").out)
    assert one["code"] == "GM201" and one["page"]
    assert one in json.loads(run("rule", "--all", "--output-format", "json").out)


def test_an_unknown_rule(run: Run) -> None:
    result = run("rule", "print-in-grap")
    assert result.code == 2 and "did you mean print-in-graph?" in result.err


def test_an_internal_error_in_one_file_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = core.check

    def check(text: str, path: str = "", **rest: object) -> core.Analysis:
        if path.endswith("bad.py"):
            raise KeyError("oops")
        return real(text, path, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(core, "check", check)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("x = 1\n")
    (tmp_path / "model.py").write_text(MODEL)
    assert main(["check"]) == 2
    out, err = capsys.readouterr()
    assert "Found 1 finding" in out
    assert err.startswith("error: bad.py: internal error: KeyError: 'oops'") and "please report" in err


def test_one_file_can_be_checked_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (job,) = work.plan([str(tmp_path)], None, Overrides(), resolve=True).jobs
    checked = work.check_file(pickle.loads(pickle.dumps(job)))
    assert pickle.loads(pickle.dumps(checked)) == checked and len(checked.findings) == 1
    fixed = work.fix_file(pickle.loads(pickle.dumps(job)))
    assert pickle.loads(pickle.dumps(fixed)) == fixed and fixed.applied == 1


def test_start_up_imports_little() -> None:
    code = (
        "import sys; from graphmend_lsp.cli import main; main(['check', '-']); "
        "heavy = {'rich', 'libcst', 'pygls', 'lsprotocol', 'torch', 'pathspec', 'asyncio', 'difflib', 'tempfile'}; "
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], input="x = 1\n", capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
