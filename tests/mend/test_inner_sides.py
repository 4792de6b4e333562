"""What an inner branch gives on both of its sides is not lost when the outer branch alone is mended."""

from __future__ import annotations

from graphmend_lsp.check import check, resolve
from graphmend_lsp.finding import Change
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import apply_edits

TEXT = """\
import torch

def run(x, y):
    h = y * 3
    if x.sum() > 0:
        h = h + 1
    elif x.mean() > 1:
        h = h.relu()
    else:
        h = h.relu()
    return h
"""


def test_inner_sides_alike() -> None:
    analysis = check(TEXT, settings=Settings(entries=("run",)))
    outer = analysis.findings[0]
    change = resolve(analysis, outer, outer.offers[0])
    assert isinstance(change, Change)
    assert "(x.sum() > 0, h + 1, h.relu())" in apply_edits(TEXT, change.edits)
