"""In the measuring interpreter: a process that imports once and forks one child for each task.

It reads one task a line on standard input, writes what was measured to the file that the task names, and answers with
one line. A child that hangs, crashes or takes too much memory costs its own task only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import stubs  # first: it has to be there before the packages are imported

MEMORY = 12 << 30
PATIENCE = 8  # seconds on the clock for one of CPU time


class TimedOut(BaseException):
    """Not an Exception, so that nothing on the way catches it."""


def _alarm(number: int, frame: object) -> None:
    raise TimedOut("the time was up")


def _child(task: dict[str, Any], base: str) -> None:
    import measure

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, task["seconds"])  # CPU time, so that a busy machine does not matter
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        _write(task["out"], measure.run(task, base))


def _write(path: str, result: dict[str, Any]) -> None:
    """Under another name first, so that a file that is there is whole."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path + ".part").write_text(json.dumps(result, separators=(",", ":"), default=str))
    os.replace(path + ".part", path)


def _wait(child: int, seconds: float) -> str | None:
    """Why a child did not end well, if so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return None if status == 0 else f"the process ended with status {status}"
        select.select([], [], [], 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"killed after {seconds:.0f} s"


def main() -> None:
    packages = sys.argv[1].split(",")
    stubs.install()
    import torch
    import torch._dynamo
    import torch._inductor  # once for all children

    torch.set_num_threads(1)
    base = ""
    for package in packages:
        module = __import__(package)
        base = str(Path(str(module.__file__)).parent.parent) + os.sep
    with contextlib.suppress(ImportError):
        import transformers

        transformers.logging.set_verbosity_warning()
    if "--list" in sys.argv:
        import catalog

        print("ANSWER " + json.dumps(catalog.names(packages[0])), flush=True)
        return
    print("ANSWER " + json.dumps({"base": base}), flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        task["packages"] = packages
        child = os.fork()
        if not child:
            code = 1
            try:
                _child(task, base)
                code = 0
            finally:
                os._exit(code)
        problem = _wait(child, PATIENCE * task["seconds"] + 20)
        if problem and not os.path.exists(task["out"]):
            _write(
                task["out"],
                {
                    **{key: task[key] for key in ("package", "name", "arm", "variant", "key") if key in task},
                    "error": problem,
                },
            )
        print("ANSWER " + json.dumps({"name": task["name"], "arm": task["arm"], "problem": problem}), flush=True)


if __name__ == "__main__":
    main()
