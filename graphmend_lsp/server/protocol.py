"""What pygls leaves open in the protocol: the order of the life cycle, exit codes, malformed requests."""

from __future__ import annotations

import contextvars
import logging
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeGuard, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.workspace import Workspace

from graphmend_lsp.server.translate import is_uri

logger = logging.getLogger(__name__)

_NAMING = (types.CANCEL_REQUEST, types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
"""What names something by an id or token, which lsprotocol takes as it comes."""


class Protocol(LanguageServerProtocol):
    """pygls' protocol with the guards the specification asks for."""

    exit_code: int | None = None
    """Set by ``exit``: 0 after ``shutdown``, else 1; None as long as the client has not said it."""
    _token: contextvars.ContextVar[int | str | None] = contextvars.ContextVar("work_done_token", default=None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stoppers: dict[int | str, Callable[[], None]] = {}
        self._asked: set[int | str] = set()
        """The questions of ours that are not answered yet."""

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Generator[None]:
        """While inside, call ``stop`` if the client cancels the request at hand.

        pygls answers a cancelled command at once and lets its handler run on.
        """
        number = self.msg_id
        if number is not None:
            self._stoppers[number] = stop
        try:
            yield
        finally:
            if number is not None:
                self._stoppers.pop(number, None)

    def adopt(self, workspace: Workspace) -> None:
        """Use ``workspace`` in place of the one pygls made."""
        self._workspace = workspace

    @property
    def work_done_token(self) -> int | str | None:
        """What the client called the progress of the command at hand, if it did."""
        return self._token.get()

    @property
    def converter(self) -> Any:
        """What turns protocol objects into plain data."""
        return self._converter

    @property
    def is_shut_down(self) -> bool:
        return self._shutdown

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Leave objects as they are: the parser asks for each one, also those in parameters that look like messages."""
        return data

    def handle_message(self, message: Any) -> None:
        """Do what a message says; ``message`` is whatever JSON has come."""
        try:
            self._take(message)
        except BrokenPipeError:
            raise
        except Exception as error:
            self._server.report_server_error(error, JsonRpcInternalError)

    def _take(self, message: object) -> None:
        fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        number, method = fields.get("id"), fields.get("method")
        if "method" not in fields and "id" in fields:
            self._take_answer(fields)
        elif fields.get("jsonrpc") != self.VERSION or not isinstance(method, str):
            self._refuse(number if _is_id(number) else None, JsonRpcInvalidRequest("no message of JSON-RPC 2.0"))
        elif "id" not in fields:
            self._take_notification(method, fields)
        elif _is_id(number):
            self._take_request(number, method, fields)
        else:
            self._refuse(None, JsonRpcInvalidRequest("the id is no integer and no string"))

    def _structured(self, fields: dict[str, Any]) -> Any:
        """The message as lsprotocol has it.

        Raises:
            JsonRpcException: it has other fields, or other types.
        """
        return super().structure_message(fields)

    def refuse_unreadable(self, error: Exception) -> None:
        """Answer what is not JSON."""
        self._refuse(None, JsonRpcParseError(str(error)))

    def _take_request(self, number: int | str, method: str, fields: dict[str, Any]) -> None:
        refusal = self._out_of_order(method)
        if refusal is None and not self._knows(method):
            refusal = JsonRpcMethodNotFound.of(method)
        if refusal is not None:
            self._refuse(number, refusal)
            return
        try:
            request = self._structured(fields)
        except JsonRpcException as error:
            self._refuse(number, _unreadable(error))
            return
        super().handle_message(request)

    def _take_notification(self, method: str, fields: dict[str, Any]) -> None:
        refusal = None if method == types.EXIT else self._out_of_order(method)
        if refusal is None and not self._knows(method) and method != types.CANCEL_REQUEST:
            refusal = JsonRpcMethodNotFound.of(method)
        if refusal is not None:
            logger.debug("dropped %s: %s", method, refusal)
            return
        try:
            notification = self._structured(
                {"method": method, "jsonrpc": self.VERSION} if method == types.EXIT else fields
            )
        except JsonRpcException as error:
            logger.debug("dropped %s: %s", method, _unreadable(error))
            return
        if method in _NAMING:
            named = notification.params.id if method == types.CANCEL_REQUEST else notification.params.token
            if not _is_id(named) or named in self._asked:
                return  # nothing that could have a name, or our own question, which is not the client's to cancel
            stop = self._stoppers.get(named) if method == types.CANCEL_REQUEST else None
            if stop is not None:
                stop()
        super().handle_message(notification)

    def _take_answer(self, fields: dict[str, Any]) -> None:
        """The answer to a question of ours, readable or not.

        Dropped are those to what we have not asked, by which pygls would end a request of the client's, and those that
        nobody waits for any more, on which it fails.
        """
        number = fields.get("id")
        if not _is_id(number) or number not in self._asked:
            logger.debug("dropped an answer to no question")
            return
        self._asked.discard(number)
        future = self._request_futures.get(number)
        if future is None or future.done():
            self._request_futures.pop(number, None)
            self._result_types.pop(number, None)
            return
        try:
            given = {name: value for name, value in fields.items() if name != "error" or value is not None}
            answer = self._structured({**given, "jsonrpc": self.VERSION})
        except JsonRpcException as error:
            del self._request_futures[number]
            future.set_exception(_unreadable(error))
            return
        super().handle_message(answer)

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: int | str | None = None,
    ) -> Future[Any]:
        """Ask the client, and remember that we did."""
        number = str(uuid.uuid4()) if msg_id is None else msg_id
        self._asked.add(number)
        return super().send_request(method, params, callback, number)

    def _execute_handler(
        self,
        msg_id: int | str,
        handler: Callable[[Any], Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Forget what has ended: pygls keeps a future of each notification, so of each key, for ever."""
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)

        def ended(_: object) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]

        if future is not None:
            future.add_done_callback(ended)

    def _knows(self, method: str) -> bool:
        known: Any = self.fm  # which pygls types in part only
        return method in known.builtin_features or method in known.features

    def _refuse(self, number: int | str | None, refusal: JsonRpcException) -> None:
        """Answer with an error, to nobody where the message has no id that could be one."""
        error = {"code": refusal.code, "message": refusal.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": error})

    def _out_of_order(self, method: str) -> JsonRpcException | None:
        """Why a message with this method must not be handled now, if so."""
        if self._shutdown:
            return JsonRpcInvalidRequest("the server has been shut down")
        if method == types.INITIALIZE:
            return JsonRpcInvalidRequest("the server is already initialized") if self._workspace else None
        return None if self._workspace else JsonRpcServerNotInitialized("the server is not initialized yet")

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Say also that commands report progress, which pygls leaves out."""
        for uri in (params.root_uri, *(folder.uri for folder in params.workspace_folders or ())):
            if uri is not None and not is_uri(uri):
                raise JsonRpcInvalidParams(f"{uri!r} is no URI")
        result = yield from super().lsp_initialize(params)
        commands = result.capabilities.execute_command_provider
        if commands is not None:
            commands.work_done_progress = True
        return result

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Generator[Any, Any, Any]:
        """Keep the token of the progress, of which pygls tells no handler."""
        self._token.set(params.work_done_token)
        return (yield from super().lsp_workspace__execute_command(params))

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Cancel what is pending first: pygls does it while it walks the table that the answers change."""
        for number, future in list(self._request_futures.items()):
            if number != self.msg_id and not future.done():
                future.cancel()
        return (yield from super().lsp_shutdown(*args))  # pyright: ignore[reportUnknownMemberType]

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        """Note the exit code, which pygls swallows, and stop."""
        self.exit_code = 0 if self._shutdown else 1
        yield from super().lsp_exit(*args)  # pyright: ignore[reportUnknownMemberType]


def _is_id(number: object) -> TypeGuard[int | str]:
    """Whether a request can have this id."""
    return isinstance(number, (int, str)) and not isinstance(number, bool)


def _unreadable(error: JsonRpcException) -> JsonRpcInvalidParams:
    """What to say of parameters, or of a result, that are not of their type, whatever it was that failed on them."""
    return JsonRpcInvalidParams(str(error.__cause__ or error))
