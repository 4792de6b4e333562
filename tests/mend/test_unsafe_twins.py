"""Rewrites that change something and say so: what they are on ordinary inputs, and that they lose the break."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest

from graphmend_lsp.check import Accept, mend
from graphmend_lsp.settings import Settings

HEAD = """
import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn


"""
ROW = "[lambda: (torch.tensor([[0.5, 2.0, 4.0], [1.0, -1.0, 8.0]]),)]"


@pytest.mark.parametrize(
    ("body", "arguments", "wanted"),
    [
        (
            "cache, start = torch.zeros(2, 9), x.argmax() % 4\n    n = x.shape[1]\n"
            "    cache[:, start : start + n] = x\n    return cache",
            ROW,
            "cache.index_copy_(1, start + torch.arange(n, device=cache.device), x)",
        ),
        ("return 2 * x[x > 1].mean()", ROW, "return 2 * (torch.where(x > 1, x, 0).sum() / (x > 1).sum())"),
        ("return torch.sum(x[x > 1])", ROW, "return torch.where(x > 1, x, 0).sum()"),
        ("return x[(x.sum(-1) > 50).sum()] * 2", ROW, "return x[(x.sum(-1) > 50).sum().reshape(1)].squeeze(0) * 2"),
        (
            "first = F.one_hot(x[0].long().clamp(0), 9)\n    return F.one_hot(x[1].long().clamp(0)) * first",
            ROW,
            "return F.one_hot(x[1].long().clamp(0), num_classes=9) * first",
        ),
        ("return x.clamp(max=x.mean().item())", ROW, "x.clamp(max=x.mean().detach())"),
        ("return torch.where(x > 0, x.mean().item(), x)", ROW, "torch.where(x > 0, x.mean().detach(), x)"),
        (
            "return x.masked_fill(x > 0, x.min().item()), x > float(x.mean())",
            ROW,
            "x.min().detach()), x > x.mean().detach()",
        ),
        ("return x.sum() / max((x > 0).sum().item(), 1)", ROW, "x.sum() / (x > 0).sum().detach().clamp(min=1)"),
        ("n = min(4.0, abs(float(x.min())))\n    return x * n", ROW, None),
        (
            "n = min(abs(float(x.min().item())), 4.0)\n    return x * n",
            ROW,
            "n = x.min().detach().abs().clamp(max=4.0)",
        ),
        ("n = int((x > 0).sum())\n    return x.sum() / max(n, 1)", ROW, "n = (x > 0).sum().detach()"),
        (
            "low, high = x.min().item(), x.max().item()\n    return (x - low) / (high - low)",
            ROW,
            "low, high = x.min().detach(), x.max().detach()",
        ),
        (
            "y = x.clone()\n    y[x > 0] = x.mean().item()\n    y[0] = x.sum().item()\n"
            "    y *= x.max().item()\n    return y",
            ROW,
            "y *= x.max().detach()",
        ),
        (
            "eps = 1e-3\n    total = x.sum().item()\n    return x / max(total, eps), x * min(x.mean().item(), eps)",
            ROW,
            "x * x.mean().detach().clamp(max=eps)",
        ),
        ("return x.clamp(x.min().item(), 3.0)", ROW, None),
        ("return torch.where(x > 0, x.mean().item(), 0.0)", ROW, None),
        ("return x.add(x, alpha=x.max().item())", ROW, None),
        ("return x.sum() / max(x.max().item(), x.shape[0])", ROW, None),
        ("return x * int(x.sum())", ROW, None),
        ("return (x[x > 1] - 1).abs().mean()", ROW, "torch.where(x > 1, x - 1, 0).abs().sum() / (x > 1).sum()"),
        (
            "return x.masked_select(x > 1).mean() - torch.masked_select(x, x < 1).sum()",
            ROW,
            "torch.where(x > 1, x, 0).sum() / (x > 1).sum() - torch.where(x < 1, x, 0).sum()",
        ),
        (
            "m = x > 0\n    return F.mse_loss(x[m], (x * 2)[m])",
            ROW,
            'F.mse_loss(torch.where(m, x, 0), torch.where(m, x * 2, 0), reduction="sum") / m.sum()',
        ),
        (
            "m = x > 0\n    d = x[m] - (x * 3)[m]\n    return (d ** 2).mean() - d.mean() ** 2",
            ROW,
            "(d ** 2).sum() / m.sum() - (d.sum() / m.sum()) ** 2",
        ),
        ("return (x[x > 1] > 3).float().mean()", ROW, "torch.where(x > 1, x > 3, False).float().sum() / (x > 1).sum()"),
        ("m = x > 0\n    d = x[m]\n    return d.mean() * d.shape[0]", ROW, None),
        ("m = x > 0\n    d = x[m]\n    m = x > 1\n    return d.mean(), m", ROW, None),
        ("return x[x > 1].log().mean(), (1 / x[x > 1]).sum()", ROW, None),
        ("return x[x.sum(-1) > 0].mean()", ROW, None),
        (
            "m = x > 0\n    y = torch.zeros_like(x)\n    y[m] = x[m] * 0.5 + 1\n    return y",
            ROW,
            "y.copy_(torch.where(m, x * 0.5 + 1, y))",
        ),
        (
            "y = x.clone()\n    y[torch.nonzero(x.sum(0) > 0, as_tuple=True)] = 3\n    return y",
            ROW,
            "y[x.sum(0) > 0] = 3",
        ),
        (
            "c = x.flatten().long().clamp(0, 8)\n    return torch.bincount(c, minlength=9)",
            ROW,
            "torch.zeros(9, dtype=torch.int64, device=c.device).scatter_add_(",
        ),
        ("i = int((x > 100).sum())\n    return x[:, i] * 2", ROW, "return x[:, i.reshape(1)].squeeze(1) * 2"),
        ("return copy.deepcopy(x * 2) + 1", ROW, "return (x * 2).detach().clone() + 1"),
        (
            "class Gain(nn.Module):\n        def forward(self, x):\n            return x * 2\n\n    return Gain()(x)",
            ROW,
            "class Gain(nn.Module):\n    def forward(self, x):",
        ),
    ],
)
def test_rewritten(body: str, arguments: str, wanted: str | None, tmp_path: Path) -> None:
    """``wanted``: what the new text has in it; None if the code stays as it is."""
    text = f"{HEAD}def fn(x: Tensor):\n    {body}\n\n\nCASES = [('fn', {arguments})]\n"
    before, after = tmp_path / "code.py", tmp_path / "code.fixed.py"
    before.write_text(text)
    settings = Settings(entries=("fn",), runtime="package")
    assert mend(text, "code.py", settings=settings).text == text
    done = mend(text, "code.py", settings=settings, accept=Accept(unsafe=True))
    if wanted is None:
        assert done.text == text
        return
    assert all(offer.changes for _, offer in done.applied)
    assert wanted in done.text
    after.write_text(done.text)
    assert execute.breaks(before)["fn"]
    assert not execute.breaks(after)["fn"]
    (case,) = execute.cases(execute.load(before, "code"))
    args = case.makers[0]()
    known, made = (execute.behave(path, case, args) for path in (before, after))
    assert [str(tree) for tree in known.outputs] == [str(tree) for tree in made.outputs]


def test_the_expression_at_fault_is_replaced_not_one_that_looks_like_it() -> None:
    text = f"{HEAD}def fn(x: Tensor, y: Tensor):\n    m = x.max()\n    return float(m.item()), y * m.item()\n"
    done = mend(text, "code.py", settings=Settings(entries=("fn",)), accept=Accept(unsafe=True))
    assert "return float(m.item()), y * m.detach()" in done.text


def test_a_class_that_needs_what_comes_later_stays() -> None:
    body = "class Gain(Base):\n        k = 2\n\n    return x * Gain.k\n\n\nclass Base:\n    pass\n"
    text = f"{HEAD}def fn(x: Tensor):\n    {body}"
    done = mend(text, "code.py", settings=Settings(entries=("fn",)), accept=Accept(unsafe=True))
    assert done.text == text


def test_a_class_of_a_parameters_name_stays() -> None:
    body = "def fn(x: Tensor, C=None):\n    class C:\n        k = 2\n\n    return x * C.k\n"
    assert mend(HEAD + body, "code.py", settings=Settings(entries=("fn",))).text == HEAD + body
