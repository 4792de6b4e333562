"""``graphmend.verify``: run the code with and without one fix, and say whether it does the same."""

from __future__ import annotations

import functools
import os
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from graphmend_lsp.finding import Refusal
from graphmend_lsp.project import layout
from graphmend_lsp.project.inputs import configured
from graphmend_lsp.project.interpreter import interpreter_for
from graphmend_lsp.server.actions import VERIFY
from graphmend_lsp.server.documents import Checked
from graphmend_lsp.server.plans import Plan, find
from graphmend_lsp.server.running import Cancelled, Note, Run
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.verify import plan as planning
from graphmend_lsp.verify.report import Report
from graphmend_lsp.verify.run import verify
from graphmend_lsp.verify.text import Writer, counts

_WHAT = "verify this fix"


def register(server: GraphMendServer) -> None:
    """Handle the command."""

    async def run(*arguments: Any) -> dict[str, Any] | None:
        try:
            (data,) = arguments
            chosen = Plan.from_data(data)
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{VERIFY}: {error}") from None
        await server.configuration.settled()  # whether the workspace is trusted, too
        if not server.may_run(_WHAT):
            return None
        document = server.documents.find(chosen.key.uri)
        checked = await server.analyses.of(document) if document is not None else None
        if checked is None:
            raise JsonRpcContentModified("the document has changed")
        try:
            plan = await server.analyses.call(functools.partial(_plan, server, checked, chosen))
            path, project = checked.analysis.path, server.project
            folder = project.folder_of(path) or os.path.dirname(path)
            python = interpreter_for(path, project.options_for(path).python, folder)
        except (ValueError, OSError) as error:
            return _say(server, f"GraphMend cannot verify this fix: {error}", types.MessageType.Error)
        if plan is None:
            return None
        if isinstance(plan, str):
            return _say(server, f"GraphMend cannot verify this fix: {plan}", types.MessageType.Warning)
        report = await Run(server, "GraphMend: verifying a fix", _WHAT).run(functools.partial(_verify, plan, python))
        if report is None:
            return None
        _tell(server, report)
        return report.as_json()

    server.command(VERIFY)(run)


def _verify(plan: planning.Plan, python: str, note: Note, cancelled: Cancelled) -> Report:
    """Runs in a thread of its own."""
    return verify(plan, python, progress=lambda text: note(text, None), cancelled=cancelled)


def _say(server: GraphMendServer, text: str, level: types.MessageType) -> None:
    server.show(text, level)


def _plan(server: GraphMendServer, checked: Checked, chosen: Plan) -> planning.Plan | str:
    """What to compare, or why not.  Runs in the worker thread."""
    path = checked.analysis.path
    if not os.path.isabs(path):
        return "the text has not been saved to a file yet"
    if layout.is_notebook(path):
        return layout.NOT_RUN
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
