"""Processes that a mended program starts mend the same."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from graphmend_lsp import hook
from graphmend_lsp.hook.children import FOLDER

from .conftest import NET, ROOT, Run, Write

SAY = "import pkg.net\nprint('graph_effect' in vars(pkg.net), flush=True)\n"


@pytest.fixture
def package(write: Write) -> None:
    write("pyproject.toml", "")
    write("pkg/__init__.py", "")
    write("pkg/net.py", NET)
    write("say.py", SAY)


@pytest.mark.parametrize(
    "method", ["spawn", pytest.param("forkserver", marks=pytest.mark.skipif(os.name != "posix", reason="POSIX only"))]
)
def test_multiprocessing(run: Run, write: Write, package: None, method: str) -> None:
    write(
        "main.py",
        f"""\
        import multiprocessing
        import torch


        class Own(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                print("own")
                return x


        def work(queue):
            import pkg.net
            queue.put((__name__, "graph_effect" in vars(pkg.net), "print" in Own.forward.__code__.co_names))


        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(*queue.get())
            process.join()
            print(process.exitcode)
        """,
    )
    result = run("main.py")
    assert result.out == "__mp_main__ True False\n0\n", result


def test_subprocesses_and_the_report_over_all(run: Run, write: Write, package: None, tmp_path: Path) -> None:
    write(
        "main.py",
        """\
        import subprocess, sys
        for options in ([], ["-m"], ["-c"], ["-I"]):
            what = {"-m": "say", "-c": "import runpy; runpy.run_path('say.py')", "-I": "say.py"}
            subprocess.run([sys.executable, *options, what.get("".join(options), "say.py")])
        """,
    )
    result = run("--report=report.json", "main.py")
    lines = result.out.split()
    assert lines[:3] == ["True"] * 3, result
    report = json.loads((tmp_path / "report.json").read_text())
    net = next(file for file in report["files"] if file["path"].endswith("net.py"))
    assert [item["code"] for item in net["mended"]] == ["GM201"]
    assert net["processes"] == 3
    assert net["from_cache"] is False


def test_the_path_and_another_sitecustomize_stay_as_they_are(run: Run, write: Write, tmp_path: Path) -> None:
    write("site/sitecustomize.py", "import sys\nsys.customized = __file__\n")
    write(
        "child.py", "import sitecustomize, sys\nprint([p for p in sys.path], sys.customized, sitecustomize.__file__)\n"
    )
    write("main.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\n")
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    plain = run("main.py", mended=False, PYTHONPATH=path)
    mended = run("main.py", PYTHONPATH=path)
    assert mended.out == plain.out != ""
    assert FOLDER not in mended.out


def test_a_child_whose_environment_is_broken_runs_unmended(run: Run, write: Write) -> None:
    write("main.py", "import os, subprocess, sys\nos.environ['GRAPHMEND_HOOK'] = '[{'\n"
          "subprocess.run([sys.executable, '-c', 'print(1)'])\n")  # fmt: skip
    result = run("main.py")
    assert result.out == "1\n"
    assert "nothing is mended in process" in result.err


def test_the_environment_is_given_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/a")
    hook.install("pkg_a")
    hook.install("pkg_b", unsafe=True)
    assert os.environ["PYTHONPATH"] == os.pathsep.join([FOLDER, "/a"])
    assert [o["packages"] for o in json.loads(os.environ[hook.VARIABLE])] == [["pkg_a"], ["pkg_b"]]
    hook.uninstall()
    assert os.environ["PYTHONPATH"] == "/a"
    hook.install("pkg_a", children=False)
    assert hook.VARIABLE not in os.environ
    assert "sitecustomize" not in sys.path
