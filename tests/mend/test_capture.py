"""What is said of settings that keep a value in the graph is what torch does."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest
import torch._dynamo.config as dynamo

from graphmend_lsp.check import check
from graphmend_lsp.settings import Settings

CODE = """
import torch
import torch.nn.functional as F
from torch import Tensor, nn

W = torch.tensor([[1, 4, 6], [2, 2, 4]])


def scaled(x: Tensor):
    return x * x.max().item() + float(x.min()) + int(x.sum()) + bool(x.any())


def grids(x: Tensor, grid: Tensor):
    found = []
    for t, h, w in grid.tolist():
        rows = torch.arange(h).unsqueeze(1).expand(-1, w).reshape(h // 2, 2, w // 2, 2).permute(0, 2, 1, 3).flatten()
        found.append(rows.repeat(t))
    return x[0], torch.cat(found)


def sizes(x: Tensor, grid: Tensor):
    parts = torch.split(x.new_zeros(40, 2), (grid.prod(-1)).tolist())
    return [part.sum() for part in parts]


def bounds(x: Tensor, grid: Tensor):
    n = grid.min()
    return x[: n + 1] * 2, torch.arange(grid.max() + 1)


def chosen(x: Tensor):
    mask = x > 1
    rows = x.repeat_interleave(mask.long().sum(1), 0)
    return x[mask], torch.nonzero(x), x.unique(), torch.masked_select(x, mask), rows


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3)

    def forward(self, x):
        return self.rnn(x)[0] + x


def branches(x: Tensor):
    n = x.max().item()
    return x * 2 if n > 1 else x


def rows():
    return torch.tensor([[0.5, 2.0, 4.0], [1.0, -1.0, 8.0]])


CASES = [
    ("scaled", [lambda: (rows(),)]),
    ("grids", [lambda: (rows(), W)]),
    ("sizes", [lambda: (rows(), W)]),
    ("bounds", [lambda: (rows(), W)]),
    ("chosen", [lambda: (rows(),)]),
    ("Recurrent", [lambda: (rows(),)]),
    ("branches", [lambda: (rows(),)]),
]
"""
NAMES = ("scaled", "grids", "sizes", "bounds", "chosen", "Recurrent", "branches")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "code.py"
    path.write_text(CODE)
    return path


def test_settings_keep_what_they_are_said_to_keep(code: Path) -> None:
    assert all(execute.breaks(code).values())
    settings = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True, "allow_rnn": True}
    with dynamo.patch(**settings):
        execute._breaks.cache_clear()
        left = {name: found for name, found in execute.breaks(code).items() if found}
    execute._breaks.cache_clear()
    assert set(left) == {"branches"}


def test_they_are_named(code: Path) -> None:
    found = check(code.read_text(), "code.py", settings=Settings(entries=NAMES)).findings
    named = {f.function.partition(".")[0] for f in found if any(r.kind == "capture" for r in f.refusals)}
    assert named == set(NAMES) - {"branches"}


def test_nothing_is_said_of_releases_that_were_not_measured(code: Path) -> None:
    older = Settings(entries=NAMES, torch_version=(2, 8))
    found = check(code.read_text(), "code.py", settings=older).findings
    assert not [r for f in found for r in f.refusals if r.kind == "capture"]
