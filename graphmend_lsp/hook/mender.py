"""Mend one file's text: the slow way, taken when nothing is cached."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from types import CodeType
from typing import TYPE_CHECKING, Any

from graphmend_lsp import check as core
from graphmend_lsp.finding import Finding, Problem
from graphmend_lsp.hook.cache import Entry
from graphmend_lsp.hook.options import Options
from graphmend_lsp.hook.record import RecordedProgram, configuration
from graphmend_lsp.hook.relocate import relocate
from graphmend_lsp.origins import Origin, origins
from graphmend_lsp.project import files, selectors
from graphmend_lsp.project.config import LoadedConfig
from graphmend_lsp.project.torch_release import parse_release
from graphmend_lsp.settings import Settings

if TYPE_CHECKING:
    from graphmend_lsp.hook.scope import Match


class NotMended(Exception):
    """Why a file is left as it is although it should have been mended; the message is for the user."""


def mend(path: str, data: bytes, options: Options, match: Match, torch: str) -> Entry:
    """The mended code of a file, of which ``data`` are the bytes and ``torch`` is the release installed.

    Raises:
        NotMended: the text cannot be read, or mending it went wrong.
    """
    config, depends = configuration(path)
    if match == "folder" and config.excludes(path):
        return Entry(depends, "", None)
    settings = _settings(path, config, options, torch)
    try:
        text = files.decode(data, path).text
    except files.SourceError as error:
        raise NotMended(str(error)) from None
    program = RecordedProgram(path, (config.root,))
    mended = core.mend(text, path, program=program, settings=settings, accept=core.Accept(options.unsafe))
    depends += program.depends()
    if mended.text == text:
        return Entry(depends, _record(mended, origins(text, ())), None)
    if mended.analysis.problems:
        problem: Problem = mended.analysis.problems[0]
        raise NotMended(f"internal error: the mended text is not valid ({problem.message}); please report")
    lines = origins(text, [edits for _, edits in mended.rounds])
    return Entry(depends, _record(mended, lines), _compiled(mended.text, path, text, lines[-1]))


def _compiled(mended: str, path: str, original: str, lines: Sequence[Origin]) -> CodeType:
    tree = ast.parse(mended)
    relocate(tree, original, lines)
    return compile(tree, path, "exec", dont_inherit=True)


def _settings(path: str, config: LoadedConfig, options: Options, torch: str) -> Settings:
    settings = config.settings_for(path)
    if options.select is not None:
        settings = replace(settings, select=_codes(options.select), ignore=())
    return replace(
        settings,
        ignore=(*settings.ignore, *_codes(options.ignore)),
        entries=(*settings.entries, *options.entries),
        torch_version=parse_release(torch) or settings.torch_version,
        runtime="package",  # in memory nothing can be put beside the file
    )


def _codes(names: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        code = selectors.normalise(name)
        if code is None:
            raise NotMended(f"no rule answers to {name!r}")
        found.append(code)
    return tuple(found)


# -- the report ---------------------------------------------------------------------------------------


def _record(mended: core.Mended, lines: Sequence[Sequence[Origin]]) -> str:
    """What the report says of a file, as JSON; "" for nothing.  Lines are those of the original."""
    done: list[dict[str, Any]] = []
    applied = iter(mended.applied)
    for number, (count, _) in enumerate(mended.rounds):
        for finding, offer in (next(applied) for _ in range(count)):
            done.append(
                {
                    **_place(finding, lines[number]),
                    "title": offer.title,
                    "safety": offer.safety,
                    "changes": offer.changes,
                }
            )
    left: list[dict[str, Any]] = []
    for finding in mended.analysis.findings:
        left.append(
            {
                **_place(finding, lines[-1]),
                "message": finding.message,
                "refusals": [{"kind": r.kind, "reason": r.reason, "message": r.message} for r in finding.refusals],
                "unsafe": [{"kind": o.kind, "title": o.title, "changes": o.changes} for o in finding.offers],
            }
        )
    if not done and not left:
        return ""
    done.sort(key=lambda row: row["line"])
    return json.dumps({"mended": done, "left": left})


def _place(finding: Finding, lines: Sequence[Origin]) -> dict[str, Any]:
    origin = lines[min(finding.span.line, len(lines)) - 1]
    return {"code": finding.code, "name": finding.name, "line": max(1, origin.first), "function": finding.function}


def internal_error(error: BaseException) -> str:
    """An error of ours with its innermost place, which is what a report needs."""
    trace = error.__traceback__
    place = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f" at {os.path.basename(code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"internal error: {type(error).__name__}: {error}{place}; please report"
