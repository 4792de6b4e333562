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
    rows = [(f"/pack/m{number}.py", (number, 1, summary)) for number in range(60)]
    choice = random.Random(0)
    for turn in range(240):
        store.save(rows, [])
        path = tmp_path / store._NAME
        held = bytearray(path.read_bytes())
        for _ in range(choice.choice((1, 3, 20, 200))):
            held[choice.randrange(len(held) if turn % 2 else min(len(held), 4096))] = choice.randrange(256)
        path.write_bytes(held)
        assert store.load("/pack").items() <= dict(rows).items()
        path.unlink(missing_ok=True)
    store.save(rows, [])
    assert len(store.load("/pack")) == 60
