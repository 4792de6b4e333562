"""The server's side of the process that checks the files of the workspace (``sweep.py``)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import IO, cast

from graphmend_lsp.server.sweep import Answer, Begun, Context, Question

_START = "import sys; sys.path[:] = sys.argv[1:]; from graphmend_lsp.server import sweep; sweep.main()"
_QUIET_AND_LOW = 0x08000000 | 0x00004000
"""On Windows: no window, and behind whatever else runs."""


def command() -> list[str]:
    """How the process is started: by our interpreter, in its mode, with the modules that it has."""
    flags = [f"-{letter}" for letter, isset in (("I", sys.flags.isolated), ("S", sys.flags.no_site)) if isset]
    return [sys.executable, *flags, "-c", _START, *map(str, sys.path)]


class Ended(Exception):
    """The process has ended by itself; the text says how."""


class Stopped(Exception):
    """The server has ended the process."""


@dataclass(frozen=True)
class Pending:
    """A question: ``begun`` is done when a check has begun, ``answer`` with the answer, or ``Ended`` or ``Stopped``."""

    begun: asyncio.Future[None]
    answer: asyncio.Future[Answer]


class Sweeper:
    """The process, started at the first question; after its end the next question starts another one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._outbox: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._context: Context | None = None
        self._buffers: dict[str, str] = {}
        self._generation: object = None

    def ask(self, question: Question, context: Context, buffers: Mapping[str, str], generation: object) -> Pending:
        """Ask, and say what has changed since the last question; from the event loop.

        Raises:
            OSError: no process can be started.
        """
        if self._process is None:
            self._begin()
        changed: dict[str, str | None] = {p: text for p, text in buffers.items() if self._buffers.get(p) is not text}
        changed.update((path, None) for path in self._buffers if path not in buffers)
        question = replace(
            question,
            number=next(self._numbers),
            context=None if context == self._context else context,
            buffers=changed,
            stale=generation != self._generation,
        )
        self._context, self._buffers, self._generation = context, dict(buffers), generation
        loop = asyncio.get_running_loop()
        pending = self._pending[question.number] = Pending(loop.create_future(), loop.create_future())
        pending.answer.add_done_callback(_seen)
        self._outbox.put(question)
        return pending

    def end(self) -> None:
        """End the process, if there is one, which is started again for the next question."""
        self.kill()
        self._drop(Stopped())

    def kill(self) -> None:
        """End the process, if there is one; from any thread, when nobody waits for an answer any more."""
        process, self._process = self._process, None
        if process is not None:
            self._outbox.put(None)
            process.kill()
            process.wait()

    def _begin(self) -> None:
        process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            creationflags=_QUIET_AND_LOW if sys.platform == "win32" else 0,
        )
        self._process = process
        self._context, self._buffers, self._generation = None, {}, None
        self._outbox = queue.SimpleQueue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=_write, args=(cast("IO[bytes]", process.stdin), self._outbox), daemon=True).start()
        threading.Thread(target=self._read, args=(process, loop), daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        """In a thread of its own: pass on what the process says, to its end."""
        stream = cast("IO[bytes]", process.stdout)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server is going down
            while True:
                try:
                    message = pickle.load(stream)  # of our own process
                except Exception:  # its end, maybe in the middle of a word
                    break
                loop.call_soon_threadsafe(self._take, message)
            stream.close()
            loop.call_soon_threadsafe(self._ended, process)

    def _take(self, message: Begun | Answer) -> None:
        pending = self._pending.get(message.number)
        if isinstance(message, Answer):
            self._pending.pop(message.number, None)
        if pending is None:
            return
        if isinstance(message, Answer):
            if not pending.answer.done():
                pending.answer.set_result(message)
        elif not pending.begun.done():
            pending.begun.set_result(None)

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        if process is not self._process:
            return
        self._process = None
        self._outbox.put(None)
        process.kill()  # it may have closed its output only
        self._drop(Ended(f"exit status {process.wait()}"))

    def _drop(self, why: Exception) -> None:
        pending, self._pending = self._pending, {}
        for each in pending.values():
            if not each.answer.done():
                each.answer.set_exception(why)


def _seen(answer: asyncio.Future[Answer]) -> None:
    """Whoever asked may be gone: then its end is no news."""
    if not answer.cancelled():
        answer.exception()


def _write(stream: IO[bytes], outbox: queue.SimpleQueue[Question | None]) -> None:
    """In a thread of its own, since a pipe may be full."""
    with contextlib.suppress(OSError):  # it has ended
        while (question := outbox.get()) is not None:
            pickle.dump(question, stream)
            stream.flush()
    with contextlib.suppress(OSError):
        stream.close()
