"""Incremental parsing gives what parsing anew gives, and keeps what an edit did not touch."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmend_lsp.parse import Parsed, parse

BLOCKS = [
    "import torch\n",
    "x = 1\n",
    "x = 1; y = 2\n",
    "\n\n",
    "# a comment\n",
    "@decorated\n@twice(1)\ndef f(a):\n    return a\n",
    "def g():\n    s = '''text\nat column 0\n'''\n    return s\n",
    'S = """\ndef not_code():\n    pass\n"""\n',
    "class C:\n    # inside\n    def m(self):\n        if self:\n            return 1\n\n        return 2\n",
    "values = [\n    1,\n    2,\n]\n",
    "if True:\n    a = 1\nelse:\n    a = 2\n",
    "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n",
    "中文 = '数据'\n",
    "async def h():\n    await x\n",
    "z = 1 + \\\n    2\n",
    "def tabbed():\n\treturn 1\n",
    "def one_line(): return 1\n",
    "match x:\n    case 1:\n        pass\n",
]
SNIPPETS = [
    *BLOCKS,
    "",
    "(",
    ")",
    "f(\n",
    ")\n",
    "@d\n",
    "@d(\n",
    "else:\n    pass\n",
    "finally:\n    x\n",
    "class Z:\n",
    "    y = 1\n",
    "el",
    '"""',
    "'''",
    "'",
    "#",
    "    ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    ":",
    "@",
    "def ",
    "\\",
    "\\\n",
    "\ufeff",
    ";",
    "x",
    "é",
    "\x0c",
]


def shape(parsed: Parsed) -> list[tuple[str, int]]:
    """Every statement with its positions in the current text, whichever chunk it is in."""
    found: list[tuple[str, int]] = []
    for chunk in parsed.chunks:
        for node in chunk.nodes:
            found.append((_dump(node, chunk.shift), node.lineno + chunk.shift))
    return found


def _dump(node: ast.stmt, shift: int) -> str:
    rows: list[str] = []
    for inner in ast.walk(node):
        if hasattr(inner, "lineno"):
            rows.append(
                f"{type(inner).__name__}@{inner.lineno + shift}:{inner.col_offset}-{inner.end_lineno + shift}:{inner.end_col_offset}"  # noqa: E501
            )
    return ast.dump(node) + " ".join(rows)


def assert_whole(parsed: Parsed) -> None:
    """Chunks cover the text, in order, and each node's text is where the chunk says."""
    if any(c.broken for c in parsed.chunks) or parsed.failure is not None:
        return
    assert "".join(c.text for c in parsed.chunks) == parsed.text
    line = 1
    for chunk in parsed.chunks:
        assert chunk.line == line
        line += chunk.text.count("\n") + chunk.text.count("\r") - chunk.text.count("\r\n")


@st.composite
def edits(draw: st.DrawFn) -> list[str]:
    """A text and what it becomes by a few edits."""
    text = "".join(draw(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=8)))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    texts = [text]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 2, 5, 30, 200])))
        text = text[:start] + draw(st.sampled_from(SNIPPETS)) + text[end:]
        texts.append(text)
    return texts


@settings(max_examples=700, deadline=None)
@given(edits())
def test_an_edited_text_parses_as_if_anew(texts: list[str]) -> None:
    parsed = parse(texts[0])
    for text in texts[1:]:
        parsed = parse(text, parsed)
        fresh = parse(text)
        assert parsed.text == text
        assert (parsed.failure is None) == (fresh.failure is None)
        assert_whole(parsed)
        if fresh.failure is None:
            assert shape(parsed) == shape(fresh)


@settings(max_examples=300, deadline=None)
@given(edits())
def test_the_way_back(texts: list[str]) -> None:
    """Undo gives what there was, also through texts that do not parse."""
    parsed = parse(texts[0])
    for text in [*texts[1:], *texts[-2::-1]]:
        parsed = parse(text, parsed)
    assert shape(parsed) == shape(parse(texts[0]))
    assert (parsed.failure is None) == (parse(texts[0]).failure is None)


