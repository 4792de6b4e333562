"""A short session in a real Emacs with eglot, set up by the text of the documentation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SERVER = Path(sys.executable).parent / "graphmend"
STEP = 90
"""Seconds that a step may take on a busy machine."""


@pytest.fixture(scope="module")
def emacs() -> str:
    found = shutil.which("emacs")
    code = "(progn (require 'eglot) (princ emacs-version))"
    if found is not None:
        said = subprocess.run([found, "--batch", "--eval", code], capture_output=True, text=True, timeout=120)
        if said.returncode == 0:
            return found
    reason = "there is no emacs on the PATH" if found is None else "this emacs has no eglot"
    if os.environ.get("GRAPHMEND_EDITORS") == "1":
        pytest.fail(f"{reason}: tests/editors/install.sh installs it")
    pytest.skip(reason)


@pytest.mark.parametrize(("file", "heading"), [("docs/editors.md", "Emacs, eglot"), ("README.md", "In editors")])
def test_a_short_session(
    emacs: str,
    workspace: Path,
    tmp_path: Path,
    blocks: Callable[[str, str, str], list[str]],
    file: str,
    heading: str,
) -> None:
    (recipe,) = blocks(file, heading, "elisp")
    (tmp_path / "recipe.el").write_text(recipe, encoding="utf-8")
    own = {"HOME": str(tmp_path), "GRAPHMEND_CACHE_DIR": str(tmp_path / "cache"), "LC_ALL": "C.UTF-8"}
    own |= {"PATH": f"{SERVER.parent}{os.pathsep}{os.environ['PATH']}"}
    own |= {"RECIPE": str(tmp_path / "recipe.el"), "WORKSPACE": str(workspace), "LIMIT": str(STEP)}
    done = subprocess.run(
        [emacs, "--batch", "-l", str(HERE / "emacs" / "smoke.el")],
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    print(done.stdout)
    assert done.returncode == 0, "a step failed: see the output"
    assert "the server has ended" in done.stdout
