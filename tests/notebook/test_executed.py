"""Mended notebooks do what they did: their cells are run one after the other, before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmend_lsp import check as core
from graphmend_lsp.notebook import Cell, Joined, join
from graphmend_lsp.project import notebooks
from graphmend_lsp.project.program import DiskProgram
from tests.support import execute

CASES = """\
CASES = [
    ("Model", [lambda: (torch.ones(3),), lambda: (-torch.ones(3),)]),
    ("step", [lambda: (torch.ones(3),)]),
]"""

CELLS = (
    "#@title Set-up\n%matplotlib inline\nimport warnings\n!echo pip install torch\nimport torch",
    "%%bash\nls | wc -l",
    "%%time\n# The model.\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        if x.sum() > 0:\n"
    "            x = x + 1\n        else:\n            x = x - 1\n        print('é 😀', x.sum())\n        return x * 2",
    "%time model = Model(); y = model(torch.ones(3));\nfiles = !ls",
    "def step(x):\r\n    if (x < 0).any():\r\n        raise ValueError('negative')\r\n    warnings.warn('step')\r\n"
    "    return x\r\n\r\ncompiled = torch.compile(step)",
    CASES,
)  # fmt: skip


def notebook(*sources: str) -> Joined:
    return join(Cell(source, number) for number, source in enumerate(sources, 1))


def mended(joined: Joined, path: Path) -> Joined:
    program = DiskProgram().for_file(str(path))
    result = core.mend(joined.text, str(path), program=program)
    assert result.applied and not result.analysis.findings
    for new in result.creates:
        Path(new.path).write_text(new.text, encoding="utf-8")
    return joined.mended((edits for _, edits in result.rounds), result.text)


def test_a_mended_notebook_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = notebook(*CELLS)
    after = mended(before, tmp_path / "nb.ipynb")
    assert [old.source == new.source for old, new in zip(before.cells, after.cells, strict=True)] == [
        False, True, False, True, False, True,
    ]  # fmt: skip
    assert after.cells[0].source == CELLS[0] + "\nfrom _graphmend import graph_effect"
    assert after.cells[4].source.count("\n") == after.cells[4].source.count("\r\n")
    text = {"before": before.text, "after": after.text}
    for name, code in text.items():
        runnable = code.replace("get_ipython()", "None")  # there is no IPython here
        (tmp_path / f"cells.{name}.py").write_text(runnable, encoding="utf-8")
    old, new = tmp_path / "cells.before.py", tmp_path / "cells.after.py"
    for case in execute.cases(execute.load(old, execute.module_name(old))):
        assert execute.compare(old, new, case) == []
        assert execute.breaks(old)[case.entry] and not execute.breaks(new)[case.entry]


def test_cells_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier cell gets is there when a later one needs it, though each cell is run by itself."""
    monkeypatch.syspath_prepend(str(tmp_path))
    model = "class {}(torch.nn.Module):\n    def forward(self, x):\n        print(x.sum())\n        return x"
    after = mended(
        notebook(
            "import torch\n# imports end here", "# first\n" + model.format("A"), model.format("B"), "a, b = A(), B()"
        ),
        tmp_path / "nb.ipynb",
    )
    space: dict[str, object] = {"__name__": "__main__"}
    for cell in after.cells:
        exec(compile(cell.source, f"cell {cell.number}", "exec"), space)
    assert after.cells[0].source == "import torch\nfrom _graphmend import graph_effect\n# imports end here"


def test_an_import_of_the_runtime_in_a_later_cell_does_not_count(tmp_path: Path) -> None:
    model = "class A(torch.nn.Module):\n    def forward(self, x):\n        print(x.sum())\n        return x"
    after = mended(
        notebook("import torch", model, "from _graphmend import graph_effect", model.replace("A", "B")),
        tmp_path / "nb.ipynb",
    )
    assert after.cells[0].source == "import torch\nfrom _graphmend import graph_effect"
    assert after.cells[2].source == "from _graphmend import graph_effect"


@pytest.mark.parametrize("folder", ["", "package"])
def test_the_runtime_stands_beside_the_notebook(tmp_path: Path, folder: str) -> None:
    """Also in a package: a notebook is run in its folder, outside of any."""
    path = tmp_path / folder / "nb.ipynb"
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    place = DiskProgram().for_file(str(path)).runtime(str(path))
    assert (place.module, place.path) == ("_graphmend", str(path.parent / "_graphmend.py"))


def test_a_magic_in_a_branch_is_not_lost() -> None:
    """What it does is unknown, so the branch is left alone."""
    source = (
        "import torch\nclass A(torch.nn.Module):\n    def forward(self, x):\n        if x.sum() > 0:\n"
        "            %magic\n            x = x + 1\n        else:\n            x = x - 1\n        return x"
    )
    joined = notebook(source)
    result = core.mend(joined.text, "nb.ipynb")
    assert result.analysis.findings and not result.applied


def test_reading(tmp_path: Path) -> None:
    assert notebooks.decode(b'{"nbformat": 4, "cells": []}', "nb.ipynb").joined.text == ""
