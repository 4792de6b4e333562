"""What the editor says: ``initializationOptions``, and over them the configuration, for each workspace folder.

A client that has ``workspace/configuration`` is asked for the section ``graphmend`` of each folder, at the start and
whenever it says that its configuration has changed.  One that has not sends its settings with that message.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from graphmend_lsp.server.settings import EditorOptions, is_ours
from graphmend_lsp.server.translate import as_object, path_of

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

logger = logging.getLogger(__name__)

SECTION = "graphmend"
_PATIENCE = 2.0
"""Seconds that the first findings wait for the client's answer, lest they are shown and then change."""


class Configuration:
    """Puts the options together and tells the server when they have changed."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._given = EditorOptions()
        self._sent = EditorOptions()
        self._answers: dict[str, EditorOptions] = {}
        """By URI of the folder, "" for what is in none."""
        self.pending = False
        """Whether the client has not answered yet: then nobody knows whether a folder is trusted."""
        self._asked = 0
        self._told = asyncio.Event()
        """Set whenever the last question is answered."""
        self._answered: asyncio.Event | None = None

    def begin(self, raw: object) -> None:
        """Start with ``initializationOptions``."""
        self._given = EditorOptions.read(raw)
        self._apply()
        if self._server.client.configuration:
            self._answered = asyncio.Event()
            asyncio.get_running_loop().call_later(_PATIENCE, self._answered.set)

    def start(self) -> None:
        """The client is ready to be asked."""
        if self._server.client.configuration_events:
            options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
            self._server.register_later("configuration", types.WORKSPACE_DID_CHANGE_CONFIGURATION, options)
        if self._server.client.configuration:
            self._begin_to_ask()

    async def known(self) -> None:
        """Wait until the client has said what it has to say; not for ever."""
        if self._answered is not None:
            await self._answered.wait()

    async def settled(self) -> None:
        """Wait also for the answer to a question that was asked later, not for ever: then it is still ``pending``."""
        await self.known()
        if self.pending:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._told.wait(), _PATIENCE)

    def folders_changed(self) -> None:
        """Workspace folders were added or removed."""
        self._apply()
        if self._server.client.configuration:
            self._begin_to_ask()

    def changed(self, params: types.DidChangeConfigurationParams) -> None:
        """The client says that its configuration is another one, and maybe which."""
        settings = cast("object", params.settings)
        if isinstance(settings, dict):
            self._sent = _sent(as_object(cast("object", settings)))
        if self._server.client.configuration:
            self._begin_to_ask()
        elif self._apply():
            self._server.surroundings_changed()

    def _begin_to_ask(self) -> None:
        self.pending = True
        self._told.clear()
        self._asked += 1
        self._server.spawn(self._ask(self._asked))

    async def _ask(self, number: int) -> None:
        """Ask for the configuration of all folders; an answer to an older question is dropped."""
        uris = [folder.uri for folder in self._server.documents.folders.values()]
        items = [types.ConfigurationItem(section=SECTION)]
        items += [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in uris]
        try:
            found = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
            answers = list(cast("list[object]", found))
        except Exception as error:  # a client that declares it and refuses it: then without
            logger.debug("workspace/configuration: %s", error)
            answers = []
        if number != self._asked:
            return
        self._answers = {uri: EditorOptions.read(raw) for uri, raw in zip(["", *uris], answers, strict=False)}
        changed = self._apply()
        self.pending = False
        self._told.set()
        if self._answered is not None:
            self._answered.set()
        if changed:
            self._server.surroundings_changed()

    def _apply(self) -> bool:
        """Take the options as they are now, and the present folders; whether that changes anything."""
        base = self._sent.over(self._given)
        options = self._answers.get("", EditorOptions()).over(base)
        folders: dict[str, EditorOptions] = {}
        for folder in self._server.documents.folders.values():
            said = self._answers.get(folder.uri)
            folders[path_of(folder.uri)] = options if said is None else said.over(base)
        roots = tuple(folders)
        if not roots and self._server.documents.root_path:
            roots = (self._server.documents.root_path,)
        before = self._server.project
        self._server.project = before.changed(roots, options, folders)
        for problem in dict.fromkeys(p for each in (options, *folders.values()) for p in each.problems):
            self._server.log_once(problem, types.MessageType.Warning)
        return self._server.project is not before


def _sent(settings: dict[str, object]) -> EditorOptions:
    """The options in what a client sends: our section of all its settings, or ours alone."""
    section = settings.get(SECTION)
    if section is None and is_ours(settings):
        section = settings
    return EditorOptions.read(section)


def register(server: GraphMendServer) -> None:
    """Handle ``workspace/didChangeConfiguration``."""

    def changed(params: types.DidChangeConfigurationParams) -> None:
        server.configuration.changed(params)

    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(changed)
