"""``scripts/bundle.py``: what it puts into ``libs``, and that it is the same each time."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.bundle.conftest import CLIENT, REPOSITORY

PYTHONS = ("310", "311", "312", "313", "314")


def _files(folder):
    paths = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(folder).as_posix(): path for path in paths}


def test_what_is_in_it(bundled):
    names = set(_files(bundled / "libs"))
    tops = {name.split("/")[0] for name in names}
    libraries = {"attr", "attrs", "cattrs", "exceptiongroup", "libcst", "lsprotocol", "pathspec", "pygls", "tomli"}
    assert {top for top in tops if not top.endswith(".dist-info")} - {"libcst.libs"} == {
        *libraries,
        "graphmend_lsp",
        "typing_extensions.py",
        "VERSIONS.json",
    }
    folders = {os.path.dirname(name).split("/")[-1] for name in names}
    assert not folders & {"tests", "test", "codemod", "matchers", "bin", "__pycache__"}


def test_every_library_has_its_licence_and_version(bundled):
    libs = bundled / "libs"
    versions = json.loads((libs / "VERSIONS.json").read_text())
    known = {folder.name.removesuffix(".dist-info") for folder in libs.glob("*.dist-info")}
    assert known == {f"{name.replace('-', '_')}-{version}" for name, version in versions["packages"].items()}
    for folder in libs.glob("*.dist-info"):
        names = set(_files(folder))
        assert "METADATA" in names and any("LICENSE" in name for name in names), folder
        assert not names & {"RECORD", "entry_points.txt"}  # neither is true of what is left


def test_our_package_is_there_as_it_is_here(bundled):
    here = {name: path.read_bytes() for name, path in _files(REPOSITORY / "graphmend_lsp").items()}
    there = {name: path.read_bytes() for name, path in _files(bundled / "libs" / "graphmend_lsp").items()}
    assert there == here
    assert {"py.typed", "data/op_facts.json", "runtime/_graphmend.py", "worker/__main__.py"} <= set(there)


def test_libcst_has_a_compiled_module_for_each_python(bundled, target):
    """Python finds an extension module by its suffix: each of these is found by one release alone."""
    names = sorted(path.name for path in (bundled / "libs" / "libcst").glob("native.*"))
    assert [name.split(".")[1].split("-")[-2 if "win" in name else 1] for name in names] == sorted(
        f"cp{python}" if target.startswith("win32") else python for python in PYTHONS
    )


def test_every_file_is_python_3_10s(bundled):
    """The bundle is one for all; a newer release reads what an older one does."""
    for name, path in _files(bundled / "libs").items():
        if name.endswith(".py"):
            ast.parse(path.read_bytes(), name, feature_version=(3, 10))


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13", "3.14"])
def test_every_module_of_the_server_is_imported(bundled, python_of, version):
    """Not only those of the start."""
    code = (
        "import importlib, pkgutil, sys; sys.path.insert(0, sys.argv[1]); import graphmend_lsp, libcst.native\n"
        "for module in pkgutil.walk_packages(graphmend_lsp.__path__, 'graphmend_lsp.'):\n"
        "    if not any(part in ('worker', 'runtime', 'startup', '__main__') for part in module.name.split('.')):\n"
        "        importlib.import_module(module.name)\n"
    )
    command = [python_of(version), "-I", "-S", "-c", code, str(bundled / "libs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_same_input_gives_the_same_bytes(bundled, make, tmp_path):
    make(tmp_path / "again")
    first, second = _files(bundled / "libs"), _files(tmp_path / "again")
    assert {name: path.read_bytes() for name, path in first.items()} == {
        name: path.read_bytes() for name, path in second.items()
    }
    assert len({path.stat().st_mtime for path in second.values()}) == 1


def test_an_old_folder_is_replaced_as_a_whole(make, tmp_path):
    (tmp_path / "libs" / "left_over").mkdir(parents=True)
    make(tmp_path / "libs")
    assert not (tmp_path / "libs" / "left_over").exists()
    assert os.listdir(tmp_path) == ["libs"]


def test_a_wheel_with_another_hash_is_refused_and_the_old_folder_kept(bundle, target, tmp_path, monkeypatch, capsys):
    pinned = tmp_path / "pinned"
    pinned.mkdir()
    text = (CLIENT / "bundled" / "requirements.txt").read_text()
    start = text.index("pygls==")
    text = text[:start] + text[start:].replace(text[start:].split("sha256:")[1][:64], "0" * 64, 1)
    (pinned / "requirements.txt").write_text(text)
    monkeypatch.setattr(bundle, "BUNDLED", str(pinned))
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "old").touch()
    kept = shutil.copytree(REPOSITORY / "build" / "wheels", tmp_path / "wheels")
    assert bundle.main(["--target", target, "--out", str(tmp_path / "libs"), "--wheels", str(kept)]) == 1
    assert "pygls 2.1.1" in capsys.readouterr().err
    assert os.listdir(tmp_path / "libs") == ["old"]


def test_wheels_that_differ_are_not_merged(bundle, tmp_path):
    """The Python files of libcst's wheels must be equal: the bundle has one set for all compiled modules."""
    paths = []
    for python in ("310", "311"):
        paths.append(str(tmp_path / f"libcst-1.0-cp{python}-cp{python}-win_amd64.whl"))
        with zipfile.ZipFile(paths[-1], "w") as archive:
            archive.writestr("libcst/__init__.py", f"version = {python}\n")
    with pytest.raises(bundle.wheels.WheelError, match=r"libcst/__init__\.py"):
        bundle.collect(paths)


