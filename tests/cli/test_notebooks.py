"""``graphmend check`` and ``graphmend fix`` on notebooks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from .conftest import MODEL, Run

METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
OUTPUT = [{"name": "stdout", "output_type": "stream", "text": ["step é\n"]}]
BODY = MODEL.partition("\n")[2].strip("\n")


def write(path: Path, *sources: str, text: str = "# Title", indent: int = 1) -> Path:
    """A notebook of code cells below one of text."""
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "metadata": {}, "source": [text]}]
    for source in sources:
        lines = source.splitlines(keepends=True)
        cells.append({"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": OUTPUT, "source": lines})
    content = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """One finding, in the third cell."""
    return write(tmp_path / "nb.ipynb", "%matplotlib inline\nimport torch", BODY, "m = Model()\nm(torch.ones(3));")


def test_full_output(run: Run, notebook: Path) -> None:
    result = run("check")
    assert (result.code, result.err) == (1, "")
    frame = """\
 --> nb.ipynb:cell 3:4:9
  |
2 |     def forward(self, x: torch.Tensor) -> torch.Tensor:
3 |         y = x + 1
4 |         print("step")
  |         ^^^^^^^^^^^^^
5 |         return y * 2
  |
"""
    assert frame in result.out
    assert "\n  = `Model` is an nn.Module: its forward may be compiled, line 2\n" in result.out
    assert result.out.endswith("\n\nFound 1 finding (1 safe fix) in 1 file.\n")


def test_concise_and_json_output(run: Run, notebook: Path) -> None:
    assert run("check", "--output-format", "concise").out.startswith("nb.ipynb:cell 3:4:9: GM201 [*] ")
    (finding,) = json.loads(run("check", "--output-format", "json", "nb.ipynb").out)["findings"]
    place = {key: finding[key] for key in ("path", "cell", "line", "column", "end_line", "end_column")}
    assert place == {"path": str(notebook), "cell": 3, "line": 4, "column": 9, "end_line": 4, "end_column": 22}
    assert [(step["cell"], step["line"]) for step in finding["evidence"]] == [(3, 2)]
    edits = next(offer["edits"] for offer in finding["offers"] if offer["safety"] == "safe")
    assert [edit["cell"] for edit in edits] == [2, 3, 3]
    assert edits[0]["text"] == "\nfrom _graphmend import graph_effect"


def test_lines_of_another_cell_are_named_with_it(run: Run, tmp_path: Path) -> None:
    helper = "import torch\n\n\ndef helper(x):\n    if x.sum() > 0:\n        return x\n    return -x"
    write(tmp_path / "nb.ipynb", helper, "@torch.compile\ndef f(x: torch.Tensor):\n    return helper(x)")
    out = run("check", "nb.ipynb").out
    assert "(`x`: " in out and "cell 3, line 2)" in out
    assert ", cell 3, line" in out.partition("  = ")[2]


def test_fix_changes_sources_only(run: Run, notebook: Path, tmp_path: Path) -> None:
    before = notebook.read_text(encoding="utf-8")
    shown = run("fix", "--diff")
    assert shown.code == 1 and notebook.read_text(encoding="utf-8") == before
    assert '+    "from _graphmend import graph_effect"\n' in shown.out
    result = run("fix")
    assert (result.code, result.out.splitlines()[-1]) == (0, "Mended 1 finding in 1 file.")
    after = notebook.read_text(encoding="utf-8")
    old, new = json.loads(before), json.loads(after)
    changed = [a["source"] != b["source"] for a, b in zip(old["cells"], new["cells"], strict=True)]
    assert changed == [False, True, True, False]
    for content in (old, new):
        for cell in content["cells"]:
            del cell["source"]
    assert old == new and list(old) == list(new)
    assert json.dumps(json.loads(after), indent=1, ensure_ascii=False) + "\n" == after
    assert (tmp_path / "_graphmend.py").exists()
    assert run("check", "nb.ipynb").code == 0
    (tmp_path / "_graphmend.py").unlink()
    notebook.write_text(before, encoding="utf-8")
    try:
        subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=shown.raw, check=True)
    except FileNotFoundError:
        pytest.skip("needs git")
    assert notebook.read_text(encoding="utf-8") == after


def test_a_notebook_without_findings_is_not_written(run: Run, notebook: Path) -> None:
    data = notebook.read_bytes().replace(b'print(\\"step\\")', b"pass").replace(b"\n", b"\r\n")
    notebook.write_bytes(data)
    assert run("fix").code == 0
    assert notebook.read_bytes() == data


def test_standard_input(run: Run, notebook: Path) -> None:
    data = notebook.read_bytes()
    assert run("check", "-", "--stdin-filename", "other.ipynb", stdin=data).out.count("other.ipynb:cell 3:4:9") == 1
    mended = run("fix", "-", "--stdin-filename", "other.ipynb", stdin=data)
    assert "graph_effect" in json.loads(mended.raw)["cells"][1]["source"][-1]


def test_a_cell_that_does_not_parse(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "nb.ipynb", "import torch", "x = (\n", BODY)
    data = path.read_bytes()
    checked = run("check", "nb.ipynb")
    assert "nb.ipynb:cell 4:4:9" in checked.out
    assert "1 file checked only in part" in checked.out
    assert checked.err.startswith("error: nb.ipynb:cell 3:1: ") and checked.code == 2
    (error,) = json.loads(run("check", "--output-format", "json").out)["errors"]
    assert (error["path"], error["cell"], error["line"]) == (str(path), 3, 1)
    fixed = run("fix")
    assert fixed.code == 2 and fixed.err.endswith("; left alone\n")
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "not a notebook: not JSON (line 1"),
        (b'{"nbformat": 3, "worksheets": []}', "notebook format 3 is too old"),
        (
            b'{"nbformat": 4, "cells": [], "metadata": {"language_info": {"name": "R"}}}',
            "a notebook of R, not of Python",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "fix"])
def test_what_cannot_be_read(run: Run, model: Path, data: bytes, said: str, command: str) -> None:
    (model.parent / "bad.ipynb").write_bytes(data)
    result = run(command)
    assert result.code == 2
    assert result.err.startswith("error: bad.ipynb: ") and said in result.err
    assert "1 file" in result.out  # the others are done


def test_exclusions_count(run: Run, notebook: Path, tmp_path: Path) -> None:
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "nb-checkpoint.ipynb").write_bytes(notebook.read_bytes())
    assert run("check", ".").out.endswith("in 1 file.\n")
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\nexclude = ["*.ipynb"]\n')
    assert run("check", ".").code == 0
    assert run("check", "nb.ipynb").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "nb.ipynb"),
        ("verify", "model.py", "--against", "nb.ipynb"),
        ("profile", "nb.ipynb::Model"),
        ("run", "nb.ipynb"),
    ],
)
def test_notebooks_are_not_run(run: Run, notebook: Path, model: Path, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert result.err == "error: nb.ipynb: a notebook is not run: move the code into a .py file and name that\n"
