"""Workflow commands of GitHub Actions, which shows them beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterable

from graphmend_lsp.cli.formats.places import region, relative, repository
from graphmend_lsp.cli.work import Checked
from graphmend_lsp.finding import Problem, Severity

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "information": "notice", "hint": "notice"}


def document(results: Iterable[Checked], problems: Iterable[Problem]) -> str:
    """One command a line: findings, then what could not be checked."""
    top = repository()
    rows: list[str] = []
    failed = [*problems]
    for checked in results:
        failed += checked.problems
        for finding in checked.findings:
            place = region(checked, finding.span)
            where: dict[str, object] = {"file": relative(finding.path, top) or finding.path, "line": place.line}
            where["endLine"] = place.end_line
            if place.column is not None and place.line == place.end_line:  # columns of several lines are not taken
                where |= {"col": place.column, "endColumn": place.end_column}
            cell = f" (cell {place.cell}, line {place.cell_line})" if place.cell else ""
            where["title"] = f"{finding.code} {finding.name}{cell}"
            rows.append(_command(_COMMANDS[finding.severity], where, finding.message))
    for problem in failed:
        where = {"file": relative(problem.path, top) or problem.path}
        cell = "" if problem.cell is None else f"cell {problem.cell}, line {problem.line}: "
        if problem.line is not None and problem.cell is None:
            where["line"] = problem.line
        rows.append(_command("error", {**where, "title": "graphmend"}, cell + problem.message))
    return "".join(row + "\n" for row in rows)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    """A workflow command: ``%``, line ends, and in properties ``:`` and ``,`` are escaped."""
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
