"""The demonstration that ``make demo`` runs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from graphmend_lsp import check as core

from .conftest import ROOT

pytest.importorskip("torch")


@pytest.mark.skipif("STUB" in (core.__doc__ or ""), reason="needs the analysis")
def test_the_demonstration_mends_the_example_without_changing_it() -> None:
    done = subprocess.run(
        [sys.executable, "examples/demo.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DIFFERENT" not in done.stdout
    for code in ("GM101", "GM201", "GM202", "GM301"):
        assert code in done.stdout
    assert "no fix [" in done.stdout
