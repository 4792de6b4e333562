"""What in a file can be profiled, and whether its source is what it was."""

from __future__ import annotations

import textwrap

import pytest

from graphmend_lsp.check import NoProgram
from graphmend_lsp.parse import parse
from graphmend_lsp.profile.anchors import measured
from graphmend_lsp.profile.report import Arm, Confirmed, Graph, Report, Site
from graphmend_lsp.profile.targets import digest, outline, targets
from graphmend_lsp.settings import Settings

PATH = "/project/model.py"


def _outline(text, before=None, named=()):
    parsed = parse(text, before.parsed if before is not None else None)
    return outline(PATH, parsed, NoProgram(), Settings(entries=named), before)


def _found(text, named=()):
    text = textwrap.dedent(text)
    return [(t.name, t.kind, t.span.line) for t in targets(PATH, parse(text), NoProgram(), Settings(entries=named))]


def test_entries_and_modules():
    text = """\
    import torch
    from torch import nn
    class Base(nn.Module):
        def forward(self, x): return self.inner(x)
    class Inherits(Base): pass
    class NoForward(nn.Module): pass
    class Plain:
        def forward(self, x): return x
        @torch.compile
        def step(self, x): return x
    @torch.compile(fullgraph=True)
    def decorated(x): return x
    def elsewhere(x): return x
    def configured(x): return x
    def plain(x): return x
    fast = torch.compile(elsewhere)
    """
    assert _found(text, ("configured",)) == [
        ("Base", "module", 3),
        ("Inherits", "module", 5),
        ("Plain.step", "compiled", 10),
        ("decorated", "compiled", 12),
        ("elsewhere", "compiled", 13),
        ("configured", "compiled", 14),
    ]


def test_a_compiled_class_is_one_target():
    text = """\
    import torch
    class Net(torch.nn.Module):
        @torch.compile
        def forward(self, x): return x
    """
    assert _found(text) == [("Net", "compiled", 2)]


def test_ranges_and_parameters():
    text = textwrap.dedent("""\
    import torch
    # é
    @torch.compile
    async def é(a, b: int = 2, *rest, c: "torch.Tensor", **more):
        return a

    class Net(torch.nn.Module):
        def __init__(self, width: int): ...
        def forward(self, x, mask=None): ...
    """)
    function, net = targets(PATH, parse(text), NoProgram(), Settings())
    assert (function.first, function.last, text.split("\n")[3][function.span.column :][:1]) == (3, 5, "é")
    assert [(p.name, p.annotation, p.required, p.keyword_only) for p in function.call] == [
        ("a", "", True, False),
        ("b", "int", False, False),
        ("c", "'torch.Tensor'", True, True),
    ]
    assert [(p.name, p.required) for p in net.call] == [("x", True), ("mask", False)]
    assert [(p.name, p.annotation) for p in net.init] == [("width", "int")]


GOOD = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x

@torch.compile
def f(x):
    return x
"""


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("        return x\n\n@", "        return (x\n\n@", [3, 8]),
        ("def f(x):", "def f(x:", [3, 8]),
        ("import torch\n", "import torch\nx = (\n", [4, 9]),
        ("class Net(torch.nn.Module):", "class Net(torch.nn.Module:", [3, 8]),
    ],
)
def test_while_typing_nothing_moves(old, new, lines):
    before = _outline(GOOD)
    now = _outline(GOOD.replace(old, new), before)
    assert now.parsed.failure is not None
    assert [target.name for target in now.targets] == ["Net", "f"]
    assert [target.span.line for target in now.targets] == lines
    later = _outline(GOOD.replace(old, new) + "\n", now)  # the next key, from the broken state
    assert [target.span.line for target in later.targets] == lines


def test_digest_is_of_the_source_wherever_it_stands():
    net, function = targets(PATH, parse(GOOD), NoProgram(), Settings())
    moved = GOOD.replace("class Net", "y = 1\n\n\nclass Net").replace("\n", "\r\n")
    moved = moved.replace("return x\r\n\r\n@", "return x  \r\n\r\n@")
    again = targets(PATH, parse(moved), NoProgram(), Settings())
    assert [digest(moved, t) for t in again] == [digest(GOOD, net), digest(GOOD, function)]
    decorated = GOOD.replace("@torch.compile\n", "@torch.compile(dynamic=True)\n")
    _, other = targets(PATH, parse(decorated), NoProgram(), Settings())
    assert digest(decorated, other) != digest(GOOD, function)


TWO = """\
import torch

def helper(x):
    print(x)
    return x

class Net(torch.nn.Module):
    def forward(self, x):
        x = helper(x)
        return x.item()
"""


@pytest.fixture
def result():
    site = Site(PATH, 4, "print", "GB0059", 1, "helper")
    item = Site(PATH, 10, "item", "GB0124", 1, "Net.forward")
    arm = Arm((Graph(2, {PATH: (9,)}),), 2, (site, item))
    report = Report(PATH, "Net", device="cpu", original=arm, findings=(Confirmed(PATH, 4, "GM201", "confirmed"),))
    known = _outline(TWO)
    return measured(report, lambda path: known if path == PATH else None)


def _look(result, text):
    now = _outline(text)
    return result.line(PATH, 4, now), result.line(PATH, 10, now), result.stale(lambda path: now)


def test_measured_lines_follow_their_function(result):
    assert _look(result, TWO) == (4, 10, False)
    assert _look(result, TWO.replace("import torch\n", "import torch\nimport os\n")) == (5, 11, False)
    helper = TWO[TWO.index("def helper") : TWO.index("class")]
    assert _look(result, TWO.replace(helper, "") + "\n\n" + helper) == (10, 6, False)


def test_an_edit_takes_away_what_it_touches(result):
    assert _look(result, TWO.replace("print(x)", "print(x, x)")) == (None, 10, True)
    assert _look(result, TWO.replace("x.item()", "x.sum().item()")) == (4, None, True)
    assert _look(result, TWO.replace("class Net(torch.nn.Module):", "class Net(torch.nn.Module):\n    a = 1")) == (
        4,
        11,
        True,
    )
    assert _look(result, TWO.replace("class Net", "class Other")) == (4, None, True)


def test_what_nobody_has_open_is_not_stale(result):
    assert not result.stale(lambda path: None)
