"""The piece of source around a finding."""

from __future__ import annotations

import pytest

from graphmend_lsp.cli.frame import source_frame
from graphmend_lsp.cli.terminal import plain
from graphmend_lsp.text import LineIndex, Span


def frame(text: str, span: Span) -> str:
    return "\n".join(source_frame(LineIndex(text), span, plain)[1])


def test_one_line() -> None:
    assert frame("a\nb = c\nd\n", Span(2, 4, 2, 5)) == "  |\n1 | a\n2 | b = c\n  |     ^\n3 | d\n  |"


def test_line_numbers_of_different_width() -> None:
    text = "".join(f"x{n}\n" for n in range(1, 20))
    assert frame(text, Span(9, 0, 9, 2)).splitlines()[1:5] == [" 7 | x7", " 8 | x8", " 9 | x9", "   | ^^"]


def test_blank_lines_at_the_edges_are_left_out() -> None:
    assert frame("\n\nx\n\n\n", Span(3, 0, 3, 1)) == "  |\n3 | x\n  | ^\n  |"


def test_tabs_and_wide_characters() -> None:
    assert frame("\tif 数据.any():", Span(1, 4, 1, 12)).splitlines()[1:3] == [
        "1 |     if 数据.any():",
        "  |        ^^^^^^^^^^",
    ]
    assert frame("a\tb", Span(1, 2, 1, 3)).splitlines()[1:3] == ["1 | a   b", "  |     ^"]
    assert frame("e\N{COMBINING ACUTE ACCENT}x", Span(1, 2, 1, 3)).splitlines()[2] == "  |  ^"


def test_several_lines() -> None:
    shown = frame("f(\n    a,\n\n    b,\n)\n", Span(1, 0, 5, 1))
    assert shown == "  |\n1 | f(\n  | ^^\n2 |     a,\n  |     ^^\n3 |\n4 |     b,\n  |     ^^\n5 | )\n  | ^\n  |"


def test_many_lines_leave_out_the_middle() -> None:
    text = "f(\n" + "    a,\n" * 20 + ")\n"
    numbers = [row.split(" ")[0] for row in frame(text, Span(1, 0, 22, 1)).splitlines() if row[0] not in " "]
    assert numbers == ["..", "20", "21", "22"] or numbers == ["..", "21", "22"]


def test_long_lines_are_cut_around_the_marks() -> None:
    line = "x = [" + "1, " * 500 + "here, " + "2, " * 500 + "]"
    start = line.index("here")
    source, marks = frame(line, Span(1, start, 1, start + 4)).splitlines()[1:3]
    assert len(source) < 180
    assert source[marks.index("^") :].startswith("here") and marks.count("^") == 4


@pytest.mark.parametrize("span", [Span(1, 0, 1, 0), Span(1, 5, 1, 9), Span(9, 0, 9, 1), Span(2, 0, 3, 0)])
def test_odd_spans_do_not_fail(span: Span) -> None:
    assert frame("ab\nc\n", span)


def test_control_characters_are_pictures() -> None:
    shown = frame('"\x1b[2J\x00\N{RIGHT-TO-LEFT OVERRIDE}\x85"', Span(1, 0, 1, 1))
    assert "\x1b" not in shown and "\N{RIGHT-TO-LEFT OVERRIDE}" not in shown and "\x85" not in shown
