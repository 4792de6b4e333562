"""The worker's main loop: one job a process."""

from __future__ import annotations

import contextlib
import importlib
import traceback
from typing import Any

from .channel import Channel, Failure

JOBS = {"verify": "verify", "profile": "profile"}
"""The kind of a job, and the module here whose ``run(job, channel)`` does it."""


OLDEST = (2, 4)
"""The first torch release that is supported."""


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2] if part.isdigit())


def _warm_up(torch: Any) -> None:
    """Load Dynamo and compile a trifle, while the job for this process is not known yet."""
    with contextlib.suppress(Exception):  # whatever is wrong with it, the job says so
        function = torch.compile(_increment, backend=_as_it_is)
        function(torch.ones(2))
        torch._dynamo.reset()


def _increment(x: Any) -> Any:
    return x + 1


def _as_it_is(module: Any, example_inputs: Any) -> Any:
    del example_inputs
    return module.forward


def main() -> int:
    """Take a job, do it, say how it ended.  torch is loaded first: who starts two processes has them load at once."""
    channel = Channel()
    try:
        import torch
    except Exception as error:  # missing, or broken in any way
        channel.send("failed", kind="torch", message=f"import torch raised {type(error).__name__}: {error}")
        return 1
    release = str(getattr(torch, "__version__", "0"))
    if _numbers(release) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        channel.send("failed", kind="old-torch", message=f"torch {needed} or later is needed, and this is {release}")
        return 1
    channel.send("started", torch=release)
    if channel.is_idle():
        _warm_up(torch)
    job: dict[str, Any] = channel.receive()
    if not job:
        return 0
    try:
        package = __name__.rpartition(".")[0]
        importlib.import_module(f"{package}.{JOBS[job['kind']]}").run(job, channel)
    except Failure as failure:
        channel.send("failed", kind=failure.kind, message=str(failure))
        return 1
    except Exception as error:
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        channel.send("failed", kind="internal", message=message, traceback=traceback.format_exc())
        return 1
    return 0
