"""``graphmend.verify``: run the code with and without one fix, and say whether it does the same."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import uuid
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from graphmend_lsp.finding import Refusal
from graphmend_lsp.project.inputs import configured
from graphmend_lsp.project.interpreter import interpreter_for
from graphmend_lsp.server.actions import VERIFY
from graphmend_lsp.server.documents import Checked
from graphmend_lsp.server.plans import Plan, find
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.verify import plan as planning
from graphmend_lsp.verify.report import Report
from graphmend_lsp.verify.run import verify
from graphmend_lsp.verify.text import Writer, counts


class _Verification:
    """One run: a thread that waits for the worker processes, progress, and cancellation."""

    def __init__(self, server: GraphMendServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._token = f"graphmend-verify-{uuid.uuid4()}"
        self._stop = threading.Event()
        self._shown = False

    async def run(self, plan: planning.Plan, python: str, what: str) -> Report:
        """The report; the processes end if the user or the client cancels, and when the server shuts down."""
        await self._begin(what)
        job = functools.partial(verify, plan, python, progress=self._note, cancelled=self._is_cancelled)
        try:
            with self._server.wire.stoppable(self._stop.set):
                return await self._server.in_thread(job)
        finally:
            if self._shown:
                self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())

    async def _begin(self, what: str) -> None:
        if not self._server.client.progress:
            return
        progress: Any = self._server.work_done_progress
        try:
            await progress.create_async(self._token)
        except Exception:  # a client that declares it and refuses it: then without
            return
        self._shown = True
        progress.begin(self._token, types.WorkDoneProgressBegin(what, cancellable=True))

    def _is_cancelled(self) -> bool:
        progress: Any = self._server.work_done_progress
        token = progress.tokens.get(self._token)
        gone = self._server.ended.is_set() or self._server.wire.is_shut_down
        return gone or self._stop.is_set() or (token is not None and token.cancelled())

    def _note(self, text: str) -> None:
        """Called in the thread."""
        if self._shown:
            report = types.WorkDoneProgressReport(message=text)
            self._loop.call_soon_threadsafe(self._server.work_done_progress.report, self._token, report)


def register(server: GraphMendServer) -> None:
    """Handle the command; one verification runs at a time, the others wait."""
    turn = asyncio.Lock()

    async def run(*arguments: Any) -> dict[str, Any] | None:
        try:
            (data,) = arguments
            chosen = Plan.from_data(data)
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{VERIFY}: {error}") from None
        document = server.documents.find(chosen.key.uri)
        checked = await server.analyses.of(document) if document is not None else None
        if checked is None:
            raise JsonRpcContentModified("the document has changed")
        try:
            plan = await server.analyses.call(functools.partial(_plan, server, checked, chosen))
            path, project = checked.analysis.path, server.project
            folder = next(iter(project.roots), os.path.dirname(path))
            python = interpreter_for(path, project.options.python, folder)
        except (ValueError, OSError) as error:
            return _say(server, f"GraphMend cannot verify this fix: {error}", types.MessageType.Error)
        if plan is None:
            return None
        if isinstance(plan, str):
            return _say(server, f"GraphMend cannot verify this fix: {plan}", types.MessageType.Warning)
        async with turn:
            report = await _Verification(server).run(plan, python, "GraphMend: verifying a fix")
        _tell(server, report)
        return report.as_json()

    server.command(VERIFY)(run)


def _say(server: GraphMendServer, text: str, level: types.MessageType) -> None:
    server.show(text, level)


def _plan(server: GraphMendServer, checked: Checked, chosen: Plan) -> planning.Plan | str:
    """What to compare, or why not.  Runs in the worker thread."""
    path = checked.analysis.path
    if not os.path.isabs(path):
        return "the text has not been saved to a file yet"
    finding = find(checked, chosen.key)
    offer = None if finding is None else next((o for o in finding.offers if o.kind == chosen.offer), None)
    change = chosen.change(checked)
    if finding is None or offer is None or isinstance(change, Refusal):
        return change.message if isinstance(change, Refusal) else "the finding is no longer there"
    texts = {**server.documents.texts(), path: checked.snapshot.source}
    try:
        inputs, init = configured(path, finding.entry)
        options = planning.Options(inputs=inputs, init=init)
        return planning.offer_plan(path, change, finding, offer, texts=texts, options=options)
    except planning.PlanError as error:
        return f"{os.path.basename(error.path)}: {error}"
    except ValueError as error:
        return str(error)


def _tell(server: GraphMendServer, report: Report) -> None:
    """The verdict to the user, everything to the log."""
    writer = Writer(shown=os.path.basename)
    server.window_log_message(types.LogMessageParams(types.MessageType.Info, "\n".join(writer.lines(report))))
    for entry in report.entries:
        text = writer.headline(report, entry)
        if entry.before is not None and entry.after is not None:
            text += f"; {counts(entry.before, entry.after)}"
        if entry.differences:
            first = entry.differences[0]
            text += f". First: {first.label}, {first.backend}: {first.message}"
        level = types.MessageType.Info if entry.verdict in ("same", "unchanged") else types.MessageType.Warning
        server.show(f"GraphMend: {text}", level)
