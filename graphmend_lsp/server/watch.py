"""Files that change outside the editor: seen where the client watches them for us, else at the next save or opening."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.server.translate import path_of

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

PATTERNS = ("**/pyproject.toml", "**/*.py", "**/*.ipynb", "**/*baseline*.json")
_GATHER = 0.2
"""Seconds for which changes are gathered: another branch changes hundreds of files at once."""


class Watch:
    """Asks the client to watch, and tells the server what has changed."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._waiting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The client is ready to be asked."""
        if self._server.client.watched_files:
            self._server.register_later("watched-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._options())

    def folders_changed(self) -> None:
        """Workspace folders were added or removed: patterns relative to them are others now."""
        if self._server.client.relative_patterns:
            self.start()

    def _options(self) -> types.DidChangeWatchedFilesRegistrationOptions:
        folders = [folder.uri for folder in self._server.documents.folders.values()]
        if not self._server.client.relative_patterns or not folders:
            return types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(each) for each in PATTERNS])
        relative = [types.RelativePattern(base_uri=uri, pattern=pattern) for uri in folders for pattern in PATTERNS]
        return types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(each) for each in relative])

    def changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Files were created, changed or deleted."""
        if any(self._matters(change) for change in params.changes) and self._waiting is None:
            self._waiting = self._server.spawn(self._tell())

    def _matters(self, change: types.FileEvent) -> bool:
        """Not what an open document hides: its text is the client's, and it is told of its own saving."""
        path = path_of(change.uri)
        if not path.endswith((f"{os.sep}pyproject.toml", ".py", ".ipynb")) and not _is_baseline(path):
            return False
        return change.type != types.FileChangeType.Changed or self._server.documents.find(change.uri) is None

    async def _tell(self) -> None:
        await asyncio.sleep(_GATHER)
        self._waiting = None
        self._server.surroundings_changed()


def _is_baseline(path: str) -> bool:
    """Whether a file may be a baseline, by its name; one of another name is read when something else is looked at."""
    return path.endswith(".json") and "baseline" in os.path.basename(path)


def register(server: GraphMendServer) -> None:
    """Handle ``workspace/didChangeWatchedFiles``, whoever asked for it."""

    def changed(params: types.DidChangeWatchedFilesParams) -> None:
        server.watch.changed(params)

    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(changed)
