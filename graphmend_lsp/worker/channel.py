"""The worker's line to the process that started it: JSON lines, out of reach of what the user's code prints."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from typing import Any, cast


class Failure(Exception):
    """The job cannot be done; ``kind`` is for programs, the text for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Channel:
    """Takes standard input and output for itself; the user's code reads nothing and prints to standard error.

    When standard input ends, whoever started this process is gone or wants it gone: it ends at once, with what it
    has started.  Nothing else would end a model that runs for hours for nobody.
    """

    def __init__(self) -> None:
        self._messages: queue.Queue[str] = queue.Queue()
        self._in = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        sys.stdin = open(os.devnull, encoding="utf-8")
        sys.stdout = sys.stderr
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._in:
            self._messages.put(line)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    def send(self, event: str, **fields: Any) -> None:
        """One line; ``event`` says what it is."""
        self._out.write(json.dumps({"event": event, **fields}) + "\n")
        self._out.flush()

    def flush(self) -> None:
        """Let nothing that was printed be lost, before the process is left abruptly."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()

    def is_idle(self) -> bool:
        """Whether no message waits."""
        return self._messages.empty()

    def receive(self) -> dict[str, Any]:
        """The next message."""
        return cast("dict[str, Any]", json.loads(self._messages.get()))
