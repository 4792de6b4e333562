"""What goes wrong is a result with a kind and a message; nothing is left running."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from graphmend_lsp.profile.plan import Options, Plan
from graphmend_lsp.profile.run import profile as run_profile
from tests.support.processes import runs, wait_for_the_end

FUNCTION = """\
import os, sys, time
from pathlib import Path
import torch


def f(x):
    {}
    return x


def example_inputs():
    return torch.ones(3)
"""


@pytest.fixture
def failing(profile, tmp_path):
    """Profile ``f`` with a line in it; the failure."""

    def run(line: str = "pass", *, text: str = FUNCTION, entry: str = "f", arguments: tuple[str, ...] = (), **options):
        (tmp_path / "m.py").write_text(text.format(line) if "{}" in text else text)
        ran = profile(f"m.py::{entry}", *arguments, **options)
        assert ran.code == 2, ran.out + ran.err
        assert ran.report["original"] is None
        return ran.failure

    return run


def _fake_torch(folder: Path, text: str) -> dict[str, str]:
    (folder / "fake" / "torch").mkdir(parents=True)
    (folder / "fake" / "torch" / "__init__.py").write_text(text)
    return {"PYTHONPATH": str(folder / "fake")}


def test_no_torch(failing, tmp_path):
    failure = failing(env=_fake_torch(tmp_path, "raise ImportError('libcudart is missing')"))
    assert failure["kind"] == "torch" and "libcudart is missing" in failure["message"]


def test_old_torch(failing, tmp_path):
    failure = failing(env=_fake_torch(tmp_path, "__version__ = '1.13.1+cu117'"))
    assert failure["kind"] == "old-torch"
    assert "2.4 or later" in failure["message"] and "1.13.1" in failure["message"]


def test_no_cuda(failing):
    failure = failing(device="cuda", env={"CUDA_VISIBLE_DEVICES": ""})
    assert failure["kind"] == "no-cuda" and "--device cpu" in failure["message"]


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ("raise ValueError('too big')", "raised", "ValueError: too big (m.py:7)"),
        ("raise torch.OutOfMemoryError('CUDA out of memory: 80 GiB')", "out-of-memory", "80 GiB"),
        ("torch.empty(1 << 60)", "out-of-memory", "out of memory"),
        ("sys.exit(3)", "raised", "SystemExit"),
        ("os._exit(7)", "died", "exit status 7"),
        ("os.kill(os.getpid(), 9)", "died", "signal 9"),
    ],
)
def test_the_code_raises_or_ends(failing, line, kind, said):
    failure = failing(line)
    assert failure["kind"] == kind and said in failure["message"]


@pytest.mark.parametrize(
    ("text", "entry", "kind", "said"),
    [
        ("import torch\nimport nowhere_at_all\n\n\ndef f(x):\n    return x\n", "f", "import", "nowhere_at_all"),
        ("import sys\nsys.exit(1)\n\n\ndef f(x):\n    return x\n", "f", "import", "SystemExit"),
        ("def f(x:\n    return x\n", "f", "import", "SyntaxError"),
        ("def f(x):\n    return x\n\n\ndef example_inputs():\n    return 1\n", "g", "entry", "has no g"),
        ("f = 3\n\n\ndef example_inputs():\n    return 1\n", "f", "entry", "not a function or class"),
        (
            "def f(x):\n    return x\n\n\ndef example_inputs():\n    raise OSError('no data')\n",
            "f",
            "inputs",
            "no data",
        ),
        ("def f(x):\n    return x\n\n\ndef example_inputs():\n    return 1, 2, 3\n", "f", "inputs", "do not fit"),
        ("def f(x):\n    return x.nonsense\n", "f", "inputs", "example_inputs()"),
        (
            "from torch import nn\n\n\nclass N(nn.Module):\n"
            "    def __init__(self):\n        raise RuntimeError('no weights')\n\n"
            "    def forward(self, x):\n        return x\n\n\ndef example_inputs():\n    return 1\n",
            "N",
            "build",
            "no weights",
        ),
    ],
)
def test_it_cannot_be_built_or_called(failing, text, entry, kind, said):
    failure = failing(text=text, entry=entry)
    assert failure["kind"] == kind and said in failure["message"], failure


def test_it_hangs(failing):
    started = time.monotonic()
    failure = failing("time.sleep(1000)", arguments=("--timeout", "8"))
    assert failure["kind"] == "timeout" and "8 s" in failure["message"]
    assert time.monotonic() - started < 30


def test_it_prints_megabytes(profile, tmp_path):
    line = "sys.stderr.write('x' * 30_000_000); print('y' * 3_000_000); os.write(1, b'z' * 3_000_000)"
    (tmp_path / "m.py").write_text(FUNCTION.format(line))
    ran = profile("m.py::f", "--no-compare")
    assert ran.code == 0 and len(ran.out) < 100_000 and len(ran.err) < 10_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_it_forks(profile, tmp_path):
    line = "pid = os.fork(); time.sleep(600 if not pid else 0); open('child', 'w').write(str(pid))"
    (tmp_path / "m.py").write_text(FUNCTION.format(line))
    started = time.monotonic()
    ran = profile("m.py::f", "--no-compare")
    assert ran.code == 0, ran.out
    assert time.monotonic() - started < 60
    assert not runs(int((tmp_path / "child").read_text()))


def test_the_interpreter_is_missing(profile, model):
    ran = profile("model.py::Net", python="/nowhere/python")
    assert ran.code == 2 and ran.out == "" and "/nowhere/python" in ran.err
    broken = model.parent / "python"
    broken.write_text("not a program")
    broken.chmod(0o755)
    failure = profile("model.py::Net", python=str(broken)).failure
    assert failure["kind"] in ("start", "died") and str(broken) in failure["message"]


def test_the_mended_arm_alone_fails(profile, tmp_path):
    """What was measured before is kept."""
    (tmp_path / "m.py").write_text(
        "import inspect, sys, torch\n\n\ndef f(x):\n    print(x.sum())\n    return x\n\n\n"
        "if 'graph_' + 'effect' in inspect.getsource(sys.modules[__name__]):\n"
        "    raise RuntimeError('changed')\n\n\ndef example_inputs():\n    return torch.ones(3)\n"
    )
    report = profile("m.py::f").report
    assert report["failure"] is None and report["mended"] is None and len(report["original"]["graphs"]) == 1
    assert report["mended_failure"]["kind"] == "import" and "changed" in report["mended_failure"]["message"]


@pytest.mark.parametrize("arguments", [("model.py",), ("nothing.py::f",), ("model.py::Net", "--dtype", "int3")])
def test_bad_arguments(profile, model, arguments):
    ran = profile(*arguments)
    assert ran.code == 2 and ran.out == "" and "error" in ran.err


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_twenty_cancels_leave_no_process(tmp_path):
    (tmp_path / "m.py").write_text(
        "import multiprocessing, time\nimport torch\n\n\ndef f(x):\n"
        "    multiprocessing.get_context('fork').Process(target=time.sleep, args=(600,)).start()\n    time.sleep(600)\n"
        "    return x\n\n\ndef example_inputs():\n    return torch.ones(3)\n"
    )
    before = _children_of_the_session()
    for number in range(20):
        stop = threading.Event()
        delay = (0.05, 0.5, 2.0, 4.0)[number % 4]
        threading.Timer(delay, stop.set).start()
        plan = Plan(str(tmp_path / "m.py"), "f", None, options=Options(device="cpu", timing=False))
        started = time.monotonic()
        report = run_profile(
            plan, sys.executable, folder=str(tmp_path), progress=lambda text, done: None, cancelled=stop.is_set
        )
        assert report.failure is not None and report.failure.kind == "cancelled"
        assert time.monotonic() - started < delay + 5
    time.sleep(0.3)
    assert _children_of_the_session() <= before


def _children_of_the_session() -> set[int]:
    """Processes that run the worker's folder, or were started by it."""
    listed = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    found: set[int] = set()
    for line in listed.splitlines()[1:]:
        pid, state, command = line.split(None, 2)
        if "graphmend_lsp/worker" in command and not state.startswith("Z"):
            found.add(int(pid))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_the_worker_ends_with_who_started_it(tmp_path):
    """Killed without a word, as an editor kills a server."""
    (tmp_path / "m.py").write_text(FUNCTION.format("Path('pid').write_text(str(os.getpid())); time.sleep(600)"))
    command = [sys.executable, "-m", "graphmend_lsp", "profile", "m.py::f", "--no-timing", "--python", sys.executable]
    process = subprocess.Popen(command, cwd=tmp_path)
    deadline = time.monotonic() + 60
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    pid = int((tmp_path / "pid").read_text())
    wait_for_the_end([pid], deadline)
