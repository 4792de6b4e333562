"""``docs/rules`` is what the docstrings say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from graphmend_lsp.rules import all_rules

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_rule_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr + "run: python tools/generate_rule_docs.py"


def test_the_sources_that_pages_name_exist() -> None:
    for rule in all_rules():
        assert (ROOT / "graphmend_lsp" / "rules" / f"{rule.name.replace('-', '_')}.py").exists(), rule.code