@pytest.mark.parametrize(
    "texts",
    [
        ("a = 1\r\nimport b\r\n", "a = 1\r\niimport b\nmport b\r\n", "a = 1\rimport b\n\niimport b\nmport b\r\n"),
        ("a = 1\n\n\nx(\n", "a = 1\n\n    b = 2 +\n"),
        ('w = f\'{f(1)}\'\ny = 1\n""")}\' # """\n', 'w = f\'{f("""a\ny = 1\n""")}\' # """\n'),
        ("w = f'{f(1)}'\ny = 1\n''')}' # '''\n", "w = f'{f('''a\ny = 1\n''')}' # '''\n"),
        ("w = f'''{f(1)}'''\ny = 1\n''')}'''\n", "w = f'''{f('''a\ny = 1\n''')}'''\n"),
        ("class A:\n    a = 1\n", "class A:\n    a = 1\n\n    b = [\n", "class A:\n    a = 1\n\n    b = [1]\n    c\n"),
        # A decorator whose string holds what looks like the function it is for.
        (
            '@ """\ndef not_code():\n    pass\n"""\n@decorated\ndef f(a):\n    return a\n',
            'S = """\ndef not_code():\n    pass\n"""\n@decorated\ndef f(a):\n    return a\n',
            'f(\nS = """\ndef not_code():\n    pass\n"""\n@decorated\ndef f(a):\n    return a\n',
        ),
    ],
    ids=[
        "half an ending",
        "blank lines",
        "nested from 3.12 on",
        "same quotes",
        "all triple",
        "an indented rest",
        "a decorator with a string",
    ],
)
def test_steps_that_went_wrong(texts: tuple[str, ...]) -> None:
    parsed = parse(texts[0])
    for text in [*texts[1:], *texts[-2::-1]]:
        parsed = parse(text, parsed)
        assert (parsed.failure is None) == (parse(text).failure is None)
        if parsed.failure is None:
            assert shape(parsed) == shape(parse(text))


FILE = "import torch\n\n\ndef a(x):\n    return x\n\n\ndef b(x):\n    return x + 1\n\n\n@torch.compile\ndef c(x):\n    return x * 2\n"  # noqa: E501


def functions(parsed: Parsed) -> dict[str, tuple[int, int]]:
    """Name to (identity of the tree, line in the current text)."""
    return {
        n.name: (id(n), n.lineno + c.shift) for c in parsed.chunks for n in c.nodes if isinstance(n, ast.FunctionDef)
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_untouched_chunks_keep_their_trees(end: str) -> None:
    before = parse(FILE.replace("\n", end))
    after = parse(FILE.replace("x + 1", "x + 1 + 2\n    # more").replace("\n", end), before)
    old, new = functions(before), functions(after)
    assert new["a"] == old["a"]
    assert new["c"] == (old["c"][0], old["c"][1] + 1)
    assert new["b"][0] != old["b"][0]


def test_chunks_before_and_after_keep_their_ids() -> None:
    before = parse(FILE)
    after = parse(FILE.replace("x + 1", "x + 10"), before)
    assert [c.id for c in before.chunks[:2]] == [c.id for c in after.chunks[:2]]
    assert before.chunks[-1].id == after.chunks[-1].id


def test_inserted_lines_move_what_follows() -> None:
    before = parse(FILE)
    after = parse("# one\n# two\n" + FILE, before)
    assert functions(after)["c"][1] == functions(before)["c"][1] + 2


def test_the_same_text_is_the_same_object() -> None:
    before = parse(FILE)
    assert parse(FILE, before) is before


def test_a_broken_function_leaves_the_others() -> None:
    before = parse(FILE)
    broken = parse(FILE.replace("return x + 1", "return x +"), before)
    assert broken.failure is not None and broken.failure.line == 9
    old, new = functions(before), functions(broken)
    assert {"a", "c"} <= set(new) and new["a"] == old["a"] and new["c"] == old["c"]
    mended = parse(FILE, broken)
    assert mended.failure is None and set(functions(mended)) == {"a", "b", "c"}


def test_a_file_that_is_broken_from_the_start() -> None:
    parsed = parse(FILE.replace("return x + 1", "return x +"))
    assert parsed.failure is not None
    assert {"a", "c"} <= set(functions(parsed))
    assert functions(parsed)["c"][1] == functions(parse(FILE))["c"][1]


def test_columns_count_code_points() -> None:
    parsed = parse("名 = 'ü'; x = f(1)\n")
    chunk = parsed.chunks[0]
    call = chunk.nodes[1].value
    assert chunk.source_of(call) == "f(1)"
    assert chunk.span(call).column == 13


def test_a_byte_order_mark() -> None:
    parsed = parse("\ufeffx = f(1)\ny = g(2)\n")
    first, second = parsed.chunks
    assert first.source_of(first.nodes[0].value) == "f(1)" and second.source_of(second.nodes[0].value) == "g(2)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "   ",
        "# only a comment",
        "\x00",
        "x = '\ud800'\n",
        "(" * 2000 + ")" * 2000,
        "def",
        "x = (\n",
        "\t\tx\n y\n",
        "\\",
    ],
)
def test_anything_parses_to_something(text: str) -> None:
    parsed = parse(text)
    assert parsed.text == text
    assert parse(text + "\nx = 1\n", parsed).text == text + "\nx = 1\n"
