"""A check under a ``finally``: an effect that raises passes it (unsafe, and said), if nothing there ends it."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest

from graphmend_lsp.check import Accept, check, mend
from graphmend_lsp.settings import Settings

MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = False

    def checked(self, x, mask):
        torch._check_tensor_all(mask.sum() > 1)
        return x * mask

    def forward(self, x, mask):
        self.inside = True
        try:
            return self.checked(x, mask)
        finally:
            self.inside = False


CASES = [("Model", [lambda: (torch.arange(3.0), torch.tensor([True, True, False]))])]
"""
SETTINGS = Settings(entries=("Model",), runtime="package")


def offers(text: str) -> dict[str, str]:
    (finding,) = check(text, "model.py", settings=SETTINGS).findings
    return {offer.kind: offer.changes for offer in finding.offers}


def test_the_check_passes_it(tmp_path: Path) -> None:
    assert mend(MODEL, "model.py", settings=SETTINGS).text == MODEL
    assert "`Model.forward` is to clean up in a `finally`" in offers(MODEL)["trap"]
    assert "which does not run" in offers(MODEL)["assert"]
    before, after = tmp_path / "model.py", tmp_path / "model.fixed.py"
    before.write_text(MODEL)
    after.write_text(mend(MODEL, "model.py", settings=SETTINGS, accept=Accept(unsafe=True)).text)
    assert execute.breaks(before)["Model"] and not execute.breaks(after)["Model"]
    (case,) = execute.cases(execute.load(before, "model"))
    assert not execute.compare(before, after, case)


@pytest.mark.parametrize(
    "end",
    [
        "        except RuntimeError:\n            return x\n        finally:\n            self.inside = False",
        "        finally:\n            return x",
        "        finally:\n            raise ValueError('no')",
    ],
)
def test_what_may_end_the_exception(end: str) -> None:
    text = MODEL.replace("        finally:\n            self.inside = False", end)
    assert text != MODEL and not offers(text)
