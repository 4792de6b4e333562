"""Findings as text for people and as JSON for tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphmend_lsp.cli.frame import source_frame
from graphmend_lsp.cli.terminal import Paint, counted, shown
from graphmend_lsp.cli.work import Checked
from graphmend_lsp.finding import Change, Finding, Problem, Refusal
from graphmend_lsp.text import LineIndex, Span

_SEVERITY_COLOUR = {"error": "red", "warning": "yellow", "information": "blue", "hint": "cyan"}


def full(checked: Checked, paint: Paint) -> str:
    """Every finding with its source, its evidence and what can be done about it."""
    index = LineIndex(checked.text)
    blocks = ["\n".join(_block(finding, index, paint)) for finding in checked.findings]
    return "".join(block + "\n\n" for block in blocks)


def _block(finding: Finding, index: LineIndex, paint: Paint) -> list[str]:
    width, frame = source_frame(index, finding.span, paint)
    pad = " " * width
    level = "" if finding.severity == "warning" else f" ({finding.severity})"
    head = paint(f"{finding.code} {finding.name}", "bold", _SEVERITY_COLOUR[finding.severity])
    lines = [
        f"{head}{level}: {finding.message}",
        f"{pad}{paint('-->', 'blue')} {_place(finding.path, finding.span)}",
        *frame,
    ]
    note = f"{pad} {paint('=', 'blue')} "
    for step in finding.evidence:
        where = f"line {step.span.line}" if step.path is None else f"{shown(step.path)}:{step.span.line}"
        lines.append(f"{note}{step.message}, {where}")
    for offer in finding.offers:
        colour = "green" if offer.safety == "safe" else "yellow"
        changes = f" -- {offer.changes}" if offer.changes else ""
        lines.append(f"{note}{paint(f'fix ({offer.safety})', 'bold', colour)}: {offer.title}{changes}")
    told = {offer.changes for offer in finding.offers}
    for refusal in finding.refusals:
        if refusal.message in told:
            continue  # the offer has said so
        lines.append(f"{note}{paint(f'no fix [{refusal.reason}]', 'bold')}: {refusal.message}")
    if finding.gb_url is not None:
        lines.append(f"{note}see {finding.gb_url}")
    return lines


def concise(checked: Checked, paint: Paint) -> str:
    """One line a finding; ``[*]`` marks a safe fix."""
    rows: list[str] = []
    for finding in checked.findings:
        star = f" {paint('[*]', 'green')}" if checked.has_safe_fix(finding) else ""
        code = paint(finding.code, "bold", _SEVERITY_COLOUR[finding.severity])
        rows.append(f"{_place(finding.path, finding.span)}: {code}{star} {finding.message}\n")
    return "".join(rows)


def _place(path: str, span: Span) -> str:
    return f"{shown(path)}:{span.line}:{span.column + 1}"


@dataclass
class Totals:
    """What a run found, file by file, for its closing line."""

    findings: int = 0
    safe: int = 0
    with_findings: int = 0
    whole: int = 0
    part: int = 0
    none: int = 0

    def add(self, checked: Checked) -> None:
        self.findings += len(checked.findings)
        self.safe += checked.safe_fixes
        self.with_findings += bool(checked.findings)
        self.whole += checked.extent == "whole"
        self.part += checked.extent == "part"
        self.none += checked.extent == "none"

    def line(self) -> str:
        """The closing line."""
        parts: list[str] = []
        if self.findings:
            fixes = f" ({counted(self.safe, 'safe fix')})" if self.safe else ""
            parts.append(f"Found {counted(self.findings, 'finding')}{fixes} in {counted(self.with_findings, 'file')}")
        elif self.whole:
            parts.append(f"No findings in {counted(self.whole, 'file')}")
        if self.part:
            parts.append(
                f"{counted(self.part, 'file')} checked only in part: the rest does not parse, and fix leaves it alone"
            )
        if self.none:
            parts.append(f"{counted(self.none, 'file')} not checked")
        return ("; ".join(parts) or "Nothing was checked") + "."


def as_json(results: Iterable[Checked], problems: Iterable[Problem]) -> dict[str, Any]:
    """The document of the design's section 5: lines and columns are 1-based, columns in code points."""
    findings: list[dict[str, Any]] = []
    unused: list[dict[str, Any]] = []
    errors = [_error(problem) for problem in problems]
    for checked in results:
        errors += (_error(problem) for problem in checked.problems)
        unused += ({"path": checked.path, **_range(span)} for span in checked.unused_suppressions)
        for number, finding in enumerate(checked.findings):
            resolved = checked.resolved[number] if checked.resolved else ()
            refused = [result for _, result in resolved if isinstance(result, Refusal)]
            findings.append(
                {
                    "code": finding.code,
                    "name": finding.name,
                    "path": finding.path,
                    **_range(finding.span),
                    "message": finding.message,
                    "severity": finding.severity,
                    "entry": finding.entry,
                    "entries": [
                        {"name": entry.name, "path": finding.path if entry.path is None else entry.path}
                        for entry in finding.entries
                    ],
                    "confidence": finding.confidence,
                    "evidence": [
                        {
                            "path": finding.path if step.path is None else step.path,
                            "line": step.span.line,
                            "column": step.span.column + 1,
                            "message": step.message,
                        }
                        for step in finding.evidence
                    ],
                    "offers": [
                        {
                            "kind": offer.kind,
                            "title": offer.title,
                            "safety": offer.safety,
                            "changes": offer.changes,
                            "edits": [
                                {"path": finding.path, **_range(edit.span), "text": edit.text} for edit in change.edits
                            ],
                            "creates": [{"path": new.path, "text": new.text} for new in change.creates],
                        }
                        for offer, change in resolved
                        if isinstance(change, Change)
                    ],
                    "refusals": [
                        {"kind": refusal.kind, "reason": refusal.reason, "message": refusal.message}
                        for refusal in (*finding.refusals, *refused)
                    ],
                    "gb": finding.gb,
                }
            )
    return {"version": 1, "findings": findings, "errors": errors, "unused_suppressions": unused}


def _range(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.end_line,
        "end_column": span.end_column + 1,
    }


def _error(problem: Problem) -> dict[str, Any]:
    return {"path": problem.path, "line": problem.line, "message": problem.message}
