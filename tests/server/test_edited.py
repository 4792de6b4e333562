"""Random edits of real files, with requests and cancels between; ``make bench-robustness`` makes many more."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from tests.support.robust import abuse, edited

FILES = (
    Path(__file__).parents[2] / "examples" / "captioner.py",
    Path(torch.__file__).parent / "nn" / "modules" / "adaptive.py",
)


def test_what_is_found_in_the_end_is_what_is_there(start, everything, tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    wire = start()
    wire.initialize(everything, rootUri=tmp_path.as_uri())
    for seed, source in enumerate(FILES):
        path = tmp_path / source.name
        shutil.copy(source, path)
        found = edited.run(wire, path, seed, 150, compare=50)
        assert found.wrong == ()
        assert found.edits > 200 and found.compared == 3
    assert list(abuse.alarms(wire)) == []
