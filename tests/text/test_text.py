"""Positions, edits and differences, against slow and plain definitions."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphmend_lsp.text import (
    Edit,
    LineIndex,
    Span,
    apply_edits,
    diff_edits,
    line_ending,
    line_starts,
    split_lines,
    to_code_points,
    units,
)

CHARACTERS = "ab \n\r\f\v\x1c\x85\u2028é本😀𝔘\u0301\ufeff\t#"
texts = st.text(st.sampled_from(CHARACTERS), max_size=40)
rows = st.text(st.sampled_from(CHARACTERS.replace("\n", "").replace("\r", "")), max_size=20)
encodings = st.sampled_from(["utf-8", "utf-16", "utf-32"])
WIDTH = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def encoded(text: str, encoding: str) -> int:
    codec = encoding if encoding == "utf-8" else f"{encoding}-le"
    return len(text.encode(codec)) // WIDTH[encoding]


@given(texts)
def test_lines_are_the_text_and_end_where_the_protocol_says(text):
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(re.fullmatch(r"[^\r\n]*(\r\n|\n|\r)", line) for line in lines[:-1])
    assert re.fullmatch(r"[^\r\n]*", lines[-1])
    assert line_starts(text) == [sum(map(len, lines[:n])) for n in range(len(lines))]


@given(rows, encodings)
def test_units_count_as_the_codec_does(row, encoding):
    assert units(row, encoding) == encoded(row, encoding)


@given(rows, encodings, st.integers(0, 20))
def test_columns_make_the_round_trip(row, encoding, column):
    column = min(column, len(row))
    assert to_code_points(row, units(row[:column], encoding), encoding) == column


@given(rows, encodings, st.integers(-3, 100))
def test_columns_are_clamped_and_never_inside_a_character(row, encoding, column):
    found = to_code_points(row, column, encoding)
    assert 0 <= found <= len(row)
    assert units(row[:found], encoding) <= max(column, 0)
    if found < len(row):
        assert units(row[: found + 1], encoding) > column


@given(texts, st.integers(0, 45))
def test_offsets_make_the_round_trip(text, offset):
    index = LineIndex(text)
    offset = min(offset, len(text))
    assume(text[offset - 1 : offset + 1] != "\r\n" or not offset)  # no position inside a line ending
    assert index.offset(*index.position(offset)) == offset


@given(texts, st.integers(-2, 50), st.integers(-2, 50))
def test_positions_outside_are_clamped(text, line, column):
    index = LineIndex(text)
    offset = index.offset(line, column)
    assert 0 <= offset <= len(text)
    if 1 <= line <= index.line_count:
        assert index.position(offset)[0] == line


@given(texts)
def test_line_texts(text):
    index = LineIndex(text)
    assert [index.line(n + 1) for n in range(index.line_count)] == [line.rstrip("\r\n") for line in split_lines(text)]
    assert index.line(0) == index.line(index.line_count + 1) == ""


@st.composite
def disjoint_edits(draw):
    """A text, replacements as offsets, in order and disjoint, and the same as edits in any order."""
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    cuts = [cut for cut in cuts if not (cut and text[cut - 1 : cut + 1] == "\r\n")]
    index = LineIndex(text)
    plain = [(a, b, draw(texts)) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    edits = [Edit(Span(*index.position(a), *index.position(b)), new) for a, b, new in plain]
    return text, plain, edits


@given(disjoint_edits(), st.randoms())
def test_edits_against_plain_slicing(case, random):
    text, plain, edits = case
    starts = [a for a, _, _ in plain]
    if len(set(starts)) == len(starts):
        random.shuffle(edits)
    expected = text
    for start, end, new in reversed(plain):
        expected = expected[:start] + new + expected[end:]
    assert apply_edits(text, edits) == expected


def test_insertions_at_one_place_keep_their_order():
    here = Span(1, 1, 1, 1)
    assert apply_edits("ab", [Edit(here, "1"), Edit(here, "2")]) == "a12b"


def test_overlapping_edits_are_refused():
    with pytest.raises(ValueError, match="overlapping"):
        apply_edits("abcd", [Edit(Span(1, 0, 1, 3), "x"), Edit(Span(1, 2, 1, 4), "y")])


def longest_common(a: list[str], b: list[str]) -> int:
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if x == y else max(lengths[i][j + 1], lengths[i + 1][j])
    return lengths[-1][-1]


few_lines = st.lists(st.sampled_from(["a\n", "b\n", "a\r\n", "\n", "c\r", "é\u2028\n"]), max_size=10).map("".join)
endings = st.sampled_from(["", "a", "b"])


@given(few_lines, endings, few_lines, endings)
@settings(max_examples=500)
def test_differences_are_right_and_smallest(old, old_end, new, new_end):
    old, new = old + old_end, new + new_end
    edits = diff_edits(old, new)
    assert apply_edits(old, edits) == new
    assert edits == sorted(edits)
    before, after = split_lines(old), split_lines(new)
    removed = sum(e.span.end_line - e.span.line + (e.span.end_column > e.span.column) for e in edits)
    added = sum(len([line for line in split_lines(e.text) if line]) for e in edits)
    kept = longest_common(before, after)
    assert removed <= len(before) - kept
    assert added <= len(after) - kept
    assert all(edit.span.column == 0 or edit.span.column == len(before[edit.span.line - 1]) for edit in edits)
    for one, two in itertools.pairwise(edits):  # an untouched line in between, else it were one edit
        assert one.span.end_line < two.span.line or (one.span.end_line == two.span.line and one.span.end_column == 0)


@given(texts, texts)
def test_differences_of_any_texts_are_right(old, new):
    assert apply_edits(old, diff_edits(old, new)) == new
    assert diff_edits(old, old) == []


def test_differences_touch_only_what_changed():
    old = "".join(f"line {number}\r\n" for number in range(5000))
    new = old.replace("line 17\r\n", "line 17a\r\nline 17b\r\n").replace("line 4000\r\n", "")
    assert diff_edits(old, new) == [
        Edit(Span(18, 0, 19, 0), "line 17a\r\nline 17b\r\n"),
        Edit(Span(4001, 0, 4002, 0), ""),
    ]


def test_differences_of_large_unlike_texts_stay_cheap():
    old = "".join(f"old {number}\n" for number in range(20_000))
    new = "".join(f"new {number}\n" for number in range(20_000))
    (edit,) = diff_edits(old, new)
    assert apply_edits(old, [edit]) == new


@pytest.mark.parametrize(
    ("text", "ending"), [("", "\n"), ("a", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\rc\n", "\r"), ("a\u2028b\n", "\n")]
)
def test_line_ending(text, ending):
    assert line_ending(text) == ending


def test_spans():
    outer, inner = Span(1, 2, 3, 4), Span(2, 0, 3, 4)
    assert outer.contains(inner) and not inner.contains(outer)
    assert outer.overlaps(inner) and not outer.overlaps(Span(3, 4, 3, 5))
    assert inner.shifted(2) == Span(4, 0, 5, 4)
