"""``bundled/server.py`` starts the server that travels with the extension, whatever the environment is like."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from tests.bundle.conftest import CLIENT, new_environment

STARTER = CLIENT / "bundled" / "server.py"


def test_in_an_environment_without_anything(start, bundled, bare, mends):
    editor = start(bare, bundled)
    mends(editor)
    assert editor.log.count("\n") == 1, editor.log
    assert f"of {bundled / 'libs'}, Python {'.'.join(map(str, sys.version_info[:3]))} ({bare})" in editor.log


def test_in_an_environment_with_pip_alone(start, bundled, tmp_path, mends):
    mends(start(new_environment(tmp_path / "env"), bundled, "--import-strategy", "useBundled"))


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13", "3.14"])
def test_other_releases_of_python(start, bundled, python_of, version, mends):
    editor = start(python_of(version), bundled)
    mends(editor)
    assert f"Python {version}." in editor.log and "LibCST is not bundled" not in editor.log


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.9"])
def test_a_python_that_is_too_old_says_so(start, bundled, python_of, version):
    python = python_of(version)
    editor = start(python, bundled)
    assert editor.wait() == 3
    assert editor.log == (
        f"GraphMend: the server needs Python 3.10 or later; this is Python {version} ({python}). "
        "Choose another one: graphmend.interpreter\n"
    )


def test_too_old_is_seen_before_anything_else(bundled):
    """Wherever there is no old Python: this one says that it is one."""
    code = (
        "import runpy, sys; sys.version_info = (3, 9, 18, 'final', 0); "
        f"runpy.run_path({str(bundled / 'server.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stdout == ""
    assert "this is Python 3.9" in done.stderr and done.stderr.count("\n") == 1


def test_old_pythons_can_read_the_starter():
    tree = ast.parse(STARTER.read_text(), feature_version=(3, 6))
    imported = {node.names[0].name for node in tree.body if isinstance(node, ast.Import)}
    assert imported == {"os", "sys"}  # at the top: what runs before the release is looked at


def test_nothing_in_the_variables_or_the_folder_can_break_it(start, bundled, bare, tmp_path, mends):
    poison = tmp_path / "poison"
    poison.mkdir()
    for name in ("attr", "attrs", "pygls", "typing_extensions", "libcst", "types", "code", "logging", "sitecustomize"):
        (poison / f"{name}.py").write_text(f"raise SystemExit('poisoned by {name}')\n")
    variables = {"PYTHONPATH": str(poison), "PYTHONHOME": str(poison), "PYTHONSTARTUP": str(poison / "code.py")}
    mends(start(bare, bundled, folder=poison, variables=variables))


def test_the_bundled_libraries_come_before_the_environments(start, bundled, environment, mends):
    python, packages = environment
    for name in ("attr", "pygls", "libcst", "graphmend_lsp", "pathspec", "typing_extensions"):
        (packages / f"{name}.py").write_text(f"raise ImportError('the environment has its own {name}')\n")
    (packages / "early.pth").write_text("import attr, typing_extensions\n")  # what runs at the start gets ours, too
    mends(start(python, bundled))


def test_what_an_environment_prints_at_its_start_is_kept_from_the_editor(start, bundled, environment, mends):
    python, packages = environment
    (packages / "loud.pth").write_text("import os, sys; print('loud'); os.write(1, b'louder\\n')\n")
    (packages / "sitecustomize.py").write_text("print('sitecustomize')\n")
    editor = start(python, bundled)
    mends(editor)
    assert all(word in editor.log for word in ("loud\n", "louder\n", "sitecustomize\n"))


@pytest.mark.parametrize("flags", [(), ("-I",), ("-u",)])
def test_without_the_flags_it_starts_itself_anew(start, bundled, bare, tmp_path, flags, mends):
    (tmp_path / "pygls.py").write_text("raise SystemExit('poisoned')\n")
    editor = start(bare, bundled, flags=flags, variables={"PYTHONPATH": str(tmp_path)})
    mends(editor)


def test_a_python_for_which_libcst_has_no_wheel_is_told(start, make, tmp_path, bare):
    folder = tmp_path / "bundled"
    make(folder / "libs")
    (folder / "server.py").write_bytes(STARTER.read_bytes())
    for native in (folder / "libs" / "libcst").glob("native.*"):
        native.unlink()
    editor = start(bare, folder)
    editor.begin()
    assert editor.end() == 0
    assert "LibCST is not bundled for this Python" in editor.log and "graphmend.importStrategy" in editor.log


def test_the_log_is_utf_8_whatever_the_locale(start, bundled, tmp_path):
    python = new_environment(tmp_path / "umgebung-ü", "--without-pip")
    editor = start(python, bundled, variables={"LC_ALL": "C", "LANG": "C"})
    editor.begin()
    assert editor.end() == 0
    assert str(python) in editor.log


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--import-strategy", "both"], "--import-strategy is useBundled or fromEnvironment, not 'both'"),
        (["--import-strategy"], "not ''"),
        (["--port", "1"], "unknown option: --port"),
    ],
)
def test_wrong_options(bundled, bare, options, message):
    command = [str(bare), "-I", "-S", str(bundled / "server.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and message in done.stderr


def test_the_environment_variables_are_left_alone(bundled, bare):
    """They are what the processes get that run the user's code."""
    code = (
        "import os, runpy, sys; before = dict(os.environ); sys.argv[1:] = ['--help']\n"
        f"try: runpy.run_path({str(bundled / 'server.py')!r}, run_name='__main__')\n"
        "except SystemExit: print('SAME' if dict(os.environ) == before else 'CHANGED')\n"
    )
    variables = {**os.environ, "PYTHONPATH": "/somewhere"}
    command = [str(bare), "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.endswith("SAME\n")
