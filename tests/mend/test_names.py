"""Names for what mending adds."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mend import names


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("image tokens ({}) and image features differ", "image_tokens_image_features"),
        ("the norm is:", "norm"),
        ("NaN in the loss!", "nan_loss"),
        ("a", ""),
        ("", ""),
        ("123 %", ""),
        ("same same words", "same_words"),
    ],
)
def test_from_a_message(text: str, name: str) -> None:
    assert names.from_message(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("w.sum() > 0", "w_sum_above_0"),
        ("torch.isnan(x).any()", "isnan_x_any"),
        ("not ok.all()", "not_ok_all"),
        ("self.gate < 1", "gate_below_1"),
        ("a and b", "a_and_b"),
        ("x[0] == y", "x_equals_y"),
        ("(total := x.sum()) > 0", "total_above_0"),
        ("1 + 1", "1"),
    ],
)
def test_from_an_expression(text: str, name: str) -> None:
    assert names.from_expression(expression(text)) == name


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "()", "lambda: 0", "f'{x}'", "a if b else c", "[x for x in y]", "-x", "...", "'text'", "1.5 < x"],
)
def test_every_expression_gives_part_of_a_name(text: str) -> None:
    assert f"_{names.from_expression(expression(text))}".isidentifier()


def test_unique() -> None:
    assert names.unique("check", set()) == "check"
    assert names.unique("check", {"check"}) == "check_2"
    assert names.unique("check", {"check", "check_2"}) == "check_3"
    assert names.unique("class", set()) == "class_2"
    assert names.unique("print", set()) == "print_2"


def test_used_as_name() -> None:
    assert names.used_as_name("select = 1", "select")
    assert names.used_as_name("f(select)", "select")
    assert not names.used_as_name("x.select(0)", "select")
    assert not names.used_as_name("selected, _select", "select")


def test_constant_text() -> None:
    assert names.constant_text([expression("f'norm {x:.2f} of {y}'")]).split() == ["norm", "of"]
    assert names.constant_text([expression("'%d tokens'"), expression("n")]).split() == ["tokens"]
