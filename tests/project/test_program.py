"""Modules by name, and where the runtime goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmend_lsp.check import RuntimePlace
from graphmend_lsp.project import vendored
from graphmend_lsp.project.program import DiskProgram

HEADER = '"""What it is.\n\nVersion {}. Made by graphmend-lsp, which ...\n"""\n'
RUNTIME = HEADER.format(3) + "X = 1\n"


SHIPPED = vendored.runtime_text()


def test_the_shipped_runtime_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "_graphmend.py"
    path.write_text(SHIPPED + "\n# edited\n", encoding="utf-8")
    assert DiskProgram().runtime(str(tmp_path / "m.py")).path == str(path)  # ours, so it may be replaced


@pytest.fixture(autouse=True)
def shipped_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendored, "runtime_text", lambda: RUNTIME)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {
            "pyproject.toml": "",
            "src/pkg/__init__.py": "root = 1\n",
            "src/pkg/a/__init__.py": "",
            "src/pkg/a/b/__init__.py": "",
            "src/pkg/a/b/m.py": "m = 1\n",
            "src/pkg/util.py": "util = 1\n",
            "scripts/run.py": "import pkg\n",
            "scripts/helper.py": "helper = 1\n",
        },
    )
    return tmp_path


def test_module_names(package: Path) -> None:
    program = DiskProgram()
    assert program.module_name(str(package / "src/pkg/a/b/m.py")) == ("pkg.a.b.m", False)
    assert program.module_name(str(package / "src/pkg/a/__init__.py")) == ("pkg.a", True)
    assert program.module_name(str(package / "scripts/run.py")) == ("scripts.run", False)  # a namespace package


def test_sources_of_the_own_package_and_of_the_project(package: Path) -> None:
    inside = DiskProgram().for_file(str(package / "src/pkg/a/b/m.py"))
    assert inside.source("pkg.util") == (str(package / "src/pkg/util.py"), "util = 1\n")
    assert inside.source("pkg") == (str(package / "src/pkg/__init__.py"), "root = 1\n")
    script = DiskProgram().for_file(str(package / "scripts/run.py"))
    assert script.source("helper") == (str(package / "scripts/helper.py"), "helper = 1\n")
    assert script.source("pkg.util") is not None
    assert DiskProgram([str(package)]).source("pkg.util") is not None
    for wrong in ("pkg.none", "", "pkg..util", "../x", "torch"):
        assert inside.source(wrong) is None


def test_open_buffers_come_first_and_changes_on_disk_are_seen(package: Path) -> None:
    util = str(package / "src/pkg/util.py")
    overlay: dict[str, str] = {}
    program = DiskProgram([str(package)], overlay=overlay)
    assert program.source("pkg.util") == (util, "util = 1\n")
    Path(util).write_text("util = 'longer'\n")
    assert program.source("pkg.util") == (util, "util = 'longer'\n")
    overlay[util] = "util = 'typed'\n"
    assert program.for_file(util).source("pkg.util") == (util, "util = 'typed'\n")


def test_undecodable_modules_do_not_exist(package: Path) -> None:
    (package / "src/pkg/bad.py").write_bytes(b"\xff\n")
    assert DiskProgram([str(package)]).source("pkg.bad") is None


def test_an_installed_package_sees_only_itself(tmp_path: Path) -> None:
    write(
        tmp_path, {"site-packages/p/__init__.py": "", "site-packages/p/m.py": "", "site-packages/torch/__init__.py": ""}
    )
    program = DiskProgram().for_file(str(tmp_path / "site-packages/p/m.py"))
    assert program.source("p.m") is not None
    assert program.source("torch") is None


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("src/pkg/util.py", "._graphmend"),
        ("src/pkg/__init__.py", "._graphmend"),
        ("src/pkg/a/__init__.py", ".._graphmend"),
        ("src/pkg/a/b/m.py", "..._graphmend"),
    ],
)
def test_the_runtime_stands_in_the_top_package(package: Path, file: str, module: str) -> None:
    place = DiskProgram().runtime(str(package / file))
    assert place == RuntimePlace(module, str(package / "src/pkg/_graphmend.py"), RUNTIME)
    Path(place.path or "").write_text(RUNTIME)
    assert DiskProgram().runtime(str(package / file)) == RuntimePlace(module)


def test_the_runtime_stands_beside_a_script(package: Path) -> None:
    place = DiskProgram().runtime(str(package / "scripts/run.py"))
    assert (place.module, place.path) == ("_graphmend", str(package / "scripts/_graphmend.py"))


def test_a_package_without_init_gets_a_relative_import(tmp_path: Path) -> None:
    write(tmp_path, {"ns/m.py": "from . import other\n"})
    assert DiskProgram().runtime(str(tmp_path / "ns/m.py")).module == "._graphmend"


def test_an_init_in_the_project_root_is_not_a_package(package: Path) -> None:
    write(package, {"__init__.py": "", "src/__init__.py": ""})
    place = DiskProgram().runtime(str(package / "src/pkg/util.py"))
    assert (place.module, place.path) == (".._graphmend", str(package / "src/_graphmend.py"))


@pytest.mark.parametrize(
    ("there", "module", "written"),
    [
        (HEADER.format(2) + "X = 0\n", "._graphmend", "_graphmend.py"),
        (HEADER.format(3) + "X = 0\n", "._graphmend", "_graphmend.py"),
        (HEADER.format(4) + "X = 2\n", "._graphmend", None),
        (RUNTIME.replace("\n", "\r\n"), "._graphmend", None),
        ("mine = 1\n", "._graphmend_runtime", "_graphmend_runtime.py"),
    ],
    ids=["older", "edited", "newer", "crlf", "foreign"],
)
def test_a_file_of_that_name_is_there(package: Path, there: str, module: str, written: str | None) -> None:
    (package / "src/pkg/_graphmend.py").write_bytes(there.encode())
    place = DiskProgram().runtime(str(package / "src/pkg/util.py"))
    assert place.module == module
    assert (Path(place.path).name if place.path else None) == written
    assert (place.text == RUNTIME) == (written is not None)


def test_foreign_files_under_both_names(package: Path) -> None:
    write(package, {"src/pkg/_graphmend.py": "mine", "src/pkg/_graphmend_runtime.py": "mine, too"})
    assert DiskProgram().runtime(str(package / "src/pkg/util.py")).module == "._graphmend_runtime_2"


def test_package_mode(package: Path) -> None:
    assert DiskProgram(runtime_mode="package").runtime(str(package / "m.py")) == RuntimePlace("graphmend_lsp.runtime")
