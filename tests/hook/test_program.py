"""``graphmend run`` behaves as ``python`` does: arguments, paths, exit statuses, tracebacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from .conftest import ROOT, Run, Write

ABOUT = """\
import os, sys
print(__name__, sys.argv, sys.path[0], __package__, type(__loader__).__name__)
print(__spec__ and __spec__.name, __file__, __builtins__.__name__, sorted(globals()))
print(sys.modules["__main__"].__dict__ is globals(), os.environ.get("PYTHONPATH") is not None)
"""


def same(run: Run, *arguments: str, cwd: Path | None = None) -> None:
    """Both ways leave the same behind."""
    plain, mended = run(*arguments, mended=False, cwd=cwd), run(*arguments, cwd=cwd)
    assert (mended.code, mended.out) == (plain.code, plain.out)
    assert mended.err == plain.err


def test_a_script_sees_what_it_would_see(run: Run, write: Write, tmp_path: Path) -> None:
    write("some dir/about.py", ABOUT)
    same(run, "some dir/about.py", "--mend", "-m", "x y", "--", "-h")
    same(run, "about.py", cwd=tmp_path / "some dir")


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_linked_script_has_the_folder_of_its_target(run: Run, write: Write, tmp_path: Path) -> None:
    path = write("real/about.py", ABOUT)
    (tmp_path / "link.py").symlink_to(path)
    same(run, "link.py")


def test_a_module_and_a_package_with_main(run: Run, write: Write) -> None:
    write("pkg/__init__.py", "")
    write("pkg/about.py", ABOUT)
    write("pkg/__main__.py", ABOUT)
    same(run, "-m", "pkg.about", "a", "-m")
    same(run, "-m", "pkg")
    same(run, "-m", "this.does.not.exist")


def test_folders_and_archives_run_their_main(run: Run, write: Write, tmp_path: Path) -> None:
    write("app/__main__.py", ABOUT)
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", ABOUT)
    same(run, "app", "x")
    same(run, "app.pyz", "x")


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit(7)",
        "raise SystemExit",
        "import sys; sys.exit('a message')",
        "def f(x):\n    return (1 /\n            x)\n\n\ndef g(x):\n    return f(x)\n\n\ng(0)\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e\n",
        "def broken(:\n",
        "import part\n",
        "import broken\n",
        "import missing\n",
        "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__, a[2].tb_lineno)\n1 / 0\n",
        "import sys\n\ndef bad(*a):\n    raise KeyError('hook')\n\nsys.excepthook = bad\n1 / 0\n",
        "import atexit\natexit.register(print, 'at the end')\nraise KeyError('x')\n",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n1 / 0\n",
        "import os\nprint('gone', flush=True)\nos._exit(3)\n",
        "raise ExceptionGroup('many', [ValueError(1), KeyError(2)])\n",
        "x = '\\udc80'\nprint(ascii(x))\nraise ValueError(x)\n",
        "# -*- coding: latin-1 -*-\nprint('caf\\u00e9')\n",
    ],
)
def test_ends_are_the_same(run: Run, write: Write, code: str) -> None:
    write("part.py", "def f():\n    return [][0]\n\n\nf()\n")
    write("broken.py", "x = 1\nif x\n    pass\n")
    if "latin-1" in code:
        write("script.py", "").write_text(code, encoding="latin-1")
    else:
        write("script.py", code)
    same(run, "script.py")


def test_the_traceback_of_a_module(run: Run, write: Write) -> None:
    write("part.py", "def f():\n    return [][0]\n\n\nf()\n")
    same(run, "-m", "part")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_ends_the_process_as_python_does(run: Run, write: Write, tmp_path: Path) -> None:
    write("script.py", "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    ends: list[tuple[int, bytes]] = []
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHMEND_CACHE_DIR": str(tmp_path / "cache")}
    for command in ([], ["-m", "graphmend_lsp", "run"]):
        child = subprocess.Popen(
            [sys.executable, *command, "script.py"],
            cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in a background job
        )  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        ends.append((child.returncode, err))
    assert ends[0] == ends[1]


def test_a_script_that_is_not_there(run: Run) -> None:
    result = run("missing.py")
    assert result.code == 2
    assert "can't open file" in result.err


@pytest.mark.parametrize("arguments", [(), ("-m",), ("--nonsense", "x.py"), ("--mend",), ("--mend", "torch", "x.py")])
def test_mistakes_in_the_command(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert "error:" in result.err


def test_unknown_rules_are_a_mistake(run: Run, write: Write) -> None:
    write("script.py", "")
    result = run("--select", "GM999", "script.py")
    assert (result.code, "GM999" in result.err) == (2, True)


def test_help(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    assert "--mend" in result.out


def test_a_package_that_is_not_there_is_named_at_the_end(run: Run, write: Write) -> None:
    write("script.py", "print('ran')\n")
    result = run("--mend", "transfomers", "script.py")
    assert (result.code, result.out) == (0, "ran\n")
    assert result.err == "graphmend: there is no package transfomers: nothing of that name was imported\n"


def test_optimised_python_drops_assertions_of_mended_code_too(run: Run, write: Write, tmp_path: Path) -> None:
    write(
        "script.py",
        """\
        import torch


        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                assert (x > 0).all(), f"not positive: {x}"
                return x + 1


        print("_check" in str(Net.forward.__code__.co_names), Net()(torch.zeros(1)).item())
        """,
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHMEND_CACHE_DIR": str(tmp_path / "cache")}
    for options, code in (((), 1), (("-O",), 0)):
        done = subprocess.run(
            [sys.executable, *options, "-m", "graphmend_lsp", "run", "script.py"],
            cwd=tmp_path, env=env, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        if code:
            assert "AssertionError: not positive" in done.stderr
        else:
            assert done.stdout == "True 1.0\n"
