"""Masks whose size stays in the graph as a symbol, and loops over what is hit (unsafe, and said)."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest

from graphmend_lsp.check import Accept, check, mend
from graphmend_lsp.settings import Settings

HEAD = """
import torch
from torch import Tensor, nn
from torch.nn import functional as F

torch.manual_seed(1)
LAYERS = nn.ModuleDict({f"expert_{n}": nn.Linear(3, 3) for n in range(4)})
BIAS = torch.randn(4, 3)


"""
MAKERS = (
    "[lambda n=n: (torch.arange(15.0).reshape(5, 3) - 7, torch.tensor(n)) for n in"
    " ([0, 1, 2, 1, 0], [1, 1, 1, 1, 1], [3, 2, 3, 2, 2], [0, 0, 2, 0, 0])]"
)
SETTINGS = Settings(entries=("fn",), runtime="package", symbols=True)


def text_of(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{HEAD}def fn(x: Tensor, ids: Tensor):\n{lines}\n\nCASES = [('fn', {MAKERS})]\n"


def experts(search: str, body: str, mask: str = "F.one_hot(ids[:, None], num_classes=4).permute(2, 1, 0)") -> str:
    head = f"out = torch.zeros_like(x)\nmask = {mask}\nhit = {search}\nfor i in hit:\n"
    return head + "".join(f"    {line}\n" for line in body.split("\n")) + "return out"


SEARCH = "torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()"
ROWS = (
    "place, token = torch.where(mask[i].squeeze(0))\n"
    'rows = LAYERS[f"expert_{i[0]}"](x[None, token].reshape(-1, x.shape[-1]))\n'
    "rows *= 0.5\n"
    "out.index_add_(0, token, rows.to(x.dtype))"
)
NUMBERS = (
    "i = i[0]\nif i == 3:\n    continue\nplace, token = torch.where(mask[i])\n"
    "rows = x[token] * BIAS[i, None, :] + BIAS[i]\nout[token] += rows"
)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("return torch.sin(x[ids == 1])", ["x[graph_mask(x, ids == 1)]"]),
        (
            "chosen = ids == 1\nout = torch.zeros_like(x)\nrows = LAYERS['expert_1'](x[chosen])\n"
            "out[chosen] = rows\nout[~chosen] = 1\nreturn out",
            ["(x[graph_mask(x, chosen)])", "out[graph_mask(out, chosen)] = rows", "out[~chosen] = 1"],
        ),
        (
            "x = x * 2\nx[ids > 0, :] = x[ids > 0, :] + 1\nreturn x",
            ["= x[graph_mask(x, ids > 0, slice(None))] + 1", "x[graph_mask(x, ids > 0, slice(None))] ="],
        ),
        ("x = x * 2\nx[ids > 0] += torch.ones(3)\nreturn x", ["x[graph_mask(x, ids > 0)] += torch.ones(3)"]),
        (
            "return x.T[:, ids > 0], x.T[1:, ids > 0]",
            ["x.T[graph_mask(x.T, slice(None), ids > 0)]", "x.T[graph_mask(x.T, slice(1, None), ids > 0)]"],
        ),
        ("a, b = torch.where(x > 0)\nreturn x[a] + b[:, None]", ["a, b = graph_nonzero(x > 0, as_tuple=True)"]),
        ("return (x > 0).nonzero() + 1, torch.argwhere(x)", ["graph_nonzero(x > 0) + 1, graph_nonzero(x)"]),
        (
            "x = x * 1\nx[torch.where(ids == 1)] = x[0] * 2\nreturn x",
            ["x[graph_nonzero(ids == 1, as_tuple=True)] = x[0] * 2"],
        ),
        (
            "rows = torch.nonzero(ids, as_tuple=True)[0]\nreturn torch.zeros(len(rows), 2), x[rows].mean(0)",
            ["graph_nonzero(ids, as_tuple=True)[0]"],
        ),
        (
            experts(SEARCH, ROWS),
            [
                "hit = torch.greater(mask.sum(dim=(-1, -2)), 0)\n",
                "for i in graph_each(hit):\n        place, token = graph_nonzero(mask[i : i + 1].squeeze(0), as_tuple=",
                'LAYERS[f"expert_{i}"](',
            ],
        ),
        (
            experts("(mask.sum((1, 2)) > 0).nonzero()", NUMBERS),
            ["for i in graph_each(hit):\n        if i == 3:", "graph_nonzero(mask[i], as_tuple=True)"],
        ),
    ],
)
def test_the_rows_stay_in_the_graph(body: str, wanted: list[str], tmp_path: Path) -> None:
    text = text_of(body)
    assert mend(text, "code.py", settings=SETTINGS).text == text
    done = mend(text, "code.py", settings=SETTINGS, accept=Accept(unsafe=True))
    assert {offer.kind for _, offer in done.applied} == {"symbol"} and all(offer.changes for _, offer in done.applied)
    for part in wanted:
        assert part in done.text
    before, after = tmp_path / "code.py", tmp_path / "code.fixed.py"
    before.write_text(text)
    after.write_text(done.text)
    assert execute.breaks(before)["fn"] and not execute.breaks(after)["fn"]
    (case,) = execute.cases(execute.load(before, "code"))
    assert not execute.compare(before, after, case)
    assert not check(done.text, "code.py", settings=SETTINGS).findings


@pytest.mark.parametrize(
    "body",
    [
        "rows = x[ids > 0]\nif rows.shape[0] > 2:\n    x = x + 1\nreturn x",
        "rows = (ids > 0).nonzero()\nfor row in rows:\n    x = x + row\nreturn x",
        "rows = (ids > 0).nonzero()\nreturn [x[row] for row in rows]",
        "rows = x[ids > 0]\nfor n in range(len(rows)):\n    x = x + n\nreturn x",
        "return ids[ids > 0].tolist(), x",
        "return x[(ids > 0).nonzero().squeeze()]",
        "return nn.functional.interpolate(x[ids > 0][None], size=7)",
        "return torch.einsum('ij,kj->ik', x[ids > 0], x)",
        "return x[ids > 0].cumsum(0)",
        "rows = x[ids > 0]\nreturn torch.cat([rows, rows, rows]).reshape(3, -1)",
        "rows = torch.where(ids > 0)[0]\nreturn [a for a, _ in zip(rows, rows)], x",
        "return (x + 1)[ids > 0]",
        "return x[ids > 0, ids[:3]], x",
        "if x.sum() > 3:\n    x = x[ids > 0]\nreturn x",
        experts(SEARCH, ROWS + "\nx = x + 1"),
        experts(SEARCH, ROWS + "\nlast = rows.sum()") + " + last",
        experts(SEARCH, ROWS + "\nout.mul_(2)"),
        experts(SEARCH, ROWS + "\nLAYERS.seen = i"),
        experts(SEARCH, ROWS.replace("{i[0]}", "{i[0]!r}")),
        experts(SEARCH, "out.index_add_(0, torch.arange(5), x)"),
        experts(SEARCH, ROWS.replace("mask[i]", "mask[:, i]")),
        experts(SEARCH, "place, token = torch.where(mask[i].squeeze(0))\nif token.shape[0] == 0:\n    break\n" + ROWS),
        experts(SEARCH, NUMBERS.replace("BIAS[i]", "BIAS[i] * i")),
        experts(SEARCH, ROWS) + ", hit",
        experts("torch.less(mask.sum(dim=(-1, -2)), 0).nonzero()", ROWS),
        experts(SEARCH, ROWS, "F.one_hot(ids[:, None], num_classes=4).T"),
    ],
)
def test_what_has_to_know_how_many(body: str) -> None:
    analysis = check(text_of(body), "code.py", settings=SETTINGS)
    assert analysis.findings and not analysis.internal
    sized = [f for f in analysis.findings if f.code == "GM501" and "torch.where(mask" not in f.message]
    assert sized and not [offer for finding in sized for offer in finding.offers if offer.kind == "symbol"]


def test_only_where_torch_can() -> None:
    settings = Settings(entries=("fn",), runtime="package", torch_version=(2, 12), symbols=True)
    for body in ("return x[ids > 0] + 1", experts(SEARCH, ROWS)):
        text = text_of(body)
        assert mend(text, "code.py", settings=settings, accept=Accept(unsafe=True)).text == text


def test_only_for_those_who_ask() -> None:
    settings = Settings(entries=("fn",), runtime="package")
    for body in ("return x[ids > 0] + 1", experts(SEARCH, ROWS)):
        text = text_of(body)
        assert mend(text, "code.py", settings=settings, accept=Accept(unsafe=True)).text == text
        finding = check(text, "code.py", settings=settings).findings[0]
        assert not finding.offers and any("the setting `symbols`" in refusal.message for refusal in finding.refusals)
