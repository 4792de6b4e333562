"""Work-done progress: shown where the client can, with the token it gave or one of ours; the user can cancel it."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer


_PATIENCE = 5.0
"""Seconds that the client has to answer; the work waits for it."""


class Progress:
    """The progress of one piece of work; where it cannot be shown, the calls do nothing."""

    def __init__(
        self, server: GraphMendServer, title: str, token: int | str | None = None, *, percentage: bool = False
    ) -> None:
        """``token`` is what the client called the progress of its request, if it did."""
        self._server = server
        self._title = title
        self._done = 0 if percentage else None
        self._is_given = token is not None
        self._token = f"graphmend-{uuid.uuid4()}" if token is None else token
        self._shown = False
        self._progress: Any = server.work_done_progress

    async def begin(self) -> None:
        """Show it; a second call does nothing."""
        if self._shown:
            return
        if not self._is_given:
            if not self._server.client.progress:
                return
            try:
                await asyncio.wait_for(self._progress.create_async(self._token), _PATIENCE)
            except Exception:  # a client that declares it and refuses it, or says nothing: then without
                return
        self._shown = True
        self._progress.begin(
            self._token, types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=self._done)
        )

    @property
    def cancelled(self) -> bool:
        """Whether the user does not want it any more."""
        token = self._progress.tokens.get(self._token)
        return token is not None and token.cancelled()

    def report(self, text: str, percent: int | None = None) -> None:
        """Say how far it is."""
        if not self._shown:
            return
        if self._done is not None and percent is not None:
            self._done = max(self._done, min(percent, 100))  # clients take no step back
        report = types.WorkDoneProgressReport(message=text, percentage=self._done)
        self._progress.report(self._token, report)

    def end(self) -> None:
        """It is over, however that came."""
        if not self._shown:
            return
        self._shown = False
        self._progress.end(self._token, types.WorkDoneProgressEnd())
        self._progress.tokens.pop(self._token, None)  # pygls keeps it
