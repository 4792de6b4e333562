"""The worker's main loop: one job a process."""

from __future__ import annotations

import importlib
import traceback
from typing import Any

from .channel import Channel, Failure

JOBS = {"verify": "verify"}
"""The kind of a job, and the module here whose ``run(job, channel)`` does it."""


def main() -> int:
    """Take a job, do it, say how it ended."""
    channel = Channel()
    job: dict[str, Any] = channel.receive()
    if not job:
        return 0
    try:
        import torch
    except Exception as error:  # missing, or broken in any way
        channel.send("failed", kind="torch", message=f"import torch raised {type(error).__name__}: {error}")
        return 1
    channel.send("started", torch=torch.__version__)
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
