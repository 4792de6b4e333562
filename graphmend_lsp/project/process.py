"""One worker process in the user's interpreter, and the lines that go to and fro."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import graphmend_lsp

_WORKER = os.path.join(os.path.dirname(graphmend_lsp.__file__), "worker")
_KEPT_LINES = 40
_SHOWN = 500
"""Characters kept of a line."""
_POLL_SECONDS = 0.1
_LINE = 8192
"""Characters of a line at a time: what the user's code prints without a line break is not collected for long."""
_DROPPED = frozenset(("TORCH_LOGS", "TORCH_TRACE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"))
"""Variables that would change what is observed."""


class WorkerError(Exception):
    """The worker could not do its job; the text says why, for the user.  ``kind`` as in ``worker.channel.Failure``,
    or "start", "timeout", "cancelled", "died"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorkerProcess:
    """A process with a group of its own, so that what the user's code starts ends with it."""

    def __init__(self, python: str, folder: str, environment: Mapping[str, str] | None = None) -> None:
        """Start it; it waits for a job.

        Raises:
            WorkerError: kind "start".
        """
        flags: dict[str, Any] = (
            {"creationflags": 0x00000200} if sys.platform == "win32" else {"start_new_session": True}
        )
        try:
            self._process = subprocess.Popen(
                [python, _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**{k: v for k, v in os.environ.items() if k not in _DROPPED}, **(environment or {})},
                encoding="utf-8",
                errors="replace",
                **flags,
            )
        except OSError as error:
            raise WorkerError("start", f"{python} cannot be started: {error.strerror or error}") from error
        self.python = python
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):  # closed under our hands
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError, OSError):
            while line := self._process.stderr.readline(_LINE):
                self._said.append(line.rstrip()[:_SHOWN])

    def send(self, message: Mapping[str, Any]) -> None:
        """Give the worker its job, or another message."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is dead: ``events`` says so
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def events(self, deadline: float, cancelled: Callable[[], bool] = lambda: False) -> Iterator[dict[str, Any]]:
        """What the worker says, as it comes; ends when the process does.  ``deadline`` is of ``time.monotonic``.

        Raises:
            WorkerError: what the worker could not do, or it ended without a word, took too long or was cancelled.
        """
        while True:
            if cancelled():
                self.kill()
                raise WorkerError("cancelled", "cancelled")
            if time.monotonic() > deadline:
                self.kill()
                raise WorkerError("timeout", "it took too long")
            ended = self._has_ended()  # before the look at its last words
            try:
                line = self._lines.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if ended:  # but a process that it started still holds the pipe
                    break
                continue
            if line is None or not line.endswith("\n"):  # it ended, maybe in the middle of a word
                break
            event = cast("dict[str, Any]", json.loads(line))
            if event["event"] == "failed":
                raise WorkerError(str(event["kind"]), str(event["message"]))
            yield event
        self._end_group()
        code = self._process.wait()
        if code:
            raise WorkerError("died", self._how_it_ended(code))

    def _has_ended(self) -> bool:
        """Whether the process is gone; it is not reaped, so that its number stays its group's."""
        if sys.platform == "win32" or self._process.returncode is not None:
            return self._process.poll() is not None
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            if self._process.poll() is None:
                return False
            with contextlib.suppress(OSError):  # reaped, but its number is its group's as long as any of that lives
                os.killpg(self._process.pid, signal.SIGKILL)
            return True
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._process.pid, flags) is not None
        return True

    def _how_it_ended(self, code: int) -> str:
        self._readers[1].join(1.0)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit status {code}"
        last = next((line for line in reversed(self._said) if line.strip()), "")
        return f"the Python process ({self.python}) {how}" + (f": {last[:300]}" if last else "")

    def last_lines(self) -> tuple[str, ...]:
        """The end of what the user's code has printed so far."""
        return tuple(self._said)

    def kill(self) -> None:
        """End the process and all that it started."""
        if self._process.returncode is None:
            self._end_group()
            self._process.wait()

    def _end_group(self) -> None:
        """End what the process started, and itself; not once it is reaped, when its number may be another's."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                subprocess.run(
                    ["taskkill", "/F", "/T", "/PID", str(self._process.pid)], capture_output=True, check=False
                )
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it if it still runs, and close its pipes.

        A pipe that a process outside its group still holds stays with its reader: closing it would wait for that.
        """
        self.kill()
        streams = [self._process.stdin]
        for reader, stream in zip(self._readers, (self._process.stdout, self._process.stderr), strict=True):
            reader.join(1.0)
            if not reader.is_alive():
                streams.append(stream)
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
