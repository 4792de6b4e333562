"""``graphmend.profile``: run one entry in the user's interpreter, and show what was measured."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from graphmend_lsp.check import Accept
from graphmend_lsp.parse import parse
from graphmend_lsp.profile import plan as planning
from graphmend_lsp.profile.anchors import measured
from graphmend_lsp.profile.report import Report
from graphmend_lsp.profile.run import profile
from graphmend_lsp.profile.targets import Outline, outline
from graphmend_lsp.profile.text import Writer, headline
from graphmend_lsp.project import files, layout
from graphmend_lsp.project.config import load_for
from graphmend_lsp.project.interpreter import interpreter_for
from graphmend_lsp.project.program import DiskProgram
from graphmend_lsp.server import reports, stubs
from graphmend_lsp.server.places import FIELDS, Place, entry_at
from graphmend_lsp.server.running import Cancelled, Note, Run
from graphmend_lsp.server.translate import as_object, path_of
from graphmend_lsp.settings import Settings

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

PROFILE = "graphmend.profile"

_SHOW = "Show report"


@dataclass(frozen=True)
class Request:
    """The command's argument; ``capture`` "" takes the configured one."""

    place: Place
    capture: str = ""
    device: planning.Device = ""
    compare: bool = True
    timing: bool = True

    @classmethod
    def read(cls, data: object) -> Request:
        """The request in the argument of the command.

        Raises:
            ValueError: it is none.
        """
        fields = as_object(data)
        unknown = sorted(fields.keys() - cls.__dataclass_fields__.keys() - FIELDS | (fields.keys() & {"place"}))
        if unknown:
            raise ValueError(f"unknown field {unknown[0]!r}")
        place = Place.read(fields)
        texts = {name: fields.get(name, "") for name in ("capture", "device")}
        for name, value in texts.items():
            if not isinstance(value, str):
                raise ValueError(f"{name} is not a string")
        capture, device = (str(value) for value in texts.values())
        flags = {name: fields.get(name, True) for name in ("compare", "timing")}
        for name, value in flags.items():
            if not isinstance(value, bool):
                raise ValueError(f"{name} is not true or false")
        if device not in get_args(planning.Device):
            raise ValueError(f"device is not one of {', '.join(map(repr, get_args(planning.Device)))}")
        compare, timing = (bool(value) for value in flags.values())
        return cls(place, capture, cast("planning.Device", device), compare, timing)


@dataclass(frozen=True)
class _Prepared:
    """All that a run needs; ``root`` is the project's folder."""

    plan: planning.Plan
    python: str
    folder: str
    root: str


def _prepare(server: GraphMendServer, request: Request, entry: str) -> _Prepared | str:
    """What to run, or why not.  Runs in the worker."""
    path, project = path_of(request.place.uri), server.project
    if not os.path.isabs(path):
        return "the text has not been saved to a file yet"
    if layout.is_notebook(path):
        return layout.NOT_RUN
    texts = {each: text for each, text in server.documents.texts().items() if os.path.isabs(each)}
    if path not in texts and not os.path.isfile(path):
        return f"there is no file {path}"
    config = load_for(path)
    try:
        inputs, init, capture = planning.configured_options(path, entry)
        if request.capture:
            capture = planning.Capture.parse(request.capture, config.root)
        folder = project.folder_of(path) or os.path.dirname(path)
        python = interpreter_for(path, project.options_for(path).python, folder)
    except (ValueError, OSError) as error:
        return str(error)
    import_root = layout.import_root(path)
    root = layout.project_root(import_root) or import_root

    def settings(each: str) -> Settings:
        return project.settings(each).settings

    # a program of its own: it is asked in another thread than the server's, for the texts as they are now
    program = DiskProgram((*project.roots, config.root), overlay=texts)
    plan = planning.Plan(
        path,
        entry,
        planning.Mending(program, settings, Accept(config.unsafe_fixes), (root,)),
        texts,
        planning.Options(
            device=request.device,
            inputs=inputs,
            init=init,
            capture=capture,
            compare=request.compare,
            timing=request.timing,
        ),
    )
    return _Prepared(plan, python, config.root, root)


