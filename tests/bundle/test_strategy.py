"""``--import-strategy``: the environment's server with the environment's libraries, or the bundled one with ours."""

from __future__ import annotations

import sys

import pytest

SPY = """\
import json, sys

def main(argv):
    import pygls
    sys.stderr.write(json.dumps({"argv": argv, "path": sys.path, "pygls": pygls.__file__}) + chr(10))
    return 7
"""


def _install(packages, server=SPY):
    """A stand-in for the installed package, which tells what it sees."""
    for name, text in {
        "graphmend_lsp/__init__.py": "__version__ = '9.9'\n",
        "graphmend_lsp/server/__init__.py": "",
        "graphmend_lsp/server/app.py": server,
        "pygls/__init__.py": "",
        "libcst/__init__.py": "",
    }.items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_server_of_the_environment(start, bundled):
    """The one that runs these tests has it, installed in place."""
    editor = start(sys.executable, bundled, "--import-strategy", "fromEnvironment")
    editor.begin()
    assert editor.end() == 0
    assert "GraphMend: server " in editor.log and str(bundled) not in editor.log


@pytest.mark.parametrize("spelling", [["--import-strategy", "fromEnvironment"], ["--import-strategy=fromEnvironment"]])
def test_nothing_bundled_is_mixed_in(start, bundled, environment, spelling):
    python, packages = environment
    _install(packages)
    editor = start(python, bundled, *spelling, "--clientProcessId=1")
    assert editor.wait() == 7
    assert f"server 9.9 of {packages}" in editor.log
    assert str(bundled) not in editor.log
    assert '"argv": ["--clientProcessId=1", "--stdio"]' in editor.log
    assert f'"pygls": "{packages / "pygls" / "__init__.py"}"' in editor.log


def test_without_one_the_bundled_server_starts(start, bundled, bare, mends):
    editor = start(bare, bundled, "--import-strategy", "fromEnvironment")
    mends(editor)
    first, second, third = editor.log.splitlines()
    assert first.endswith(
        f"{bare} has no graphmend-lsp that runs: ModuleNotFoundError: No module named 'graphmend_lsp'"
    )
    assert second == "GraphMend: the server that came with the extension is used"
    assert f"of {bundled / 'libs'}," in third


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pygls/__init__.py", "raise RuntimeError('no good')\n"),
        ("graphmend_lsp/server/app.py", "import attr, pygls, no_such_module\n"),
        ("graphmend_lsp/server/app.py", "print('from the import')\nraise SystemExit(5)\n"),
        ("graphmend_lsp/server/app.py", "old = 'a server of another time'\n"),
    ],
)
def test_one_that_does_not_run_is_left_alone(start, bundled, environment, mends, name, text):
    python, packages = environment
    _install(packages, "import pygls\n")
    (packages / "attr.py").write_text("raise_when_used = True\n")
    (packages / name).write_text(text)
    editor = start(python, bundled, "--import-strategy", "fromEnvironment")
    mends(editor)  # with the bundled attrs and pygls, though the environment's were imported before
    assert "has no graphmend-lsp that runs" in editor.log and f"of {bundled / 'libs'}," in editor.log
    assert editor.log.count("GraphMend: server ") == 1


def test_one_without_libcst_does_not_run(start, bundled, environment):
    python, packages = environment
    _install(packages)
    (packages / "libcst" / "__init__.py").unlink()
    (packages / "libcst").rmdir()
    editor = start(python, bundled, "--import-strategy", "fromEnvironment")
    editor.begin()
    assert editor.end() == 0
    assert "No module named 'libcst'" in editor.log


def test_a_source_checkout_uses_the_environment(start, without_libs, environment):
    python, packages = environment
    _install(packages)
    editor = start(python, without_libs)
    assert editor.wait() == 7
    assert "there are no libraries beside" in editor.log and f"server 9.9 of {packages}" in editor.log


def test_libraries_that_are_not_whole_are_not_used(start, without_libs, bundled, environment):
    python, packages = environment
    _install(packages)
    libs = without_libs / "libs"
    libs.symlink_to(bundled / "libs" / "pygls")  # a folder without VERSIONS.json, which is written last
    try:
        editor = start(python, without_libs)
        assert editor.wait() == 7
    finally:
        libs.unlink()


@pytest.mark.parametrize("strategy", ["useBundled", "fromEnvironment"])
def test_without_any_server_it_ends_with_4(start, without_libs, bare, strategy):
    editor = start(bare, without_libs, "--import-strategy", strategy)
    assert editor.wait() == 4
    assert "pip install graphmend-lsp" in editor.log
