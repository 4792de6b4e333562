"""Findings as text for people and as JSON for tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphmend_lsp.cli.frame import source_frame
from graphmend_lsp.cli.terminal import Paint, counted, place, shown
from graphmend_lsp.cli.work import Checked
from graphmend_lsp.finding import Change, Finding, Problem, Refusal
from graphmend_lsp.text import LineIndex, Span

if TYPE_CHECKING:
    from graphmend_lsp.notebook import Joined

_SEVERITY_COLOUR = {"error": "red", "warning": "yellow", "information": "blue", "hint": "cyan"}


def full(checked: Checked, paint: Paint) -> str:
    """Every finding with its source, its evidence and what can be done about it."""
    index = LineIndex(checked.text)
    blocks = ["\n".join(_block(checked, finding, index, paint)) for finding in checked.findings]
    return "".join(block + "\n\n" for block in blocks)


def _block(checked: Checked, finding: Finding, index: LineIndex, paint: Paint) -> list[str]:
    cells = checked.cells
    span = finding.span
    if cells is not None:
        number, span = cells.local(span)
        index = cells.cells[number].index
    width, frame = source_frame(index, span, paint)
    pad = " " * width
    level = "" if finding.severity == "warning" else f" ({finding.severity})"
    head = paint(f"{finding.code} {finding.name}", "bold", _SEVERITY_COLOUR[finding.severity])
    lines = [
        f"{head}{level}: {finding.message}",
        f"{pad}{paint('-->', 'blue')} {_place(checked, finding)}",
        *frame,
    ]
    note = f"{pad} {paint('=', 'blue')} "
    for step in finding.evidence:
        where = f"{shown(step.path)}:{step.span.line}" if step.path else f"line {step.span.line}"
        if cells is not None and step.path is None:
            where = cells.words(step.span.line, finding.span.line)
        lines.append(f"{note}{step.message}, {where}")
    if finding.cost_words is not None:
        lines.append(f"{note}cost (estimated): {finding.cost_words}")
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
        rows.append(f"{_place(checked, finding)}: {code}{star} {finding.message}\n")
    return "".join(rows)


def _place(checked: Checked, finding: Finding) -> str:
    if checked.cells is None:
        return place(finding.path, None, finding.span.line, finding.span.column)
    number, span = checked.cells.local(finding.span)
    return place(finding.path, checked.cells.cells[number].number, span.line, span.column)


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

    def line(self, hidden: int = 0) -> str:
        """The closing line; ``hidden`` findings are in a baseline."""
        parts: list[str] = []
        if self.findings:
            fixes = f" ({counted(self.safe, 'safe fix')})" if self.safe else ""
            parts.append(f"Found {counted(self.findings, 'finding')}{fixes} in {counted(self.with_findings, 'file')}")
        elif self.whole:
            parts.append(f"No {'new ' if hidden else ''}findings in {counted(self.whole, 'file')}")
        if hidden:
            parts.append(f"{counted(hidden, 'finding')} in the baseline")
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
    errors = [error(problem) for problem in problems]
    for checked in results:
        errors += (error(problem) for problem in checked.problems)
        unused += ({"path": checked.path, **_range(checked.cells, span)} for span in checked.unused_suppressions)
        for number, finding in enumerate(checked.findings):
            resolved = checked.resolved[number] if checked.resolved else ()
            changes = [(o, c, _edits(checked.cells, c)) for o, c in resolved if isinstance(c, Change)]
            refused = [result for _, result in resolved if isinstance(result, Refusal)]
            findings.append(
                {
                    "code": finding.code,
                    "name": finding.name,
                    "path": finding.path,
                    **_range(checked.cells, finding.span),
                    "message": finding.message,
                    "severity": finding.severity,
                    "entry": finding.entry,
                    "entries": [
                        {"name": entry.name, "path": finding.path if entry.path is None else entry.path}
                        for entry in finding.entries
                    ],
                    "confidence": finding.confidence,
                    "costs": [
                        {
                            "entry": cost.entry,
                            "graphs": cost.graphs,
                            "drops": cost.drops or None,
                            "inside": cost.reason or None,
                        }
                        for cost in finding.costs
                    ],
                    "evidence": [
                        {
                            "path": finding.path if step.path is None else step.path,
                            **_start(None if step.path else checked.cells, step.span),
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
                            "edits": [{"path": finding.path, **edit} for edit in edits],
                            "creates": [{"path": new.path, "text": new.text} for new in change.creates],
                        }
                        for offer, change, edits in changes
                    ],
                    "refusals": [
                        {"kind": refusal.kind, "reason": refusal.reason, "message": refusal.message}
                        for refusal in (*finding.refusals, *refused)
                    ],
                    "gb": finding.gb,
                }
            )
    return {"version": 1, "findings": findings, "errors": errors, "unused_suppressions": unused}


def _edits(cells: Joined | None, change: Change) -> list[dict[str, Any]]:
    if cells is None:
        return [{**_range(None, edit.span), "text": edit.text} for edit in change.edits]
    return [
        {"cell": cells.cells[number].number, **_range(None, edit.span), "text": edit.text}
        for number, edits in cells.cell_edits(change.edits).items()
        for edit in edits
    ]


def _range(cells: Joined | None, span: Span) -> dict[str, int]:
    start = _start(cells, span)
    end = span.shifted(start["line"] - span.line)
    return {**start, "end_line": end.end_line, "end_column": end.end_column + 1}


def _start(cells: Joined | None, span: Span) -> dict[str, int]:
    """Where a range begins; in a notebook with the cell."""
    cell: dict[str, int] = {}
    if cells is not None:
        number, span = cells.local(span)
        cell = {"cell": cells.cells[number].number}
    return {**cell, "line": span.line, "column": span.column + 1}


def error(problem: Problem) -> dict[str, Any]:
    cell = {} if problem.cell is None else {"cell": problem.cell}
    return {"path": problem.path, **cell, "line": problem.line, "message": problem.message}