@pytest.mark.parametrize(
    "names",
    [
        [f"native.cpython-{python}-darwin.so" for python in PYTHONS[1:]],
        [f"native.cpython-{python}-darwin.so" for python in (*PYTHONS, "315")],
        ["native.abi3.so"],
        [],
    ],
)
def test_a_python_without_a_compiled_module_is_an_error(bundle, names):
    with pytest.raises(bundle.wheels.WheelError, match="compiled modules"):
        bundle.check_libcst("darwin-arm64", {f"libcst/{name}": b"" for name in names})


def test_the_lock_names_every_wheel_of_every_target(bundle):
    """Nothing is downloaded: five Pythons and seven platforms have one version of libcst, Intel Macs an older one."""
    wheels = bundle.wheels
    for target in wheels.PLATFORMS:
        pins = wheels.pins_of(bundle.BUNDLED, target)
        assert pins["libcst"].version == ("1.8.6" if target == "darwin-x64" else "1.9.0")
        assert len(pins["libcst"].hashes) == 5 * (1 if target == "darwin-x64" else 7)
        assert all(len(pin.hashes) == 1 for name, pin in pins.items() if name != "libcst")
        assert len(wheels.wanted(pins.values(), target)) == len(pins) - 1 + 5


@pytest.mark.parametrize(
    ("name", "target", "found"),
    [
        ("libcst-1.9.0-cp312-cp312-manylinux_2_28_x86_64.whl", "linux-x64", True),
        ("libcst-1.9.0-cp312-cp312-manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl", "linux-x64", True),
        ("libcst-1.9.0-cp312-cp312-musllinux_1_2_x86_64.whl", "linux-x64", False),
        ("libcst-1.9.0-cp312-cp312-musllinux_1_2_x86_64.whl", "alpine-x64", True),
        ("libcst-1.9.0-cp312-cp312-macosx_11_0_arm64.whl", "darwin-arm64", True),
        ("libcst-1.9.0-cp312-cp312-macosx_11_0_arm64.whl", "darwin-x64", False),
        ("libcst-1.9.0-cp312-cp312-macosx_10_13_x86_64.whl", "darwin-x64", True),
        ("libcst-1.9.0-cp312-cp312t-win_amd64.whl", "win32-x64", False),
        ("libcst-1.9.0-cp311-cp311-win_amd64.whl", "win32-x64", False),
        ("libcst-1.8.6-cp312-cp312-win_amd64.whl", "win32-x64", False),
        ("libcst-1.9.0.tar.gz", "win32-x64", False),
    ],
)
def test_which_file_is_the_wheel_of_a_target(bundle, name, target, found):
    wheels = bundle.wheels
    wanted = wheels.Wanted(wheels.Pin("libcst", "1.9.0"), "312", wheels.PLATFORMS[target])
    assert wanted.is_named(name) is found


def test_a_lock_that_cannot_be_read_is_an_error(bundle, tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("attrs>=1\n")
    with pytest.raises(bundle.wheels.WheelError, match="attrs>=1"):
        bundle.wheels.read_lock(str(path))


def test_kept_wheels_need_no_network(bundle, bundled, target, tmp_path, monkeypatch):
    """``bundled`` has left them in build/wheels."""
    monkeypatch.setattr(bundle.wheels, "_download", lambda wheel, folder: pytest.fail(f"downloads {wheel}"))
    assert bundle.main(["--target", target, "--out", str(tmp_path / "libs")]) == 0
    names = os.listdir(tmp_path / "libs" / "libcst")
    digests = {
        hashlib.sha256((tmp_path / "libs" / "libcst" / name).read_bytes()).hexdigest()
        for name in names
        if "native" in name
    }
    assert len(digests) == 5
    assert sys.implementation.name != "cpython" or any(sys.implementation.cache_tag in name for name in names)
