"""What matters for a function's result, and what is followed to learn it."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.flow.slices import returned_by


def kept(text: str) -> list[str] | None:
    body = ast.parse("def f(a, b):\n" + "".join(f"    {line}\n" for line in text.split("\n"))).body[0]
    assert isinstance(body, ast.FunctionDef)
    found = returned_by(body.body)
    return None if found is None else sorted(ast.unparse(stmt).split("\n")[0] for stmt in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a + 1\ny = b\nreturn x", ["return x", "x = a + 1"]),
        ("log = make(b)\na.note = log\nreturn a", ["return a"]),
        ("x = []\nx.append(b)\nprint(a)\nreturn x", ["return x", "x = []", "x.append(b)"]),
        ("x = {}\nx['k'] = b\nreturn x", ["return x", "x = {}", "x['k'] = b"]),
        ("if a:\n    b = 2\nreturn b", ["b = 2", "if a:", "return b"]),
        ("if a:\n    c = 2\nreturn b", ["return b"]),
        ("if a:\n    raise ValueError\nreturn b", ["if a:", "raise ValueError", "return b"]),
        ("for b in a:\n    c = b\nreturn b", ["for b in a:", "return b"]),
        ("with a as c:\n    d = 1\nreturn c", ["return c", "with a as c:"]),
        ("k = 1\ndef g():\n    return k\nreturn g", ["def g():", "k = 1", "return g"]),
        ("def g():\n    return k\nk = g()\nreturn a", ["return a"]),
        ("x = yield a\ny = b", ["x = (yield a)"]),
        ("(y := b)\nreturn y", ["(y := b)", "return y"]),
        ("x = y = z\nz = a\nreturn y", ["return y", "x = y = z", "z = a"]),
    ],
)
def test_the_statements_that_count(text: str, expected: list[str]) -> None:
    assert kept(text) == sorted(expected)


def test_where_names_are_read_unseen_everything_counts() -> None:
    assert kept("x = a\nreturn locals()") is None


def test_what_a_constructor_learns_is_what_the_functions_return() -> None:
    text = """
import torch
from torch import nn


def checked(size):
    note = describe(size)
    print(note)
    return torch.zeros(size)


def describe(size):
    return str(size)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = checked(3)

    def forward(self, x: torch.Tensor):
        if self.scale.sum() > 0:
            x = x * 2
        return x
"""
    assert [(f.code, f.function) for f in check(text).findings] == [("GM101", "Net.forward")]


def test_a_decorator_that_does_much_besides_leaves_its_function() -> None:
    text = """
import torch
from torch import nn


def documented(fn):
    doc = build(fn)
    fn.__doc__ = doc
    return fn


def build(fn):
    return "".join(str(line) for line in [fn.__name__])


class Net(nn.Module):
    @documented
    def forward(self, x: torch.Tensor):
        print(x)
        return x
"""
    assert [(f.code, f.function) for f in check(text).findings] == [("GM201", "Net.forward")]
