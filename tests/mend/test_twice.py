"""Mending twice is mending once; ``make bench-robustness`` mends more files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support.robust import mended

ROOT = Path(__file__).resolve().parents[2]
MODULES = Path(torch.__file__).parent / "nn" / "modules"
FIXTURES = sorted(path for path in ROOT.glob("tests/rules/GM*/flag_*.py") if ".fixed" not in path.suffixes)
FILES = [
    *FIXTURES[::2],
    ROOT / "examples" / "captioner.py",
    *(MODULES / name for name in ("adaptive.py", "rnn.py", "normalization.py")),
]


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_once_is_enough(unsafe: bool) -> None:
    found = {path: mended.examine(path, unsafe=unsafe) for path in FILES}
    assert {path.name: each.wrong for path, each in found.items() if each.wrong} == {}
    assert sum(each.applied for each in found.values()) > 50
