"""GitLab's Code Quality report, which shows findings in merge requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from graphmend_lsp.cli.formats.places import region, relative, repository
from graphmend_lsp.cli.work import Checked
from graphmend_lsp.finding import Problem, Severity
from graphmend_lsp.project.fingerprint import numbered
from graphmend_lsp.text import LineIndex

_SEVERITIES: dict[Severity, str] = {"error": "major", "warning": "minor", "information": "info", "hint": "info"}


def document(results: Iterable[Checked], problems: Iterable[Problem]) -> str:
    """The report: a list of issues, each with a fingerprint that is unique in it and stays while code moves."""
    top = repository()
    issues: list[dict[str, Any]] = []
    failed = [*problems]
    for checked in results:
        failed += checked.problems
        path = relative(checked.path, top) or checked.path
        for finding, mark, number in numbered(checked.findings, LineIndex(checked.text)):
            place = region(checked, finding.span)
            issues.append(
                _issue(
                    finding.code,
                    f"{finding.code} {finding.name}: {finding.message}",
                    _SEVERITIES[finding.severity],
                    path,
                    (place.line, place.end_line),
                    f"{path}\0{mark}\0{number}",
                )
            )
    for problem in failed:
        path = relative(problem.path, top) or problem.path
        line = problem.line if problem.line is not None and problem.cell is None else 1
        cell = "" if problem.cell is None else f"cell {problem.cell}, line {problem.line}: "
        message = cell + problem.message
        issues.append(_issue("error", message, "critical", path, (line, line), f"{path}\0{message}\0{line}"))
    return json.dumps(issues, indent=2) + "\n"


def _issue(rule: str, text: str, severity: str, path: str, lines: tuple[int, int], identity: str) -> dict[str, Any]:
    return {
        "description": text,
        "check_name": rule,
        "fingerprint": hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest(),
        "severity": severity,
        "location": {"path": path, "lines": {"begin": lines[0], "end": lines[1]}},
    }
