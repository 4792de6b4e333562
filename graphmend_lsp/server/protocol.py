"""What pygls leaves open in the protocol: the order of the life cycle, exit codes, malformed requests."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.workspace import Workspace

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MalformedRequest:
    """A request that could not be read; it still must be answered."""

    id: int | str
    error: JsonRpcException


class Protocol(LanguageServerProtocol):
    """pygls' protocol with the guards the specification asks for."""

    exit_code: int | None = None
    """Set by ``exit``: 0 after ``shutdown``, else 1; None as long as the client has not said it."""
    _token: contextvars.ContextVar[int | str | None] = contextvars.ContextVar("work_done_token", default=None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stoppers: dict[int | str, Callable[[], None]] = {}

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
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            invalid = JsonRpcInvalidParams(str(error.__cause__ or error))  # whatever it was that failed on it
            if "method" in data and isinstance(data.get("id"), (int, str)):
                return MalformedRequest(data["id"], invalid)
            raise invalid from error

    def handle_message(self, message: Any) -> None:
        if isinstance(message, MalformedRequest):
            refusal = self._out_of_order("") or message.error
            self._send_response(message.id, error=refusal.to_response_error())
            return
        if not hasattr(message, "jsonrpc"):
            self._refuse(message)
            return
        method = getattr(message, "method", None)
        if method is None or method == types.EXIT:
            super().handle_message(message)
            return
        refusal = self._out_of_order(method)
        if method == types.CANCEL_REQUEST:
            stop = self._stoppers.get(message.params.id)
            if stop is not None:
                stop()
        if refusal is None:
            super().handle_message(message)
        elif hasattr(message, "id"):
            self._send_response(message.id, error=refusal.to_response_error())
        else:
            logger.debug("dropped %s: %s", method, refusal)

    def _handle_response(self, msg_id: int | str, result: Any | None = None, error: Any | None = None) -> None:
        """Drop the answer to a question of ours that nobody waits for any more, on which pygls fails."""
        future = self._request_futures.get(msg_id)
        if future is not None and future.done():
            del self._request_futures[msg_id]
            return
        super()._handle_response(msg_id, result, error)

    def _refuse(self, message: object) -> None:
        """What is JSON but no message, which pygls fails on: answered where it looks like a request."""
        fields = cast("dict[str, object]", message) if isinstance(message, dict) else {}
        number = fields.get("id")
        if "method" in fields and isinstance(number, (int, str)):
            refusal = JsonRpcInvalidRequest('no "jsonrpc" in the message')
            self._send_response(number, error=refusal.to_response_error())
        else:
            logger.debug("dropped what is no message")

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
