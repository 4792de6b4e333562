"""Verdicts of ``graphmend verify`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from graphmend_lsp.cli.terminal import Paint, counted, shown
from graphmend_lsp.verify.report import TOLERANCE, Counts, Differing, EntryReport, Report

_COLOURS = {"same": "green", "different": "red", "inconclusive": "yellow", "unchanged": "blue"}
_MOST = 12


def text(report: Report, paint: Paint) -> str:
    """One block a file."""
    return "\n".join(_lines(report, paint)) + "\n"


def _lines(report: Report, paint: Paint) -> Iterator[str]:
    for entry in report.entries:
        name = f"{shown(report.path)}::{entry.entry}" if entry.entry else shown(report.path)
        yield f"{paint(name, 'bold')}: {paint(entry.verdict, 'bold', _COLOURS[entry.verdict])}{_summary(report, entry)}"
        if entry.before is not None and entry.after is not None:
            yield f"  {_counts(entry.before, entry.after)}"
            for site in entry.after.sites:
                where = f"{shown(site.path)}:{site.line}" if site.path else "no place named"
                yield f"    still breaks: {where} (mended text): {site.reason} {site.gb}".rstrip()
        if entry.inputs:
            skipped = _skipped(entry)
            yield f"  inputs: {entry.inputs}, varied{skipped}"
        for row in entry.differences[:_MOST]:
            yield f"  {paint(row.part, 'red')}: {_where(row)}: {row.message}"
        if len(entry.differences) > _MOST:
            yield f"  and {len(entry.differences) - _MOST} more (--output-format json has all)"
    for row in report.applied:
        risk = "" if row.safety == "safe" else f" ({row.safety}: {row.changes or 'not proved'})"
        yield f"  applied: {shown(row.path)}:{row.line} {row.code} {row.title}{risk}"
    for name, reason in report.left_out:
        yield f"  not tried: {name}: {reason}"
    if report.torch:
        compiled = any(backend != "eager" for entry in report.entries for backend, _ in entry.runs)
        tolerance = f"; compiled results may deviate by {TOLERANCE}" if compiled else ""
        yield f"  torch {report.torch}, {counted(report.calls, 'call')} a run, {report.seconds:.1f} s{tolerance}"


def _summary(report: Report, entry: EntryReport) -> str:
    if entry.verdict in ("inconclusive", "unchanged"):
        return f": {entry.reason}"
    runs = ", ".join(f"{number} {backend}" for backend, number in entry.runs)
    than = f"as {shown(report.against)}" if report.against else "mended"
    if entry.verdict == "same":
        return f": {than} it does what it did, in {sum(n for _, n in entry.runs)} runs ({runs})"
    return f": {than} it does something else, in {counted(len(entry.differences), 'respect')}"


def _counts(before: Counts, after: Counts) -> str:
    mode = " in training mode" if before.training else ""
    return (
        f"graphs {before.graphs} -> {after.graphs}, break events {before.events} -> {after.events}, "
        f"break sites {len(before.sites)} -> {len(after.sites)}{mode}"
    )


def _where(row: Differing) -> str:
    gradients = " with gradients" if row.gradients else ""
    return f"{row.label}, {row.backend}{gradients}"


def _skipped(entry: EntryReport) -> str:
    reasons: dict[str, list[str]] = {}
    for row in entry.not_compared:
        name = row.label.rpartition(", ")[2]
        what = name if row.backend == "eager" else f"{name} ({row.backend})"
        reasons.setdefault(row.reason, []).append(what)
    parts = [f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in reasons.items()]
    return f" ({'; '.join(parts)})" if parts else ""
