"""SARIF 2.1.0, as GitHub code scanning and the viewers of editors read it.

The format is the OASIS standard of that name; what is filled in beyond it follows GitHub's "SARIF support for code
scanning": every rule has a description and help, every result one location and a fingerprint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from graphmend_lsp import __version__
from graphmend_lsp.cli.formats.places import Region, file_uri, region, relative, repository, uri
from graphmend_lsp.cli.rule import page
from graphmend_lsp.cli.work import STDIN, Checked
from graphmend_lsp.finding import Change, Evidence, Finding, Offer, Problem, Severity, gb_url
from graphmend_lsp.project.fingerprint import numbered
from graphmend_lsp.rules import Rule, all_rules
from graphmend_lsp.text import LineIndex

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "graphmend/v1"
"""The key of our fingerprints.  GitHub's own one, ``primaryLocationLineHash``, is computed by its upload action, which
warns of every result that brings another value."""
_BASE = "%SRCROOT%"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "information": "note", "hint": "note"}
_MAX_TEXT = 1000
"""GitHub takes descriptions of up to 1024 characters."""
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")


def document(results: Iterable[Checked], problems: Iterable[Problem]) -> str:
    """The log of one run."""
    return json.dumps(_Log().made(results, problems), indent=2) + "\n"


class _Log:
    def __init__(self) -> None:
        self._top = repository()
        self._rules = all_rules()
        self._numbers = {rule.code: number for number, rule in enumerate(self._rules)}

    def made(self, results: Iterable[Checked], problems: Iterable[Problem]) -> dict[str, Any]:
        failed = [*problems]
        found: list[dict[str, Any]] = []
        for checked in results:
            failed += checked.problems
            index = LineIndex(checked.text)
            for number, (finding, mark, count) in enumerate(numbered(checked.findings, index)):
                resolved = checked.resolved[number] if checked.resolved else ()
                changes = [(o, c) for o, c in resolved if o.safety == "safe" and isinstance(c, Change)]
                made = self._result(checked, finding, f"{mark}:{count}", changes)
                if checked.cells is None:
                    made["locations"][0]["physicalLocation"]["region"]["snippet"] = {"text": index.slice(finding.span)}
                found.append(made)
        invocation: dict[str, Any] = {"executionSuccessful": not failed}
        if failed:
            invocation["toolExecutionNotifications"] = [self._notification(problem) for problem in failed]
        return {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "graphmend",
                            "version": __version__,
                            "semanticVersion": __version__,
                            "rules": [_rule(rule) for rule in self._rules],
                        }
                    },
                    "automationDetails": {"id": "graphmend/"},
                    "originalUriBaseIds": {_BASE: {"uri": file_uri(self._top, folder=True)}},
                    "invocations": [invocation],
                    "columnKind": "unicodeCodePoints",
                    "results": found,
                }
            ],
        }

    def _result(
        self, checked: Checked, finding: Finding, mark: str, changes: list[tuple[Offer, Change]]
    ) -> dict[str, Any]:
        place = region(checked, finding.span)
        location = self._location(finding.path, place)
        logical = [{"fullyQualifiedName": finding.function, "kind": "function"}] if finding.function else []
        if place.cell is not None:
            logical.append({"fullyQualifiedName": f"cell {place.cell}, line {place.cell_line}", "kind": "cell"})
        if logical:
            location["logicalLocations"] = logical
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": self._numbers[finding.code],
            "level": _LEVELS[finding.severity],
            "message": {"text": _message(finding)},
            "locations": [location],
            "partialFingerprints": {FINGERPRINT: mark},
        }
        if finding.evidence:
            result["relatedLocations"] = [
                self._related(checked, finding, number, step) for number, step in enumerate(finding.evidence, 1)
            ]
        # what needs a new file beside the edits cannot be said here, and without it the edits would break the code
        fixes = [(offer, change) for offer, change in changes if not change.creates and checked.cells is None]
        if fixes:
            result["fixes"] = [self._fix(finding, offer, change) for offer, change in fixes]
        properties: dict[str, Any] = {"entries": [entry.name for entry in finding.entries] or [finding.entry]}
        if not finding.entry:
            del properties["entries"]
        if finding.offers:
            properties["offers"] = [{"title": offer.title, "safety": offer.safety} for offer in finding.offers]
        if finding.refusals:
            properties["refusals"] = [{"reason": no.reason, "message": no.message} for no in finding.refusals]
        if properties:
            result["properties"] = properties
        return result

    def _related(self, checked: Checked, finding: Finding, number: int, step: Evidence) -> dict[str, Any]:
        path = finding.path if step.path is None else step.path
        place = region(checked, step.span, own=step.path is None)
        return {"id": number, **self._location(path, place), "message": {"text": step.message}}

    def _fix(self, finding: Finding, offer: Offer, change: Change) -> dict[str, Any]:
        replacements: list[dict[str, Any]] = []
        for edit in change.edits:
            span = edit.span
            deleted = _region(Region(span.line, span.end_line, span.column + 1, span.end_column + 1))
            replacements.append({"deletedRegion": deleted, "insertedContent": {"text": edit.text}})
        file = {"artifactLocation": self._artifact(finding.path), "replacements": replacements}
        return {"description": {"text": offer.title}, "artifactChanges": [file]}

    def _location(self, path: str, place: Region) -> dict[str, Any]:
        return {"physicalLocation": {"artifactLocation": self._artifact(path), "region": _region(place)}}

    def _artifact(self, path: str) -> dict[str, Any]:
        """Relative to the repository, so that another checkout finds the file."""
        short = relative(path, self._top)
        if short is not None:
            return {"uri": uri(short), "uriBaseId": _BASE}
        return {"uri": "stdin" if path == STDIN else file_uri(path)}

    def _notification(self, problem: Problem) -> dict[str, Any]:
        place: dict[str, Any] = {"artifactLocation": self._artifact(problem.path)}
        cell = "" if problem.cell is None else f"cell {problem.cell}, line {problem.line}: "
        if problem.line is not None and problem.cell is None:
            place["region"] = {"startLine": problem.line}
        return {
            "level": "error",
            "message": {"text": cell + problem.message},
            "locations": [{"physicalLocation": place}],
        }


def _message(finding: Finding) -> str:
    """The message, and behind it links to the evidence (``[words](id)``), which GitHub shows below."""
    text = _LINK.sub(r"\\[", finding.message)
    if not finding.evidence:
        return text
    steps = ", ".join(f"[{_escaped(step.message)}]({number})" for number, step in enumerate(finding.evidence, 1))
    return f"{text}. See: {steps}"


def _escaped(text: str) -> str:
    """The text of a link."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _region(place: Region) -> dict[str, Any]:
    found: dict[str, Any] = {"startLine": place.line}
    if place.column is not None:
        found["startColumn"] = place.column
    found["endLine"] = place.end_line
    if place.end_column is not None:
        found["endColumn"] = place.end_column
    return found


def _rule(rule: Rule) -> dict[str, Any]:
    text = page(rule.code, rule.name, rule.page)
    link = re.search(r"\]\((https://[^)\s]+)\)", rule.page)
    href = gb_url(rule.gb) or (link[1] if link is not None else None)  # a rule about no break has no page there
    level = "note" if rule.deliberate or not rule.kinds else "warning"
    made: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _full(rule)},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["pytorch", "torch.compile", "performance"],
            "precision": "high",
            "problem.severity": "recommendation" if level == "note" else "warning",
        },
    }
    if href is not None:
        made["helpUri"] = href
    return made


def _full(rule: Rule) -> str:
    """What the rule does, from its page, as far as a description goes."""
    _, _, rest = rule.page.partition("## What it does\n")
    text = " ".join(rest.partition("\n## ")[0].split()) or rule.summary
    if len(text) <= _MAX_TEXT:
        return text
    return text[:_MAX_TEXT].rpartition(". ")[0] + "."
