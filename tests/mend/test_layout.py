"""Source text that is written anew keeps to the file's habits."""

from __future__ import annotations

import pytest

from graphmend_lsp.mend import layout


def test_a_call_that_fits() -> None:
    assert layout.call("y = ", "f", ["a", "b"], room=40, indent="    ") == ["y = f(a, b)"]


def test_a_call_that_does_not_fit() -> None:
    made = layout.call("y = ", "torch.where", ["condition", "x.clamp(-1, 1)", "x"], room=30, indent="    ")
    assert made == ["y = torch.where(", "    condition,", "    x.clamp(-1, 1),", "    x,", ")"]


def test_a_long_argument_is_laid_out_in_turn() -> None:
    made = layout.call("", "f", ["torch.logical_or(first_condition, second_condition)", "x"], room=40, indent="  ")
    assert made == ["f(", "  torch.logical_or(", "    first_condition,", "    second_condition,", "  ),", "  x,", ")"]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("def f():\n    pass\n", "    "),
        ("def f():\n  pass\n", "  "),
        ("def f():\n\tpass\n", "\t"),
        ("x = 1\n", "    "),
        ("x = (1,\n     2)\n", "    "),
    ],
)
def test_indent_unit(text: str, unit: str) -> None:
    assert layout.indent_unit(text) == unit


@pytest.mark.parametrize(("longest", "width"), [(10, 88), (79, 88), (100, 100), (200, 120)])
def test_line_width(longest: int, width: int) -> None:
    assert layout.line_width("x" * longest + "\n# http://" + "y" * 150) == width


def test_reindent_leaves_strings_alone() -> None:
    source = 'f(\n        """a\n  text\n""",\n        x,\n    )'
    assert layout.reindent(source, "    ", "") == ["f(", '    """a', "  text", '""",', "    x,", ")"]


def test_flat() -> None:
    assert layout.flat("f(\n    a,\n    b,\n)") == "f(a, b)"
    assert layout.flat("f(a,  b)") == "f(a,  b)"
