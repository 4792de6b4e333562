"""A tensor and the list that it was made of, passed on together: the call passes the list (unsafe, and said)."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest

from graphmend_lsp.check import Accept, mend
from graphmend_lsp.settings import Settings

MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def proposals(self, x, shapes):
        found = []
        at = 0
        for level, (height, width) in enumerate(shapes):
            part = x[:, at : at + height * width].view(x.shape[0], height, width)
            found.append(part.sum(2) + torch.linspace(0, height - 1, height, device=x.device))
            at += height * width
        return torch.cat(found, 1)

    def forward(self, x, one, two):
        sizes = []
        for source in (one, two):
            _, height, width = source.shape
            shape = (height, width)
            sizes.append(shape)
        shapes = torch.as_tensor(sizes, dtype=torch.long, device=x.device)
        encoded = self.encoder(x, shapes=shapes, sizes=sizes)
        return self.proposals(x, shapes), encoded, shapes.prod(1)


class Encoder(nn.Module):
    @staticmethod
    def points(shapes, ratios, device):
        found = []
        for level, (height, width) in enumerate(shapes):
            rows = torch.linspace(0.5, height - 0.5, height, dtype=torch.float32, device=device)
            found.append(rows[None] / (ratios[:, None, level, 1] * height))
        return torch.cat(found, 1)

    def forward(self, x, shapes, sizes):
        ratios = torch.ones(x.shape[0], 2, 2)
        return self.points(shapes, ratios, device=x.device)


def made(seed):
    return lambda: (torch.arange(20.0).reshape(2, 10) + seed, torch.ones(1, 2, 3), torch.ones(1, 2, 2))


CASES = [("Model", [made(0), made(1)])]
"""
SETTINGS = Settings(entries=("Model",), runtime="package")


def mended(text: str) -> str:
    assert mend(text, "model.py", settings=SETTINGS).text == text  # nothing of it is safe
    return mend(text, "model.py", settings=SETTINGS, accept=Accept(unsafe=True)).text


def test_the_calls_pass_the_list(tmp_path: Path) -> None:
    before, after = tmp_path / "model.py", tmp_path / "model.fixed.py"
    before.write_text(MODEL)
    after.write_text(mended(MODEL))
    assert "self.proposals(x, sizes)" in after.read_text()
    assert "self.points(sizes, ratios, device=x.device)" in after.read_text()
    assert {line for line, _ in execute.breaks(before)["Model"]}
    assert not execute.breaks(after)["Model"]
    (case,) = execute.cases(execute.load(before, "model"))
    for maker in case.makers:
        args = maker()
        known, made = (execute.behave(path, case, args) for path in (before, after))
        assert [str(tree) for tree in known.outputs] == [str(tree) for tree in made.outputs]


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("sizes=sizes)", "sizes=[(1, 1)])", "self.points(shapes, "),
        (
            "        ratios = torch.ones",
            "        shapes = shapes + 0\n        ratios = torch.ones",
            "self.points(shapes, ",
        ),
        (
            "        ratios = torch.ones",
            "        sizes = sizes[:1]\n        ratios = torch.ones",
            "self.points(shapes, ",
        ),
        ("(x, shapes), encoded", "(x, shapes), self.encoder(x, shapes, [(1, 1)])", "self.points(shapes, "),
        (
            "found, 1)\n\n    def forward(self, x, one",
            "found, 1), at\n\n    def forward(self, x, one",
            "proposals(x, shapes)",
        ),
        ("        found = []\n        at", "        found = [shapes.sum(1)]\n        at", "proposals(x, shapes)"),
        ("        encoded =", "        sizes.append((1, 1))\n        encoded =", "proposals(x, shapes)"),
        ("shape = (height, width)", "shape = (height / 2, width)", "proposals(x, shapes)"),
        ("dtype=torch.long, device=x", "dtype=torch.float64, device=x", "proposals(x, shapes)"),
        ("torch.linspace(0, height - 1,", "torch.linspace(0, height / 3,", "proposals(x, shapes)"),
        ("torch.linspace(0, height - 1,", "torch.linspace(0, height - 0.1,", "proposals(x, shapes)"),
        (
            "            at += height",
            "            kept = [height]\n            at += height",
            "proposals(x, shapes)",
        ),
        (
            "            at += height",
            "            later = lambda: print(height)\n            at += height",
            "proposals(x, shapes)",
        ),
        (
            "    def forward(self, x, shapes, sizes):\n",
            "    def forward(self, x, shapes, sizes):\n        sizes.append((1, 1))\n",
            "proposals(x, shapes)",
        ),
    ],
    ids=[
        "another list",
        "tensor given anew",
        "list given anew",
        "another call",
        "returned",
        "used as a tensor",
        "list grows",
        "floats",
        "float tensor",
        "division",
        "inexact",
        "kept",
        "used by a closure",
        "list changed by a callee",
    ],
)
def test_where_it_is_not_known_the_tensor_stays(old: str, new: str, kept: str) -> None:
    assert MODEL.count(old) == 1
    text = MODEL.replace(old, new)
    compile(text, "model.py", "exec")
    assert kept in mended(text)