def _profile(prepared: _Prepared, note: Note, cancelled: Cancelled) -> Report:
    """Runs in a thread of its own."""
    return profile(prepared.plan, prepared.python, folder=prepared.folder, progress=note, cancelled=cancelled)


def _keep(server: GraphMendServer, prepared: _Prepared, report: Report) -> Report:
    """The report, kept with what is needed to find its lines again.  Runs in the worker."""
    plan = prepared.plan
    result = measured(report, _outlines(server, prepared), plan.options.device)
    server.results.add(result)
    return result.report


def _outlines(server: GraphMendServer, prepared: _Prepared) -> Callable[[str], Outline | None]:
    """The outlines of the project's files as they were measured."""
    texts = prepared.plan.texts

    @functools.cache
    def outline_of(path: str) -> Outline | None:
        inside = path in texts or path.startswith(os.path.join(prepared.root, ""))
        if not inside or any(f"{os.sep}{name}{os.sep}" in path for name in layout.INSTALLED):
            return None
        try:
            text = texts[path] if path in texts else files.read(path).text
        except files.SourceError:
            return None
        settings = server.project.settings(path).settings
        return outline(path, parse(text), server.project.program(path, settings), settings)

    return outline_of


async def _tell(server: GraphMendServer, request: Request, report: Report) -> None:
    """The headline or the failure to the user, with what he can do next; everything to the log."""
    lines = "\n".join(Writer(shown=os.path.basename).lines(report))
    server.window_log_message(types.LogMessageParams(types.MessageType.Info, lines))
    failure = report.failure
    if failure is None:
        text = f"GraphMend: {report.entry}: {headline(report)}"
        if await _ask(server, text, types.MessageType.Info, _SHOW):
            await reports.show(server, report.path, report.entry)
        return
    if failure.kind == "cancelled":
        return
    text = f"GraphMend cannot profile {report.entry}: {failure.message}"
    document = server.documents.find(request.place.uri) if failure.kind == "inputs" else None
    stub = functools.partial(stubs.edit, server, document, report.entry) if document is not None else None
    offered = stub is not None and await server.analyses.call(stub) is not None
    if not offered or stub is None:
        server.show(text, types.MessageType.Warning)
        return
    text += f' The code action "{stubs.TITLE}" writes a function that says how it is called.'
    chosen = await _ask(server, text, types.MessageType.Warning, stubs.TITLE if server.client.apply_edit else "")
    edit = await server.analyses.call(stub) if chosen else None
    if edit is not None:
        with contextlib.suppress(Exception):  # refused, or the editor is gone
            await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, stubs.TITLE))


async def _ask(server: GraphMendServer, text: str, level: types.MessageType, action: str) -> bool:
    """Show a message with one thing to do about it; whether the user chose that."""
    if not action or not server.client.message_actions:
        server.show(text, level)
        return False
    params = types.ShowMessageRequestParams(level, text, [types.MessageActionItem(action)])
    try:
        answer = await server.window_show_message_request_async(params)
    except Exception:  # refused, or the editor is gone
        return False
    return answer is not None and answer.title == action


def register(server: GraphMendServer) -> None:
    """Handle the command."""

    async def run(*arguments: Any) -> dict[str, Any] | None:
        try:
            (data,) = arguments
            request = Request.read(data)
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{PROFILE}: {error}") from None
        await server.configuration.settled()  # whether the workspace is trusted, too
        entry = await entry_at(server, request.place, "profile anything here")
        what = f"profile {entry}"
        if entry is None or not server.may_run(what):
            return None
        prepared = await server.analyses.call(functools.partial(_prepare, server, request, entry))
        if prepared is None:
            return None
        if isinstance(prepared, str):
            server.show(f"GraphMend cannot profile {entry}: {prepared}", types.MessageType.Error)
            return None
        title = f"GraphMend: profiling {entry}"
        report = await Run(server, title, what, percentage=True).run(functools.partial(_profile, prepared))
        if report is None:
            return None
        report = await server.analyses.call(functools.partial(_keep, server, prepared, report)) or report
        server.results.changed()
        server.spawn(_tell(server, request, report))
        return report.as_json()

    server.command(PROFILE)(run)
