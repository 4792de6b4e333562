"""The one thread that does the analysis, so that the event loop only moves messages."""

from __future__ import annotations

import asyncio
import gc
import itertools
import queue
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_GARBAGE = 300_000
"""So many blocks of memory more than after the last search are worth one among what is new (some 30 ms), as soon as
nobody wants anything."""
_OLD = 4 * _GARBAGE
"""So many more than after the last search through everything, trees of other files included, are worth another one
(most of a second)."""
_MUCH = 10 * _GARBAGE
"""So many are worth one between two jobs."""
_REST = 0.5
"""Seconds without a job after which nobody is expected to want something in a moment."""
URGENT, BACKGROUND, SWEEP = 0, 1, 2

_STACK_BYTES = 64 * 1024 * 1024


def attempt(job: Callable[[], T]) -> Callable[[asyncio.Future[T]], None]:
    """Do a job; how to tell a future what came of it, its result or its exception."""
    try:
        result = job()
    except Exception as error:  # whatever it is, it belongs to whoever waits for the job
        problem = error
        return lambda future: future.set_exception(problem)
    return lambda future: future.set_result(result)


def deliver(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], outcome: Callable[[asyncio.Future[T]], None]
) -> None:
    """Tell a future of another thread's loop, unless nobody waits any more."""

    def tell() -> None:
        if not future.done():
            outcome(future)

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:  # the loop is closed: the server is going down
        pass


def start(thread: threading.Thread) -> None:
    """Start a thread that analyses code, with a stack for it: deeply nested code recurses in ``ast.parse``."""
    previous = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    finally:
        threading.stack_size(previous)


def collect_between_jobs() -> None:
    """Leave the search for garbage to the worker: trees of large files make it take longer than any request."""
    gc.disable()


class Worker:
    """Runs jobs one after the other in a daemon thread; urgent ones (a user waits) go first, then open documents.

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

        def work() -> None:
            if not future.cancelled():
                deliver(loop, future, attempt(job))

        self._jobs.put((priority, next(self._order), work))
        self._start()
        return future

    def _start(self) -> None:
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._loop, name="graphmend-analysis", daemon=True)
        start(self._thread)

    def _loop(self) -> None:
        known = searched = sys.getallocatedblocks()
        while True:
            blocks = sys.getallocatedblocks()
            try:
                if blocks - searched > _MUCH:
                    raise queue.Empty
                _, _, work = self._jobs.get(timeout=_REST if blocks - known > _GARBAGE else None)
            except queue.Empty:
                everything = blocks - searched > _OLD
                gc.collect(2 if everything else 1)
                known = sys.getallocatedblocks()
                searched = known if everything else searched
            else:
                work()
                del work  # with all that it holds
