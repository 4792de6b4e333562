"""Notebook files: only changed lines of changed cells are written anew."""

from __future__ import annotations

import codecs
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmend_lsp.notebook import Joined, join
from graphmend_lsp.project import notebooks
from graphmend_lsp.project.files import SourceError
from graphmend_lsp.text import Edit, Span, apply_edits

PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CODE = ["import torch\n", "class A:\n", "    x = 'é 😀'\n", '    y = "\\\\"\n', "print(1)"]


def cell(source: object, **more: object) -> dict[str, object]:
    return {
        "cell_type": "code",
        "execution_count": 3,
        "metadata": {},
        "outputs": [{"text": ["é\n", "\u2028 \\"]}],
        "source": source,
        **more,
    }


def document(*cells: dict[str, object], **more: object) -> dict[str, object]:
    return {"cells": list(cells), "metadata": PYTHON, "nbformat": 4, "nbformat_minor": 5, **more}


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# Title é\n", "print(1)"]}
NORMAL = document(MARKDOWN, cell(CODE, id="a1b2"), cell([]), cell(["z = 1\n"]), cell(["one"]))

ODD = ["import torch\nclass A:\n    x = 'é ", '😀\'\n    y = "\\\\"\nprint(1)']
"""Items of a list that are not lines."""

FORMS = {
    "jupyter": json.dumps(NORMAL, indent=1, ensure_ascii=False) + "\n",
    "vscode": json.dumps(NORMAL, indent=2, ensure_ascii=False),
    "colab": json.dumps(document(MARKDOWN, cell(CODE, id="x", metadata={"id": "x", "cellView": "form"})), indent=2),
    "one string": json.dumps(document(MARKDOWN, cell("".join(CODE))), indent=1, ensure_ascii=False),
    "one escaped string": json.dumps(document(cell("".join(CODE)))),
    "minified": json.dumps(NORMAL, separators=(",", ":"), ensure_ascii=False),
    "one line": json.dumps(NORMAL),
    "tabs": json.dumps(NORMAL, indent="\t"),
    "crlf": json.dumps(NORMAL, indent=1).replace("\n", "\r\n"),
    "crlf sources": json.dumps(document(cell([line.replace("\n", "\r\n") for line in CODE])), indent=1),
    "odd lines": json.dumps(document(cell(ODD)), indent=1),
    "odd order": '{"nbformat":4, "cells" : [ {"source" : ["import torch\\n" ,"class A:\\n",'
                 '"    x = \'\\u00E9 \\ud83d\\ude00\'\\n",'
                 '"    y = \\"\\\\\\\\\\"\\n",\n"print(1)" ], "cell_type":"code"} ] }  ',
}  # fmt: skip


