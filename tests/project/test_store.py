"""What is kept on disk, after somebody wrote over it: never an exception, never a wrong summary."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from graphmend_lsp.project import store
from graphmend_lsp.project.summary import summarise

TEXT = "import torch\n\n\ndef gate(x):\n    return x if x.sum() > 0 else -x\n"


def test_bytes_written_over_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "cache_folder", lambda: str(tmp_path))
    summary = summarise(TEXT, "pack.gate", False)
    files = [(f"/pack/m{number}.py", number, 1, summary) for number in range(60)]
    rows = {path: (mtime, size, summary.outline) for path, mtime, size, _ in files}
    units = dict.fromkeys(rows, summary.units)
    choice = random.Random(0)
    for turn in range(240):
        store.save(files, [])
        path = tmp_path / store._NAME
        held = bytearray(path.read_bytes())
        for _ in range(choice.choice((1, 3, 20, 200))):
            held[choice.randrange(len(held) if turn % 2 else min(len(held), 4096))] = choice.randrange(256)
        path.write_bytes(held)
        if turn % 3:
            assert store.load("/pack").items() <= rows.items()
        assert store.load_units(rows, rows).items() <= units.items()
        path.unlink(missing_ok=True)
    store.save(files, [])
    assert store.load("/pack") == rows
    assert store.load_units(rows, rows) == units
    assert store.load_units(rows, {**rows, "/pack/m7.py": (8, 1, summary.outline)}).keys() == rows.keys() - {
        "/pack/m7.py"
    }
