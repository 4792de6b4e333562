"""No input makes the analysis raise, and what it cannot follow costs no other function's findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.flow.calls import Calls

NET = """
class Net(nn.Module):
    def first(self, x):
        return {expression}

    def forward(self, x):
        y = self.first(x)
        if x.sum() > 0:  # data
            return x
        return y
"""


def _nested(open_: str, close: str, depth: int) -> str:
    return open_ * depth + "x" + close * depth


@pytest.mark.parametrize(
    "expression",
    [
        " + ".join(["x"] * 2000),
        " and ".join(["x"] * 5000),
        "x" + ".abs()" * 1400,
        _nested("-", "", 900),
        _nested("(", ",)", 90),
        _nested("torch.relu(", ")", 90),
        "x" + "[0]" * 2000,
    ],
    ids=["sum", "and", "calls", "minus", "tuples", "arguments", "items"],
)
def test_deep_expressions(expression: str) -> None:
    text = "import torch\nfrom torch import nn\n" + NET.format(expression=expression)
    found = check(text, "deep.py")
    lines = text.splitlines()
    assert [lines[f.span.line - 1].strip() for f in found.findings if "sum()" in lines[f.span.line - 1]] == [
        "if x.sum() > 0:  # data"
    ]


def test_an_internal_error_costs_one_statement(run: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    original = Calls.call

    def call(self: Calls, node: Any) -> Any:
        if self.source(node).startswith("bad("):
            raise KeyError("planted")
        return original(self, node)

    monkeypatch.setattr(Calls, "call", call)
    made = run("""
        def f(x: Tensor):
            y = bad(x)
            if y.sum() > 0:
                return x
            if x.sum() > 0:
                return -x
            return y
        """)
    facts = made.facts("f")
    assert [event.kind for event in facts.events if event.test is not None and event.test.is_data][-1:] == ["if"]
    assert facts.writes is not None and facts.effects and facts.random
    assert len(made.engine.failures) == 1
    name, trace = made.engine.failures[0]
    assert name == "f" and "planted" in trace


@pytest.mark.parametrize(
    "code",
    [
        "class A(A):\n    def forward(self, x):\n        return super().forward(x)\n",
        "class A(B): pass\nclass B(A):\n    def forward(self, x):\n        return x\n",
        "x = x\ny = z\nz = y\ndef f():\n    return x, y, z\n",
        "def f(x, *, k=f):\n    return f(x, k=f)\n",
        "from dataclasses import dataclass\nfrom typing import Optional\n@dataclass\nclass Node:\n    next: "
        "Optional['Node']\n    def last(self):\n        return self.next.last() if self.next else self\n"
        "def f(n: Node):\n"
        "    return n.last().next.next\n",
        "T = 'T'\ndef f(x: T):\n    return x\n",
        "def f(x):\n    match x:\n        case {'a': [*_, y], **rest} if y > 0:\n            return rest\n",
        "def f(x):\n    del x\n    global x\n    x: int\n    return [x for x in x if (x := x)]\n",
        "async def f(x):\n    async for i in x:\n        await i\n    async with x as (a, *b):\n        yield a\n",
        "def f(x):\n    x.a.b[0].c += 1\n    (x.y, [*z]), w = x\n    x[...] @= lambda: x\n"
        "    return x if x else f(*x, **x)\n",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.b = nn.Sequential()\n"
        "        self.w = self.b[-1].w\n        self.c = nn.Sequential(nn.Identity())[-2]\n"
        "    def forward(self, x):\n        return self.b[0](x) + self.b[-1](x) + self.w\n",
        "def f(x):\n    try:\n        pass\n    except* ValueError as e:\n        raise e from None\n    return x\n",
    ],
)
def test_odd_programs(code: str) -> None:
    text = "import torch\nfrom torch import nn\n@torch.compile\ndef entry(x):\n    return x\n" + code
    assert check(text, "odd.py").internal == ()
