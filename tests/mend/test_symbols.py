"""Numbers that stay in the graph as symbols (unsafe, and said), and uses of them for which that is refused."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest

from graphmend_lsp.check import Accept, check, mend
from graphmend_lsp.settings import Settings

HEAD = """
import itertools

import torch
from torch import Tensor, nn


"""
MAKERS = "[lambda n=n: (torch.arange(15.0).reshape(5, 3), torch.tensor(n)) for n in ([2, 3], [4, 1], [1, 4])]"
SETTINGS = Settings(entries=("fn",), runtime="package", symbols=True)


def text_of(body: str) -> str:
    return f"{HEAD}def fn(x: Tensor, sizes: Tensor):\n    {body}\n\n\nCASES = [('fn', {MAKERS})]\n"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            "sizes = sizes + 0\n    return torch.cat([part * 2 for part in torch.split(x, sizes.tolist())])",
            "torch.split(x, graph_list(sizes))",
        ),
        (
            "found = []\n    for size in (sizes * 2).tolist():\n        found.append(torch.ones(size, 2))\n"
            "    return torch.cat(found) + x.sum()",
            "for size in graph_list(sizes * 2):",
        ),
        (
            "found = []\n    for at, size in enumerate((sizes * 2).tolist()):\n"
            "        found.append(torch.arange(size * 3).reshape(size, 3) + at)\n    return torch.cat(found)",
            "for at, size in enumerate(graph_list(sizes * 2)):",
        ),
        (
            "height, width = sizes[0].item() + 1, sizes[1].item()\n    return torch.zeros(height, width) + x.sum()",
            "height, width = graph_int(sizes[0]) + 1, graph_int(sizes[1])",
        ),
        (
            "return torch.full((int(sizes.max()),), 2.0) * x.sum()",
            "torch.full((int(graph_int(sizes.max())),), 2.0)",
        ),
        ("return torch.ones((2, sizes.max())) + x.sum()", "torch.ones((2, graph_int(sizes.max()))) + x.sum()"),
        ("return torch.arange(sizes.sum()) * x.sum()", "torch.arange(graph_int(sizes.sum())) * x.sum()"),
        (
            "return torch.repeat_interleave(x[:2], sizes, dim=0) + 1",
            "torch.repeat_interleave(x[:2], sizes, dim=0, output_size=graph_int(sizes.sum()))",
        ),
        ("return x[:2].repeat_interleave(sizes, 0) + 1", "x[:2].repeat_interleave(sizes, 0, output_size=graph_int("),
        ("return torch.repeat_interleave(sizes) + x.sum()", "torch.repeat_interleave(sizes, output_size=graph_int("),
    ],
)
def test_the_numbers_stay_in_the_graph(body: str, wanted: str, tmp_path: Path) -> None:
    text = text_of(body)
    assert mend(text, "code.py", settings=SETTINGS).text == text
    done = mend(text, "code.py", settings=SETTINGS, accept=Accept(unsafe=True))
    assert {offer.kind for _, offer in done.applied} == {"symbol"} and all(offer.changes for _, offer in done.applied)
    assert wanted in done.text
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
        "n = sizes.max().item()\n    return x * 2 if n > 3 else x",
        "n = sizes.max().item()\n    return x[:n]",
        "n = int(sizes.max())\n    return x[n]",
        "n = sizes.max().item()\n    return x.sum() + [1, 2, 3, 4, 5][n]",
        "total = 0\n    for i in range(sizes.max().item()):\n        total = total + x[i]\n    return total",
        "n = sizes.max().item()\n    return x, f'{n} rows'",
        "found = [k for k, _ in itertools.groupby((sizes + 1).tolist())]\n    return x * len(found)",
        "return [x * n for n in (sizes + 1).tolist() if n != 2]",
        "n = sizes.max().item()\n    return x, [0] * n",
        "n = sizes.max().item()\n    return x * float(n)",
        "n = sizes.max().item()\n    m = n + 1\n    while m:\n        m = 0\n    return x",
        "return x, sizes.float().tolist()",
        "return x, sizes.max().item()",
        "return nn.functional.interpolate(x[None], size=sizes.max().item())",
        "h = (int(sizes.max()) + 0.1) / 2\n    return nn.functional.interpolate(x[None], scale_factor=(h,))",
        "return x, {'most': sizes.max().item()}",
        "if x.sum() > 3:\n        x = torch.ones(sizes.max().item())\n    return x",
        "return x * sizes.max().item()",
        "n = sizes.max().item()\n    return torch.arange(n * 12).reshape(-1, 4).mul(2).reshape(3, -1) + x.sum()",
        "return x[:2].repeat_interleave(sizes, 0).repeat(3, 1).view(3, -1) + 1",
    ],
)
def test_what_has_to_know_the_number(body: str) -> None:
    analysis = check(text_of(body), "code.py", settings=SETTINGS)
    assert analysis.findings
    assert not [offer for finding in analysis.findings for offer in finding.offers if offer.kind == "symbol"]


def test_only_where_torch_can(tmp_path: Path) -> None:
    settings = Settings(entries=("fn",), runtime="package", torch_version=(2, 8))
    text = text_of("sizes = sizes + 0\n    return torch.split(x, sizes.tolist())[0]")
    assert mend(text, "code.py", settings=settings, accept=Accept(unsafe=True)).text == text


def test_only_for_those_who_ask() -> None:
    text = text_of("sizes = sizes + 0\n    return torch.split(x, sizes.tolist())[0]")
    settings = Settings(entries=("fn",), runtime="package")
    assert mend(text, "code.py", settings=settings, accept=Accept(unsafe=True)).text == text
    (finding,) = check(text, "code.py", settings=settings).findings
    assert not finding.offers and any("the setting `symbols`" in refusal.message for refusal in finding.refusals)
