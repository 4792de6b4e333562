"""Which files are looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphmend_lsp.project.discover import Discovered, discover


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(found: Discovered, root: Path) -> list[str]:
    return [Path(path).relative_to(root).as_posix() for path, _ in found.files]


def test_python_files_sorted_without_the_usual_folders(tmp_path: Path) -> None:
    touch(
        *(tmp_path / name for name in ("z.py", "a/b.py", "a/c.txt", "build/x.py", ".git/x.py", "a/__pycache__/x.py")),
        *(tmp_path / name for name in ("node_modules/x.py", "env/pyvenv.cfg", "env/lib/x.py", "x.egg-info/x.py")),
    )
    assert names(discover([str(tmp_path)]), tmp_path) == ["a/b.py", "z.py"]


def test_what_is_named_is_always_in(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nexclude = ['skipped/', '*_pb2.py']\n")
    touch(*(tmp_path / name for name in ("skipped/a.py", "m_pb2.py", "build/b.py", "c.py", "script")))
    assert names(discover([str(tmp_path)]), tmp_path) == ["c.py"]
    named = [str(tmp_path / name) for name in ("m_pb2.py", "build", "script")]
    assert names(discover(named), tmp_path) == ["build/b.py", "m_pb2.py", "script"]


def test_installed_packages_when_named(tmp_path: Path) -> None:
    touch(tmp_path / "venv/lib/site-packages/pkg/m.py")
    assert names(discover([str(tmp_path)]), tmp_path) == []
    assert len(discover([str(tmp_path / "venv/lib/site-packages/pkg")]).files) == 1


def test_a_missing_path_does_not_stop_the_others(tmp_path: Path) -> None:
    touch(tmp_path / "a.py")
    found = discover([str(tmp_path / "none"), str(tmp_path / "a.py")])
    assert names(found, tmp_path) == ["a.py"]
    assert [problem.message for problem in found.problems] == ["no such file or directory"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_links(tmp_path: Path) -> None:
    touch(tmp_path / "a/b.py")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    (tmp_path / "a/also.py").symlink_to("b.py")
    (tmp_path / "a/broken.py").symlink_to("none.py")
    assert names(discover([str(tmp_path)]), tmp_path) == ["a/b.py"]
    (tmp_path / "link").symlink_to("a")
    assert len(discover([str(tmp_path / "link")]).files) == 1


def test_each_file_has_the_configuration_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend]\nentries = ['f']\n")
    touch(tmp_path / "a.py", tmp_path / "sub" / "b.py")
    (tmp_path / "sub" / "pyproject.toml").write_text("[tool.graphmend]\nentries = ['g']\nwrong = 1\n")
    found = discover([str(tmp_path)])
    assert [config.settings.entries for _, config in found.files] == [("f",), ("g",)]
    assert len(found.config_problems) == 1
