"""Jobs that run the user's code: one at a time, in a thread, with progress and three ways to cancel."""

from __future__ import annotations

import asyncio
import functools
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

T = TypeVar("T")

Note = Callable[[str, int | None], None]
"""Takes the stage in words, and how much is done in percent where that is known."""
Cancelled = Callable[[], bool]


class Run:
    """One run: a thread that waits for worker processes, progress, and cancellation.

    The client cancels the progress or the request, or goes away; pygls would let the handler run on.
    """

    def __init__(self, server: GraphMendServer, title: str, *, percentage: bool = False) -> None:
        """Of the command at hand; its progress has the client's token where it gave one."""
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._title = title
        self._done = 0 if percentage else None
        given = server.wire.work_done_token
        self._is_given = given is not None
        self._token = f"graphmend-{uuid.uuid4()}" if given is None else given
        self._stop = threading.Event()
        self._shown = False
        self._progress: Any = server.work_done_progress

    async def run(self, job: Callable[[Note, Cancelled], T]) -> T:
        """What the job returns; it is to end soon when it hears that it is cancelled."""
        with self._server.wire.stoppable(self._stop.set):
            await self._begin()
            try:
                if self._server.turn.locked():
                    self._report("waiting for another run to end", None)
                async with self._server.turn:
                    return await self._server.in_thread(functools.partial(job, self._note, self._is_cancelled))
            finally:
                if self._shown:
                    self._progress.end(self._token, types.WorkDoneProgressEnd())
                    self._progress.tokens.pop(self._token, None)  # pygls keeps it

    async def _begin(self) -> None:
        if not self._is_given:
            if not self._server.client.progress:
                return
            try:
                await self._progress.create_async(self._token)
            except Exception:  # a client that declares it and refuses it: then without
                return
        self._shown = True
        self._progress.begin(
            self._token, types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=self._done)
        )

    def _is_cancelled(self) -> bool:
        token = self._progress.tokens.get(self._token)
        gone = self._server.ended.is_set() or self._server.wire.is_shut_down
        return gone or self._stop.is_set() or (token is not None and token.cancelled())

    def _note(self, text: str, percent: int | None = None) -> None:
        """Called in the thread."""
        self._loop.call_soon_threadsafe(self._report, text, percent)

    def _report(self, text: str, percent: int | None) -> None:
        if not self._shown:
            return
        if self._done is not None and percent is not None:
            self._done = max(self._done, min(percent, 100))  # clients take no step back
        report = types.WorkDoneProgressReport(message=text, percentage=self._done)
        self._progress.report(self._token, report)
