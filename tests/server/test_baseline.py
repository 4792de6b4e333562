"""Findings that are in the project's baseline: hints, with their fixes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
HINT, INFORMATION = 4, 3
MODEL = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("step")
        return y * 2
"""
TWICE = MODEL.replace('        print("step")\n', '        print("step")\n' * 2)


@pytest.fixture
def project(tmp_path):
    """A project with the one finding of ``model.py`` in its baseline."""
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nbaseline = 'graphmend-baseline.json'\n")
    (tmp_path / "model.py").write_text(MODEL)
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--write-baseline"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, check=True)
    return tmp_path


def _levels(wire, path):
    return [d["severity"] for d in wire.diagnostics(path.as_uri())]


def test_what_is_known_is_a_hint(editor, project):
    path, baseline = project / "model.py", project / "graphmend-baseline.json"
    wire = editor("neovim", False, folders=(project,))
    wire.open(path.as_uri(), MODEL)
    assert _levels(wire, path) == [HINT]
    assert any(action.get("isPreferred") for action in wire.actions(path.as_uri(), 6, 8, ["quickfix"]))
    wire.change(path.as_uri(), 2, {"text": "# moved\n" + TWICE})
    assert _levels(wire, path) == [HINT, INFORMATION]
    kept = baseline.read_text()
    baseline.write_text("{}")
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": baseline.as_uri(), "type": 2}]})
    assert _levels(wire, path) == [INFORMATION, INFORMATION]
    logged = wire.wait_for("window/logMessage", lambda p: "baseline" in p["message"])
    assert "graphmend-baseline.json: not a baseline: " in logged["message"]
    baseline.write_text(kept)
    wire.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    assert _levels(wire, path) == [HINT, INFORMATION]


def test_in_files_that_are_not_open(editor, project):
    path = project / "model.py"
    wire = editor(
        "neovim", False, folders=(project,), configuration={project.as_uri(): {"workspaceDiagnostics": "all"}}
    )
    assert _levels(wire, path) == [HINT]
    path.write_text(TWICE)
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 2}]})
    assert _levels(wire, path) == [HINT, INFORMATION]
