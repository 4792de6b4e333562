"""Optional imports: which fail where the code runs, judged by the files that are there."""

from __future__ import annotations

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.project import installed
from graphmend_lsp.project.program import DiskProgram
from graphmend_lsp.settings import Settings

TEXT = """\
import torch

def load():
    try:
        import fast_attention.ops as fast
    except ImportError:
        return None
    return fast

def fn(x):
    return x + 1 if load() is None else x
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The ``site-packages`` of the project's own environment, with torch."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    folder = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch-2.13.0.dist-info").mkdir()
    installed._modules.cache_clear()
    return folder


def _codes(tmp_path, text=TEXT):
    path = tmp_path / "model.py"
    path.write_text(text)
    program = DiskProgram((str(tmp_path),)).for_file(str(path))
    return [f.code for f in check(text, str(path), program=program, settings=Settings(entries=("fn",))).findings]


def test_a_package_that_is_not_there(site, tmp_path):
    assert _codes(tmp_path) == ["GM601"]
    assert _codes(tmp_path, TEXT.replace("import fast_attention.ops as fast", "from fast_attention import ops as fast"))


@pytest.mark.parametrize("name", ["fast_attention", "fast_attention.py", "Fast_Attention-2.0.dist-info"])
def test_one_that_is(site, tmp_path, name):
    (site / name).mkdir()
    assert _codes(tmp_path) == []


def test_one_of_the_project(site, tmp_path):
    (tmp_path / "fast_attention").mkdir()
    assert _codes(tmp_path) == []


def test_one_in_a_folder_that_is_added(site, tmp_path):
    (tmp_path / "elsewhere" / "fast_attention").mkdir(parents=True)
    (site / "added.pth").write_text(f"# a comment\n{tmp_path / 'elsewhere'}\nimport os\n")
    assert _codes(tmp_path) == []


def test_what_a_finder_may_find_is_not_known(site, tmp_path):
    (site / "__editable__.other.pth").write_text(
        "import __editable___other_finder; __editable___other_finder.install()\n"
    )
    assert _codes(tmp_path) == []


def test_without_an_environment_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr("graphmend_lsp.project.installed.folder_with_torch", lambda project: None)
    assert _codes(tmp_path) == []


@pytest.mark.parametrize("module", ["math", "json", "tomllib"])
def test_the_standard_library_is_there(site, tmp_path, module):
    assert _codes(tmp_path, TEXT.replace("fast_attention.ops", module)) == []


def test_an_import_that_may_not_fail_is_not_judged(site, tmp_path):
    assert _codes(tmp_path, TEXT.replace("ImportError", "KeyError")) == []
