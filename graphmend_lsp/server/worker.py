"""The one thread that does the analysis, so that the event loop only moves messages."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

URGENT, BACKGROUND = 0, 1

_STACK_BYTES = 64 * 1024 * 1024


class Worker:
    """Runs jobs one after the other in a daemon thread; urgent ones (a user waits) go first.

    pygls' own pool is not used: it also reads the input, and a full pool makes the server deaf.
    """

    def __init__(self) -> None:
        self._jobs: queue.PriorityQueue[tuple[int, int, Callable[[], None]]] = queue.PriorityQueue()
        self._order = itertools.count()
        self._thread: threading.Thread | None = None

    def run(self, job: Callable[[], T], priority: int = BACKGROUND) -> asyncio.Future[T]:
        """Queue ``job``; the future, of the running loop, gets its result or exception."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def deliver(action: Callable[[Any], None], value: object) -> None:
            if not future.done():
                action(value)

        def work() -> None:
            if future.cancelled():
                return
            try:
                outcome: tuple[Callable[[Any], None], object] = future.set_result, job()
            except Exception as error:  # whatever it is, it belongs to whoever waits for the job
                outcome = future.set_exception, error
            try:
                loop.call_soon_threadsafe(deliver, *outcome)
            except RuntimeError:  # the loop is closed: the server is going down
                pass

        self._jobs.put((priority, next(self._order), work))
        self._start()
        return future

    def _start(self) -> None:
        if self._thread is not None:
            return
        previous = threading.stack_size(_STACK_BYTES)  # deeply nested code recurses in ast.parse
        try:
            self._thread = threading.Thread(target=self._loop, name="graphmend-analysis", daemon=True)
            self._thread.start()
        finally:
            threading.stack_size(previous)

    def _loop(self) -> None:
        while True:
            _, _, work = self._jobs.get()
            work()
