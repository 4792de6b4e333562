"""Verdicts as text, for a terminal and for an editor's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from graphmend_lsp.verify.report import TOLERANCE, Counts, Differing, EntryReport, Report

_COLOURS = {"same": "green", "different": "red", "inconclusive": "yellow", "unchanged": "blue"}
_MOST = 12


class Paint(Protocol):
    """Puts a style on a text, or leaves it as it is."""

    def __call__(self, text: str, *styles: str) -> str: ...


def _plain(text: str, *styles: str) -> str:
    del styles
    return text


@dataclass(frozen=True)
class Writer:
    """Writes reports: ``paint`` colours, ``shown`` shortens a path."""

    paint: Paint = _plain
    shown: Callable[[str], str] = str

    def lines(self, report: Report) -> Iterator[str]:
        """One block a file."""
        for entry in report.entries:
            yield from self._entry(report, entry)
        for row in report.applied:
            risk = "" if row.safety == "safe" else f" ({row.safety}: {row.changes or 'not proved'})"
            yield f"  applied: {self.shown(row.path)}:{row.line} {row.code} {row.title}{risk}"
        for name, reason in report.left_out:
            yield f"  not tried: {name}: {reason}"
        if report.torch:
            compiled = any(backend != "eager" for entry in report.entries for backend, _ in entry.runs)
            tolerance = f"; compiled results may deviate by {TOLERANCE}" if compiled else ""
            yield f"  torch {report.torch}, {_counted(report.calls, 'call')} a run, {report.seconds:.1f} s{tolerance}"

    def headline(self, report: Report, entry: EntryReport) -> str:
        """The verdict in one line."""
        path = self.shown(report.path)
        name = self.paint(f"{path}::{entry.entry}" if entry.entry else path, "bold")
        return f"{name}: {self.paint(entry.verdict, 'bold', _COLOURS[entry.verdict])}{self._summary(report, entry)}"

    def _entry(self, report: Report, entry: EntryReport) -> Iterator[str]:
        yield self.headline(report, entry)
        if entry.before is not None and entry.after is not None:
            yield f"  {counts(entry.before, entry.after)}"
            for site in entry.after.sites:
                where = f"{self.shown(site.path)}:{site.line} (mended text)" if site.path else "no place named"
                yield f"    still breaks: {where}: {site.reason} {site.gb}".rstrip()
        if entry.inputs:
            yield f"  inputs: {entry.inputs}, varied{_skipped(entry)}"
        groups: dict[tuple[str, str], list[Differing]] = {}
        for row in entry.differences:
            groups.setdefault((row.part, row.message), []).append(row)
        for (part, message), rows in list(groups.items())[:_MOST]:
            more = f" (and in {_counted(len(rows) - 1, 'other run')})" if len(rows) > 1 else ""
            yield f"  {self.paint(part, 'red')}: {_where(rows[0])}: {message}{more}"
        if len(groups) > _MOST:
            yield f"  and {len(groups) - _MOST} more (in the JSON report)"

    def _summary(self, report: Report, entry: EntryReport) -> str:
        if entry.verdict in ("inconclusive", "unchanged"):
            return f": {entry.reason}"
        than = f"as {self.shown(report.against)}" if report.against else "mended"
        if entry.verdict == "same":
            runs = ", ".join(f"{number} {backend}" for backend, number in entry.runs)
            return f": {than} it does what it did, in {sum(n for _, n in entry.runs)} runs ({runs})"
        return f": {than} it does something else, in {_counted(len(entry.differences), 'respect')}"


def counts(before: Counts, after: Counts) -> str:
    """What mending did to the graphs."""
    mode = " in training mode" if before.training else ""
    return (
        f"graphs {before.graphs} -> {after.graphs}, break events {before.events} -> {after.events}, "
        f"break sites {len(before.sites)} -> {len(after.sites)}{mode}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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
