"""Files as they are while somebody types them; ``make bench-robustness`` cuts more files in more places."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support.robust import typed

ROOT = Path(__file__).resolve().parents[2]
TORCH = Path(torch.__file__).parent
FILES = (
    ROOT / "examples" / "captioner.py",
    ROOT / "tests" / "rules" / "GM101" / "flag_regions.py",
    ROOT / "tests" / "rules" / "GM301" / "flag_guards.py",
    TORCH / "nn" / "modules" / "adaptive.py",
    TORCH / "nn" / "utils" / "spectral_norm.py",
    TORCH / "nn" / "modules" / "rnn.py",
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("incremental", [True, False])
def test_half_typed(path: Path, incremental: bool) -> None:
    text = path.read_bytes().decode("utf-8")
    found = list(typed.typing(text, path.name, 40, incremental=incremental))
    assert len(found) > 30 and found[-1].end == len(text)
    assert [(cut.end, cut.tail, cut.complaints) for cut in found if cut.complaints] == []
