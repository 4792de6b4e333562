"""The server object that the features share: client, documents, project, worker, and error reports."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from graphmend_lsp import __version__
from graphmend_lsp.finding import Internal
from graphmend_lsp.server import notebooks
from graphmend_lsp.server.analyses import Analyses
from graphmend_lsp.server.client import Client
from graphmend_lsp.server.configuration import Configuration
from graphmend_lsp.server.documents import Documents
from graphmend_lsp.server.protocol import Protocol
from graphmend_lsp.server.results import Results
from graphmend_lsp.server.settings import Project
from graphmend_lsp.server.watch import Watch
from graphmend_lsp.server.whole import Whole
from graphmend_lsp.server.worker import Worker, attempt, deliver, start

logger = logging.getLogger(__name__)

T = TypeVar("T")

NAME = "graphmend"
_LAST_SECONDS = 5.0


class GraphMendServer(LanguageServer):
    """One client's session."""

    def __init__(self) -> None:
        self.client = Client()
        self.worker = Worker()
        self.project = Project()
        self.analyses = Analyses(self)
        self.results = Results(self)
        self.configuration = Configuration(self)
        self.watch = Watch(self)
        self.whole = Whole(self)
        self.turn = asyncio.Lock()
        """Held by what runs the user's code: one at a time, lest they slow each other down."""
        self.ended = threading.Event()
        """Set when the client is gone: whatever still runs for it stops."""
        self._threads: set[threading.Thread] = set()
        self._reported: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._registered: set[str] = set()
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            NAME,
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=notebooks.SYNC,
            protocol_cls=Protocol,
        )

    @property
    def wire(self) -> Protocol:
        return cast("Protocol", self.protocol)

    @property
    def documents(self) -> Documents:
        return cast("Documents", self.workspace)

    def begin(self, params: types.InitializeParams) -> None:
        """Set up for the client that these parameters describe."""
        encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        self.client = Client.of(params.capabilities, encoding)
        self.wire.adopt(Documents(self.workspace, self.client.encoding))
        self.configuration.begin(params.initialization_options)

    def surroundings_changed(self) -> None:
        """Something outside the documents has changed, a file or a setting: all that is shown may be another."""
        self.project.refresh()
        self.analyses.invalidate()
        self.results.changed()

    def register_later(self, name: str, method: str, options: object) -> None:
        """Register a capability with the client, in place of what was registered under this name before."""
        self.spawn(self._register(f"{NAME}-{name}", method, options))

    async def _register(self, number: str, method: str, options: object) -> None:
        try:
            if number in self._registered:
                old = types.Unregistration(number, method)
                await self.client_unregister_capability_async(types.UnregistrationParams([old]))
            self._registered.add(number)
            new = types.Registration(number, method, options)
            await self.client_register_capability_async(types.RegistrationParams([new]))
        except Exception as error:  # a client that declares it and refuses it: then without
            logger.debug("registering %s: %s", method, error)

    def may_run(self, what: str) -> bool:
        """Whether the user's code may be run; if not, the user hears why."""
        if self.configuration.pending:
            text = f"GraphMend cannot {what} yet: the editor has not answered which settings hold here."
            self.show(text, types.MessageType.Warning)
            return False
        if not self.project.trusted:
            text = f"GraphMend cannot {what}: it would run code of this workspace, which is not trusted."
            self.show(text, types.MessageType.Warning)
        return self.project.trusted

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` beside the message loop; what it raises is reported."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    async def refresh(self, request: Callable[[None], Awaitable[None]]) -> None:
        """Ask the client to ask again; one that refuses shows the old until it asks by itself."""
        try:
            await request(None)
        except Exception as error:
            logger.debug("refresh: %s", error)

    def in_thread(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Run a long job in a thread of its own; asyncio's executor would keep a server alive whose client is gone."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            outcome = attempt(job)
            self._threads.discard(thread)
            deliver(loop, future, outcome)

        thread = threading.Thread(target=work, daemon=True)
        self._threads.add(thread)
        start(thread)
        return future

    def end(self) -> None:
        """The client is gone: stop what still runs, and give it a moment to clean up."""
        self.ended.set()
        self.whole.kill()
        for thread in list(self._threads):
            thread.join(_LAST_SECONDS)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.report(error)

    def log_once(self, message: str, level: types.MessageType = types.MessageType.Log) -> bool:
        """Write to the client's log unless it was written before; whether it was new."""
        if message in self._reported:
            return False
        self._reported.add(message)
        self.window_log_message(types.LogMessageParams(level, message))
        return True

    def show(self, message: str, level: types.MessageType = types.MessageType.Info) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(level, message))

    def report(self, error: BaseException) -> None:
        """Report an error of our own: each once in the log, the first also to the user."""
        frames = traceback.format_tb(error.__traceback__) or _frames_in(error)
        text = "".join([*frames, *traceback.format_exception_only(type(error), error)])
        self._report(
            f"{type(error).__name__} {''.join(frames[-1:])}",
            f"Internal error in GraphMend:\n{text}",
            f"{type(error).__name__}: {error}",
        )

    def report_internal(self, failure: Internal) -> None:
        """Report an error that the core has kept to one rule or function, in the same way."""
        place = failure.path if failure.line is None else f"{failure.path}:{failure.line}"
        text = f"Internal error in GraphMend, in {failure.what} ({place}):\n{failure.trace or failure.error}"
        self._report(f"{failure.what} {failure.error}", text, f"{failure.what}, {failure.error}")

    def _report(self, key: str, text: str, short: str) -> None:
        if key in self._reported or self.wire.exit_code is not None:
            return
        self._reported.add(key)
        print(text, file=sys.stderr, flush=True)
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))
        if "shown" not in self._reported:
            self._reported.add("shown")
            message = f"GraphMend ran into an internal error ({short}). Details are in its log."
            self.show(message, types.MessageType.Error)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """pygls' hook: refused requests were answered, what is not JSON is now, all else is reported."""
        if source is JsonRpcException:  # the loop that reads
            if isinstance(error, BrokenPipeError):
                raise error
            self.wire.refuse_unreadable(error)
        elif getattr(error, "code", -32603) == -32603:
            self.report(error)
        else:
            logger.debug("%s: %s", source, error)


def _frames_in(error: BaseException) -> list[str]:
    """The traceback that pygls puts into its own exceptions."""
    data = getattr(error, "data", None)
    frames = cast("dict[str, object]", data).get("traceback") if isinstance(data, dict) else None
    return [str(frame) for frame in cast("list[object]", frames)] if isinstance(frames, list) else []
