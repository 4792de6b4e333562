"""Jobs that run the user's code: one at a time, in a thread, with progress and three ways to cancel."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from graphmend_lsp.server.progress import Progress

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

T = TypeVar("T")

Note = Callable[[str, int | None], None]
"""Takes the stage in words, and how much is done in percent where that is known."""
Cancelled = Callable[[], bool]


class Run:
    """One run: a thread that waits for worker processes, progress, and cancellation.

    The client cancels the progress or the request, or goes away; pygls would let the handler run on.  What the user
    no longer trusts ends in the same way.
    """

    def __init__(self, server: GraphMendServer, title: str, what: str, *, percentage: bool = False) -> None:
        """Of the command at hand; its progress has the client's token where it gave one.

        ``what`` it does stands in the message if it may not: "verify this fix".
        """
        self._server = server
        self._what = what
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._progress = Progress(server, title, server.wire.work_done_token, percentage=percentage)

    async def run(self, job: Callable[[Note, Cancelled], T]) -> T | None:
        """What the job returns; it is to end soon when it hears that it is cancelled.

        None, said to the user, where the code may not be run: while it waited, that may have changed.
        """
        with self._server.wire.stoppable(self._stop.set):
            await self._progress.begin()
            try:
                if self._server.turn.locked():
                    self._progress.report("waiting for another run to end")
                async with self._server.turn:
                    await self._server.configuration.settled()
                    if not self._server.may_run(self._what):
                        return None
                    return await self._server.in_thread(functools.partial(job, self._note, self._is_cancelled))
            finally:
                self._progress.end()

    def _is_cancelled(self) -> bool:
        gone = self._server.ended.is_set() or self._server.wire.is_shut_down
        return gone or not self._server.project.trusted or self._stop.is_set() or self._progress.cancelled

    def _note(self, text: str, percent: int | None = None) -> None:
        """Called in the thread."""
        self._loop.call_soon_threadsafe(self._progress.report, text, percent)
