"""The joined text of a notebook's cells: positions there and back, magics, cells that do not parse."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmend_lsp.notebook import CannotPlace, Cell, Joined, join
from graphmend_lsp.text import Edit, Span, apply_edits, split_lines

PIECES = st.sampled_from(
    ["x = 1", "\n", "\r\n", "\r", " ", "    ", "%time y = f(x)", "%%bash", "%%time", "!ls", "!ls \\", "x?", "'''", '"',
     "(", "é😀", "\ud800", "\x0c", "\u2028", "\0", "if x:", "def f(:", "#c", "\\", "z = !ls",
     "await f()", "print(1);", "\ufeff"]
)  # fmt: skip
SOURCES = st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=6)


def notebook(*sources: str) -> Joined:
    return join(Cell(source, number) for number, source in enumerate(sources, 1))


def bodies(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


@given(SOURCES)
def test_every_line_has_its_place_and_keeps_its_columns(sources: list[str]) -> None:
    joined = notebook(*sources)
    lines = bodies(joined.text)
    for index, source in enumerate(sources):
        own = bodies(source)
        for number, line in enumerate(own, 1):
            span = Span(number, len(line) // 2, number, len(line))
            there = joined.span(index, span)
            assert joined.local(there) == (index, span)
            assert joined.index_at(there.line) == index
            if there.line not in joined.masked:
                assert lines[there.line - 1] == line
        end = joined.starts[index] + len(own)
        assert lines[end - 1] == ""  # between two cells
        assert joined.index_at(end) == index
    assert len(lines) == sum(len(bodies(source)) + 1 for source in sources) + 1
    assert len(joined.starts) == len(sources)


@given(SOURCES)
def test_what_is_read_parses(sources: list[str]) -> None:
    ast.parse(notebook(*sources).text)


@given(SOURCES, st.lists(st.tuples(st.integers(1, 30), st.sampled_from(["a = 1\n", "b\nc\n"])), max_size=4))
def test_inserted_lines_land_in_the_cells(sources: list[str], places: list[tuple[int, str]]) -> None:
    joined = notebook(*sources)
    count = len(bodies(joined.text))
    edits = [Edit(Span(line, 0, line, 0), text) for line, text in sorted(places) if line < count]
    try:
        cells = joined.applied(edits)
    except CannotPlace:
        return
    assert len(cells.cells) == len(sources)
    if all(not cell.failures for cell in (joined, cells)) and not joined.masked:
        assert cells.text == apply_edits(joined.text, edits)
    for old, new in zip(joined.cells, cells.cells, strict=True):
        if (
            "\r\n" in old.source
            and "\n" not in old.source.replace("\r\n", "")
            and "\r" not in old.source.replace("\r\n", "")
        ):
            assert new.source.count("\n") == new.source.count("\r\n")


def test_an_edit_and_its_difference() -> None:
    joined = notebook("import torch", "x = 1\r\ny = 2\r\n")
    edits = [Edit(Span(2, 0, 2, 0), "import b\n"), Edit(Span(3, 0, 4, 0), "x = 3\nz = 4\n")]
    changed = joined.applied(edits)
    assert [cell.source for cell in changed.cells] == ["import torch\nimport b", "x = 3\r\nz = 4\r\ny = 2\r\n"]
    assert changed.text == apply_edits(joined.text, edits)
    again = joined.applied(joined.difference(changed))
    assert again == changed
    assert joined.mended([edits], changed.text) == changed
    with pytest.raises(CannotPlace):
        joined.mended([edits], joined.text)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Edit(Span(2, 0, 3, 0), "x\n"), "not Python"),
        (Edit(Span(2, 4, 2, 8), "x"), "not Python"),
        (Edit(Span(5, 0, 5, 0), "x\n"), "above a cell magic"),
        (Edit(Span(3, 0, 5, 0), "x\n"), "more than one"),
        (Edit(Span(3, 0, 4, 2), "x\n"), "more than one"),
        (Edit(Span(4, 0, 4, 0), "x"), "between"),
        (Edit(Span(1, 0, 4, 0), "x\n"), "not Python"),
    ],
)
def test_edits_without_a_place(edit: Edit, why: str) -> None:
    joined = notebook("x = 1\n%magic a\ny = 1", "%%time\nz = 1")
    with pytest.raises(CannotPlace, match=why):
        joined.cell_edits([edit])


def test_the_last_lines_of_a_cell() -> None:
    joined = notebook("a = 1\nb = 2", "c = 3")

    def sources(*edits: Edit) -> list[str]:
        changed = joined.applied(edits)
        assert changed.text == apply_edits(joined.text, edits)
        return [cell.source for cell in changed.cells]

    assert sources(Edit(Span(2, 0, 3, 0), "x = 1\ny = 1\n")) == ["a = 1\nx = 1\ny = 1", "c = 3"]
    assert sources(Edit(Span(2, 0, 3, 0), "")) == ["a = 1", "c = 3"]
    assert sources(Edit(Span(5, 0, 5, 0), "d = 4\n")) == ["a = 1\nb = 2", "c = 3\nd = 4"]


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("%matplotlib inline\nx = 1", ["", "x = 1"]),
        ("if x:\n    %matplotlib inline\n    !ls", ["if x:", "    get_ipython()", "    get_ipython()"]),
        ("!pip install a \\\n   b\nx", ["", "", "x"]),
        ("x?\nx??\n?x\n%time?\nx.y[0]?", [""] * 5),
        ("files = !ls *.py\nd['k'] = !ls", ["files = get_ipython()", "d['k'] = get_ipython()"]),
        ("a, b.c = %magic", ["a, b.c = get_ipython()"]),
        ("%time y = f(x)\nif y:\n  %timeit f(x);", ["0;    y = f(x)", "if y:", "  0;      f(x);"]),
        ("%timeit -n 10 f(x)\n%time for x in y: pass\n%time", ["", "", ""]),
        ("%%time\n# c\nx = 1", ["", "# c", "x = 1"]),
        ("#@title x\n\n%%capture --no-stderr\n%%time\nx = 1", ["#@title x", "", "", "", "x = 1"]),
        ("%%bash\nls | grep '\nx", ["", "", ""]),
        ("%%writefile a.py\nx = 1", ["", ""]),
        ("%%html?\nx = 1", ["", "x = 1"]),
        ("x = '''\n%magic\n!ls\n'''\n%magic", ["x = '''", "%magic", "!ls", "'''", ""]),
        ("x = (a\n% b)\ny = a \\\n% b", ["x = (a", "% b)", "y = a \\", "% b"]),
        ("print('x = %d' % 3)\ns = 'it\\'s' # it's\n%magic", ["print('x = %d' % 3)", "s = 'it\\'s' # it's", ""]),
        ("x = 1 # why?\ny = 'why?'\nawait f(x);", ["x = 1 # why?", "y = 'why?'", "await f(x);"]),
        ("async with a as b:\n    c\nasync for x in y: z", ["async with a as b:", "    c", "async for x in y: z"]),
    ],
)  # fmt: skip
def test_what_is_not_python(source: str, read: list[str]) -> None:
    joined = notebook(source)
    assert bodies(joined.text)[: len(read)] == read
    assert not joined.failures
    own = bodies(source)
    assert joined.masked == {n for n, line in enumerate(read, 1) if line != own[n - 1]}


def test_a_cell_that_does_not_parse_loses_only_what_does_not() -> None:
    joined = notebook("x = 1\ndef f(:\n    pass\ny = 2", "z = (", "w = 1", "def g():\nq", "v = 1")
    assert bodies(joined.text) == ["x = 1", "", "", "y = 2", "", "", "", "w = 1", "", "", "", "", "v = 1", "", ""]
    assert [(index, failure.line) for index, failure in joined.failures] == [(0, 2), (1, 1), (3, 2)]


def test_no_cells() -> None:
    joined = notebook()
    assert (joined.text, joined.starts) == ("", ())
    with pytest.raises(IndexError):
        joined.index_at(1)
