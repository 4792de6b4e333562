"""Calls that only run because of how a function is called: the message says what to pass, and TorchDynamo agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import execute
import pytest
import torch

from graphmend_lsp.check import check
from graphmend_lsp.settings import Settings

TEXT = """
import logging
import warnings

import torch

logger = logging.getLogger(__name__)


def fn(x: torch.Tensor, mask=None, cache=None, verbose: bool = False, *, group="world", **others):
    {before}
    {condition}
        {call}
    return x + 1
"""
ONES = torch.ones(4)
WARNING = 'logger.warning("deprecated")'


@pytest.mark.parametrize(
    ("condition", "words", "given", "asked"),
    [
        ("if mask is None:", "pass `mask`", {}, {"mask": ONES}),
        ("if not (mask is not None or x.dim() == 3):", "pass `mask`", {}, {"mask": ONES}),
        ("if cache is not None and x.shape[0] > 1:", "leave out `cache`", {"cache": ONES}, {}),
        (
            "if isinstance(cache, tuple):",
            "pass `cache` as something else than `tuple`",
            {"cache": (1, 2)},
            {"cache": [1]},
        ),
        ("if not isinstance(cache, (list, dict)):", "pass `cache` as `(list, dict)`", {}, {"cache": [1, 2]}),
        ("if verbose:", "pass `verbose=False`", {"verbose": True}, {"verbose": False}),
        ("if x.dim() == 1 and not verbose:", "pass `verbose=True`", {}, {"verbose": True}),
        ("if 'padding' in others:", "leave out `padding`", {"padding": 1}, {}),
        ("if 'padding' not in others:", "pass `padding`", {}, {"padding": 1}),
        ("if group is not None:", "pass None as `group`", {}, {"group": None}),
        ("if mask is not None:\n        x = x * mask\n    else:", "pass `mask`", {}, {"mask": ONES}),
        ("if mask is None:\n      for _ in range(2):", "pass `mask`", {}, {"mask": ONES}),
    ],
)
def test_what_to_pass(condition: str, words: str, given: dict[str, Any], asked: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "guarded.py"
    path.write_text(TEXT.format(before="pass", condition=condition, call=WARNING))
    (finding,) = check(path.read_text(), path.name, settings=Settings(entries=("fn",))).findings
    assert finding.message.endswith(f"; {words}, and it is not reached"), finding.message
    for arguments, breaks in ((given, True), (asked, False)):
        torch._dynamo.reset()
        with execute.recorded_breaks(path) as seen, execute.quiet():
            torch.compile(execute.load(path, "guarded").fn, backend="eager")(ONES, **arguments)
        assert bool(seen) is breaks, (arguments, seen)


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        ("mask = None if cache is None else mask", "if mask is None:"),  # another value than was passed
        ("pass", "if mask is None or verbose:"),  # one of them alone is not enough
        ("pass", "for _ in range(2):\n        mask = None\n        if mask is None:"),
        ("known = None", "if known is None:"),
        ("pass", "if x.shape[0] == 4:"),
        ("pass", "if group:"),  # any text will do
    ],
)
def test_nothing_to_pass(before: str, condition: str) -> None:
    text = TEXT.format(before=before, condition=condition, call="    " + 'warnings.warn("deprecated")')
    text = text if "\n        if" in condition else text.replace("            warnings", "        warnings")
    (finding,) = check(text, "guarded.py", settings=Settings(entries=("fn",))).findings
    assert finding.message.endswith("splits the graph here"), finding.message
