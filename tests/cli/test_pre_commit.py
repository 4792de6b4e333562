"""The hooks of ``.pre-commit-hooks.yaml``, started as pre-commit does: the entry, the user's arguments, the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import MODEL, ROOT, Run

HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"- id: (\S+)\n(?:  .*\n)*?  entry: graphmend (.*)\n", HOOKS))


def test_the_hooks_are_complete() -> None:
    assert set(ENTRIES) == {"graphmend-check", "graphmend-fix"}
    for hook in HOOKS.split("- id: ")[1:]:
        keys = re.findall(r"^  (\w+):", hook, re.MULTILINE)
        assert keys == ["name", "description", "entry", "language", "types_or", "require_serial"]


def test_check(run: Run, model: Path) -> None:
    assert run(*ENTRIES["graphmend-check"].split(), "model.py").code == 1
    assert run(*ENTRIES["graphmend-check"].split(), "--ignore", "GM201", "model.py").code == 0


def test_fix(run: Run, model: Path, tmp_path: Path) -> None:
    """It fails by having changed a file; what it cannot mend does not stop a commit."""
    model.write_text(MODEL.replace("y * 2", "y.item() * 2"))
    assert run(*ENTRIES["graphmend-fix"].split(), "model.py").code == 0
    assert "graph_effect" in model.read_text() and (tmp_path / "_graphmend.py").exists()


@pytest.mark.parametrize("command", ["check", "fix"])
def test_what_is_excluded_stays_so(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    """pre-commit names every file, also those that the project leaves out."""
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nexclude = ['old/']\n")
    (tmp_path / "old").mkdir()
    model.rename(tmp_path / "old" / "model.py")
    entry = ENTRIES[f"graphmend-{command}"].split()
    assert run(*entry, "old/model.py").code == 0
    assert (tmp_path / "old" / "model.py").read_text() == MODEL
    assert run("check", "old/model.py").code == 1
