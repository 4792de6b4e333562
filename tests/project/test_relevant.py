"""Which files of a folder are worth a check."""

from __future__ import annotations

from pathlib import Path

from graphmend_lsp.project.relevant import Survey


def _files(tree: Path, survey: Survey | None = None, *, every: bool = False) -> list[str]:
    found = (survey or Survey()).files([str(tree)], lambda path, config: every)
    return [str(Path(path).relative_to(tree)).replace("\\", "/") for path in found]


def _write(tree: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = tree / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_what_mentions_torch_and_what_that_imports(tmp_path: Path) -> None:
    _write(
        tmp_path,
        model="import torch\nfrom helpers import (\n    first,\n    second,\n)\nfrom .near import x\nimport pkg.deep\n",
        helpers="import far as f\n",
        far="",
        near="",
        pkg__deep="",
        pkg__other="",
        alone="import model\nprint()\n",
        marked="x = 1  # graphmend: ignore\n",
        first="",
    )
    (tmp_path / "pkg" / "__init__.py").write_text("")
    expected = [
        "far.py",
        "first.py",
        "helpers.py",
        "marked.py",
        "model.py",
        "near.py",
        "pkg/__init__.py",
        "pkg/deep.py",
    ]
    assert _files(tmp_path) == expected


def test_no_torch_at_all(tmp_path: Path) -> None:
    _write(tmp_path, one="import two\n", two="import one\n")
    assert _files(tmp_path) == []
    assert _files(tmp_path, every=True) == ["one.py", "two.py"]


def test_a_file_that_changes(tmp_path: Path) -> None:
    survey = Survey()
    _write(tmp_path, one="x = 1\n", two="")
    assert _files(tmp_path, survey) == []
    _write(tmp_path, one="import torch, two\n")
    assert _files(tmp_path, survey) == ["one.py", "two.py"]
    (tmp_path / "one.py").unlink()
    assert _files(tmp_path, survey) == []