def changed(read: notebooks.NotebookFile, old: str, new: str) -> Joined:
    return join(
        type(c)(
            c.source.replace(old, new).replace("\n", "\r\n" if "\r\n" in c.source else "\n").replace("\r\r", "\r"),
            c.number,
        )
        for c in read.joined.cells
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
def test_what_is_not_changed_stays(form: str, bom: bytes) -> None:
    data = bom + FORMS[form].encode()
    read = notebooks.decode(data, "nb.ipynb")
    assert read.source.encode(read.with_cells(read.joined)) == data
    assert any("print(1)" in c.source for c in read.joined.cells)
    text = read.with_cells(changed(read, "class A:", "b = 'ä'\nclass A:"))
    content = json.loads(text)
    before = json.loads(FORMS[form])
    for old, new in zip(before["cells"], content["cells"], strict=True):
        assert {**old, "source": ""} == {**new, "source": ""}
        assert type(old["source"]) is type(new["source"])
        expected = (
            re.sub(r"class A:(\r?\n)", r"b = 'ä'\1class A:\1", "".join(old["source"]))
            if old["cell_type"] == "code"
            else ""
        )
        assert old["cell_type"] != "code" or "".join(new["source"]) == expected
    assert list(content) == list(before)
    # one line more, in the form of the others, and nothing else
    here = FORMS[form]
    start = next(n for n in range(len(here)) if text[n] != here[n])
    tail = next(n for n in range(len(here)) if text[-1 - n] != here[-1 - n])
    assert form.startswith("odd") or 0 < len(text) - start - tail < 60
    assert ("ä" in text) == (("é" in here) or "\\u" not in here)


def test_the_form_of_what_is_added() -> None:
    read = notebooks.decode(FORMS["jupyter"].encode(), "nb.ipynb")
    new = changed(read, "one", "one\ntwo")
    new = join(
        type(c)("first\n" if not c.source else c.source.replace("z = 1\n", "z = 1\nw = 2"), c.number) for c in new.cells
    )
    text = read.with_cells(new)
    assert '"source": [\n    "one\\n",\n    "two"\n   ]' in text
    assert '"source": [\n    "z = 1\\n",\n    "w = 2"\n   ]' in text
    assert '"source": ["first\\n"]' in text
    minified = notebooks.decode(FORMS["minified"].encode(), "nb.ipynb")
    assert '"source":["one\\n","two"]' in minified.with_cells(changed(minified, "one", "one\ntwo"))


LINES = st.lists(st.text(st.sampled_from('ab\\"\u00e9\U0001f600\ud800\u2028\x0c\t'), max_size=4), max_size=5)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from([None, 1]))
def test_any_source_as_any_other(
    old: list[str], new: list[str], end: str, string: bool, escape: bool, indent: int | None
) -> None:
    before, after = end.join(old), end.join(new)
    source = before if string else before.splitlines(keepends=True)
    text = json.dumps(document(cell(source)), ensure_ascii=escape or "\ud800" in before, indent=indent)
    read = notebooks.decode(text.encode(), "nb.ipynb")
    (place,) = read.places
    written = notebooks._written(place, before, after)
    decoded = json.loads(written)
    assert (decoded if string else "".join(decoded)) == after
    assert isinstance(decoded, str) == string
    written.encode()


def test_edits_go_through() -> None:
    read = notebooks.decode(FORMS["jupyter"].encode(), "nb.ipynb")
    edits = [Edit(Span(2, 0, 2, 0), "import b\n")]
    new = read.joined.applied(edits)
    assert new.text == apply_edits(read.joined.text, edits)
    assert FORMS["jupyter"].replace('"class A', '"import b\\n",\n    "class A') == read.with_cells(new)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b'{\n"nbformat": 4,', "not JSON (line 2"),
        (b"[1]", "not an object"),
        (b"{}", "no format number"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3 is too old"),
        (b'{"nbformat": 4}', "no cells"),
        (b'{"nbformat": 4, "cells": [3]}', "cell 1 has no source"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has no source"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "sour\\u0063e": ""}]}', "no source"),
        (b"[" * 100_000, "JSON"),
        (
            b'{"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R", "name": "ir"}}}',
            "a notebook of R,",
        ),
        (b'{"nbformat": 4, "cells": [], "metadata": {"language_info": {"name": "julia"}}}', "a notebook of julia,"),
        (b"\xff", "not utf-8 text"),
    ],
)
def test_what_is_no_notebook_of_python(data: bytes, why: str) -> None:
    with pytest.raises(SourceError) as caught:
        notebooks.decode(data, "nb.ipynb")
    assert why in str(caught.value) or "nested too deeply" in str(caught.value)


@pytest.mark.parametrize(
    "metadata",
    [{}, {"kernelspec": {"name": "torch-env"}}, {"language_info": {"name": "ipython"}}, {"kernelspec": 3}, []],
)
def test_kernels_of_python(metadata: object) -> None:
    data = json.dumps({"nbformat": 4, "cells": [cell("x")], "metadata": metadata}).encode()
    assert notebooks.decode(data, "nb.ipynb").joined.cells[0].source == "x"


def test_cells_are_counted_as_jupyter_does() -> None:
    read = notebooks.decode(FORMS["jupyter"].encode(), "nb.ipynb")
    assert [c.number for c in read.joined.cells] == [2, 3, 4, 5]
