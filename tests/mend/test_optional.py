"""Parameters that are tensors in the compiled calls only: the other calls go on working."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import execute
import pytest
import torch

from graphmend_lsp.check import mend
from graphmend_lsp.finding import Finding, Offer

SOURCE = '''"""Helpers that take a tensor where they are compiled, and nothing or a number where a model is built."""

from typing import Optional

import torch
from torch import Tensor, nn


def guarded(y: Tensor, n: Optional[Tensor] = None):
    return y * n if n is not None and n.sum() > 3 else y * 2


def guarded_statement(y: Tensor, n: Optional[Tensor] = None):
    z = y * 1
    if n is not None and n.sum() > 3:
        z = y * n
    return z


def both(y: Tensor, n=None):
    if n and n > 3:
        z = y * 2
    else:
        z = y * 3
    return z


def compared(y: Tensor, n: Optional[int] = None):
    z = y * 3
    if n > 3:
        z = y * 2
    return z


def negated(y: Tensor, n=None):
    z = y * 3
    if not n:
        z = y * 2
    return z


def true(y: Tensor, n=None):
    z = y * 3
    if n:
        z = y * 2
    return z


def number(y: Tensor, n=1):
    if y.sum() > 3:
        z = n * 2
    else:
        z = n * 3
    return y + z


def from_a_number(y: Tensor, n=1):
    m = n + 1
    z = y * 3
    if m > 3:
        z = y * 2
    return z


def needed_on_one_side(y: Tensor, n=None):
    z = y * 3
    if y.sum() > 3:
        z = y * n
    return z


def needed_before(y: Tensor, n=None):
    z = y * n
    if y.sum() > 3:
        z = y * n + 1
    return z


class Model(nn.Module):
    def forward(self, x):
        n = x.max()
        return (
            guarded(x, n), guarded_statement(x, n), both(x, n), compared(x, n), negated(x, n), true(x, n), number(x, n),
            from_a_number(x, n), needed_on_one_side(x, n), needed_before(x, n),
        )
'''
NAMES = [line.split()[1].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def ")]
GIVEN: list[Any] = [None, 0, 2, 5, torch.tensor(0.0), torch.tensor(2.0), torch.tensor(5.0)]


def anything(finding: Finding, offer: Offer) -> bool:
    return finding.code == "GM101" and offer.kind == "where"


def outcome(function: Any, y: torch.Tensor, n: Any) -> Any:
    try:
        return function(y, n)
    except (TypeError, AttributeError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_value(tmp_path: Path, name: str) -> None:
    modules: list[Any] = []
    for kind, text in (("before", SOURCE), ("after", mend(SOURCE, "optional.py", accept=anything).text)):
        path = tmp_path / f"optional_{kind}.py"
        path.write_text(text, encoding="utf-8")
        modules.append(execute.load(path, f"optional_{kind}"))
    for y in (torch.tensor([1.0, 1.0]), torch.tensor([2.0, 3.0])):
        for n in GIVEN:
            before, after = (outcome(getattr(module, name), y, n) for module in modules)
            if isinstance(before, type) or isinstance(after, type):
                assert before is after, (name, n)
            else:
                assert torch.equal(before, after), (name, n)


def test_what_is_mended() -> None:
    text = mend(SOURCE, "optional.py").text
    for line in (
        "return torch.where(n.sum() > 3, y * n, y * 2) if n is not None else y * 2",
        "    if n is not None:\n        z = torch.where(n.sum() > 3, y * n, z)\n",
        "    z = select(n > 3, y * 2, z)\n",
        "    z = select(n, y * 2, z)\n",
        "    z = select(y.sum() > 3, n * 2, n * 3)\n",
        "    z = select(m > 3, y * 2, z)\n",
    ):
        assert line in text or line.replace("torch.where", "select") in text, line
    assert "    if n and n > 3:\n" in text
    assert "    if not n:\n" in text
    assert "        z = y * n\n    return z\n" in text


def test_a_conversion_may_raise() -> None:
    source = (
        "import torch\nfrom torch import Tensor\n\n\n@torch.compile\ndef f(x: Tensor, items):\n"
        "    y = x * 2\n    if x.sum() > 0:\n        y = torch.tensor(items)\n    return y\n"
    )
    assert mend(source, "conversion.py", accept=anything).text == source
