"""Mended code speaks of the lines of the file on disk."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import linecache
import logging
import sys
import traceback
import warnings
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmend_lsp import check as core
from graphmend_lsp import hook
from graphmend_lsp.check import Mended
from graphmend_lsp.hook.relocate import relocate
from graphmend_lsp.origins import origins
from graphmend_lsp.text import Edit, Span, apply_edits, split_lines

from .conftest import ROOT, Write

SOURCE = '''\
"""A model."""
import logging
import warnings

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.fc(x)
        if h.abs().max() > 10:
            h = h.clamp(
                -10,
                10,
            )
        logger.warning("the norm is %s", 3)
        warnings.warn("careful")
        print(f"shape {tuple(h.shape)}", where())
        if (x < -100).any():
            raise ValueError(
                f"bad input: {x.min()}"
            )
        return torch.relu(h)


def where() -> int:
    return 0


def fails(value: int) -> float:
    # a comment
    return (
        1
        / value
    )
'''


@pytest.fixture
def net(place: Path, write: Write) -> ModuleType:
    write("net_places.py", SOURCE)
    hook.install("net_places")
    module = importlib.import_module("net_places")
    names = {name for name, value in vars(module).items() if inspect.isfunction(value)}
    assert len(names - {"where", "fails", "graph_effect"}) >= 3  # the helpers
    return module


def line_of(text: str, source: str = SOURCE) -> int:
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


def test_code_stands_in_the_original_file_and_lines(net: ModuleType) -> None:
    assert net.__file__ is not None
    for function, text in ((net.Net.forward, "def forward"), (net.where, "def where"), (net.fails, "def fails")):
        assert function.__code__.co_filename == net.__file__
        assert function.__code__.co_firstlineno == line_of(text)


def test_source_is_that_of_the_file(net: ModuleType) -> None:
    linecache.checkcache()
    lines = SOURCE.splitlines(keepends=True)
    assert inspect.getsource(net.Net.forward) == "".join(
        lines[line_of("def forward") - 1 : line_of("return torch.relu")]
    )
    assert inspect.getsource(net.fails) == "".join(lines[line_of("def fails") - 1 :])
    assert inspect.getsource(net.Net) == "".join(lines[line_of("class Net") - 1 : line_of("return torch.relu")])
    assert inspect.getsource(net) == SOURCE
    for value in list(vars(net).values()):
        if inspect.isfunction(value):
            inspect.getsource(value)  # helpers too give some text


def test_a_traceback_shows_the_original_line_and_place(net: ModuleType) -> None:
    try:
        net.fails(0)
    except ZeroDivisionError as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        assert (frame.filename, frame.lineno, frame.line) == (net.__file__, line_of("/ value") - 1, "1")
        if sys.version_info >= (3, 11):
            assert (frame.end_lineno, frame.colno, frame.end_colno) == (line_of("/ value"), 8, 15)


def test_an_exception_of_mended_code_points_at_the_original_statement(net: ModuleType) -> None:
    with pytest.raises(ValueError, match="bad input") as caught:
        net.Net()(torch.full((1, 4), -200.0))
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == net.__file__]
    assert [(f.lineno, f.line) for f in frames] == [
        (line_of("if (x < -100)"), "if (x < -100).any():"),
        (line_of("raise ValueError"), "raise ValueError("),
    ]


def test_log_records_and_warnings_name_the_original_line(net: ModuleType) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(filename)s:%(lineno)d %(message)s"))
    net.logger.addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net.Net()(torch.ones(1, 4))
        torch.compile(net.Net(), backend="eager", fullgraph=True)(torch.ones(1, 4))
    assert stream.getvalue() == f"net_places.py:{line_of('logger.warning')} the norm is 3\n" * 2
    mine = [w for w in caught if w.filename == net.__file__]
    assert [w.lineno for w in mine] == [line_of("warnings.warn")] * 2


def test_torchscript_compiles_the_text_of_the_file(place: Path, write: Write) -> None:
    write(
        "scripted.py",
        """\
        import torch


        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                print("step")
                return x + 1
        """,
    )
    hook.install("scripted")
    module = importlib.import_module("scripted")
    assert torch.jit.script(module.Net())(torch.ones(1)).item() == 2


# -- the pieces ---------------------------------------------------------------------------------------


def relocated(text: str) -> tuple[ast.Module, Mended]:
    mended = core.mend(text, "m.py")
    lines = origins(text, [edits for _, edits in mended.rounds])[-1]
    tree = ast.parse(mended.text)
    relocate(tree, text, lines)
    return tree, mended


def places(node: ast.AST) -> list[tuple[str, int, int, int, int]]:
    return [
        (type(n).__name__, n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
        for n in ast.walk(node)
        if hasattr(n, "lineno")
    ]  # type: ignore[attr-defined]


def functions(code: CodeType) -> dict[str, CodeType]:
    found = {code.co_qualname if sys.version_info >= (3, 11) else code.co_name: code}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= functions(constant)
    return found


def test_every_line_of_mended_code_exists_and_untouched_statements_keep_their_place() -> None:
    tree, mended = relocated(SOURCE)
    assert mended.text != SOURCE
    compile(tree, "m.py", "exec")
    count = len(split_lines(SOURCE))
    for name, line, column, end_line, end_column in places(tree):
        assert 1 <= line <= end_line <= count, name
        assert (line, column) <= (end_line, end_column), name
    by_name = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.FunctionDef) and node.name != "forward":
            assert places(by_name[node.name]) == places(node)


def test_each_of_several_equal_statements_keeps_its_line() -> None:
    text = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        print('a')\n        x = x + 1\n        print('a')\n        x = x + 1\n        print('a')\n"
        "        return x\n"
    )
    tree, mended = relocated(text)
    assert mended.text.count("print") == 3
    helpers = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    assert sorted(h.body[0].lineno for h in helpers) == [6, 8, 10]
    forward = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "forward")
    assert [statement.lineno for statement in forward.body] == [6, 7, 8, 9, 10, 11]


def test_parts_of_a_selection_stand_where_they_came_from() -> None:
    tree, _ = relocated(SOURCE)
    clamp = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "clamp"]
    assert [n.lineno for n in clamp] == [line_of("h.clamp")]
    test = [n for n in ast.walk(tree) if isinstance(n, ast.Compare) and "abs" in ast.dump(n)]
    assert [n.lineno for n in test] == [line_of("if h.abs()")]


def test_very_deep_expressions_are_placed() -> None:
    text = f"def f(x):\n    return {' + '.join(['x'] * 900)}\n"
    tree = ast.parse(text)
    relocate(tree, text, origins(text, ())[0])
    assert places(tree) == places(ast.parse(text))


FIXTURES = sorted(p for p in (ROOT / "tests/rules").glob("GM*/flag_*.py") if ".fixed." not in p.name)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_untouched_functions_of_the_fixtures_keep_every_place(path: Path) -> None:
    with open(path, encoding="utf-8", newline="") as stream:
        text = stream.read()
    tree, _ = relocated(text)
    compile(tree, str(path), "exec")
    count = len(split_lines(text))
    assert all(1 <= line <= end <= count for _, line, _, end, _ in places(tree))
    kinds = (ast.FunctionDef, ast.ClassDef)
    moved = {(n.name, n.lineno): n for n in ast.walk(tree) if isinstance(n, kinds)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds):
            twin = moved[node.name, node.lineno]
            assert ast.dump(twin) != ast.dump(node) or places(twin) == places(node)


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "dd\r\n"]), max_size=8).map("".join)


@st.composite
def edited(draw: Any) -> tuple[str, list[list[Edit]]]:
    text = start = draw(lines) + draw(st.sampled_from(["", "e"]))
    rounds: list[list[Edit]] = []
    for _ in range(draw(st.integers(0, 3))):
        rows = split_lines(text)
        edits: list[Edit] = []
        line = 1
        while line <= len(rows) and len(edits) < 3:
            line = draw(st.integers(line, len(rows)))
            end = draw(st.integers(line, len(rows)))
            width = len(rows[line - 1].rstrip("\r\n"))
            end_width = len(rows[end - 1].rstrip("\r\n"))
            column = draw(st.sampled_from([0, width]))
            end_column = draw(st.sampled_from([0, end_width]))
            if (end, end_column) < (line, column):
                end_column = end_width
            edits.append(Edit(Span(line, column, end, end_column), draw(st.sampled_from(["", "new\n", "x", "y\nz\n"]))))
            line = end + 1
        rounds.append(edits)
        text = apply_edits(text, edits)
    return start, rounds


@given(edited())
@settings(max_examples=300, deadline=None)
def test_origins_of_lines(case: tuple[str, list[list[Edit]]]) -> None:
    text, rounds = case
    start = split_lines(text)
    found = origins(text, rounds)
    assert len(found) == len(rounds) + 1
    for number in range(len(rounds) + 1):
        now = split_lines(text)
        assert len(found[number]) == len(now)
        same = [origin.first for origin in found[number] if origin.same]
        assert same == sorted(set(same))  # an untouched line is there once
        for line, origin in zip(now, found[number], strict=True):
            assert 1 <= origin.first <= len(start)
            assert origin.first - 1 <= origin.last <= len(start)
            if origin.same:
                assert origin.first == origin.last
                assert start[origin.first - 1] == line
        if number < len(rounds):
            text = apply_edits(text, rounds[number])
