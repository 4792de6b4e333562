"""A cached mend costs no more than reading it: nothing slow is imported."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .conftest import NET, Run, Write

# each of these takes longer to import than the hook
SLOW = (
    "argparse",
    "dataclasses",
    "graphmend_lsp.check",
    "graphmend_lsp.flow",
    "graphmend_lsp.hook.mender",
    "graphmend_lsp.hook.record",
    "graphmend_lsp.mend",
    "graphmend_lsp.parse",
    "graphmend_lsp.project.config",
    "graphmend_lsp.project.index",
    "graphmend_lsp.runtime",
    "graphmend_lsp.server",
    "inspect",
    "libcst",
    "lsprotocol",
    "pathspec",
    "pygls",
    "rich",
    "subprocess",
    "tempfile",
    "torch",
)


def settle(*paths: Path) -> None:
    """Let the files be older than the time for which time stamps are not trusted."""
    for path in paths:
        os.utime(path, (time.time() - 60,) * 2)


def test_a_program_without_torch(run: Run, write: Write) -> None:
    paths = [write("pyproject.toml", "[tool.graphmend]\nselect = ['GM1']\nexclude = ['x/']\n")]
    paths.append(write("part.py", "def forward(x):\n    print(x)\n"))
    paths.append(
        write("main.py", f"import part\nimport sys\nprint([name for name in {SLOW!r} if name in sys.modules])\n")
    )
    settle(*paths)
    assert "graphmend_lsp.check" in run("main.py").out
    assert run("main.py").out == "[]\n"


def test_a_mended_module(run: Run, write: Write) -> None:
    paths = [write("pyproject.toml", ""), write("net.py", NET)]
    script = write(
        "main.py",
        """\
        import sys
        import net
        print("graph_effect" in vars(net))
        ours = ("libcst", "pygls", "lsprotocol", "rich", "graphmend_lsp.")
        print(sorted(name for name in sys.modules if name.startswith(ours)))
        """,
    )
    settle(script, *paths)
    run("main.py")
    mended, names = run("main.py").out.splitlines()
    assert mended == "True"
    assert not {name.split(".")[1] for name in eval(names)} - {"cli", "hook", "project", "runtime"}
    assert "graphmend_lsp.hook.mender" not in names
