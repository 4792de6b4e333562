"""Profiles as text, for a terminal and for an editor's hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from graphmend_lsp.profile.report import Arm, Report, Site
from graphmend_lsp.profile.words import (
    RATIOS,
    STATUS,
    Row,
    against_eager,
    counted,
    device,
    found,
    mode,
    one_line,
    risk,
    rows,
    seconds,
    timed,
    times,
    warnings,
    why_not_mended,
)

_MOST = 20
_LAST = 8
"""Lines of output that a failure shows."""


class Paint(Protocol):
    """Puts a style on a text, or leaves it as it is."""

    def __call__(self, text: str, *styles: str) -> str: ...


def _plain(text: str, *styles: str) -> str:
    del styles
    return text


def headline(report: Report) -> str:
    """The profile in one line: graphs, cold start, steady state, and the device that the times are of."""
    if report.failure is not None or report.original is None:
        message = report.failure.message if report.failure is not None else "no numbers"
        return f"not profiled: {one_line(message, 100)}"
    parts = [_graphs(report.original) + (f" -> mended: {_graphs(report.mended)}" if report.mended else "")]
    spent = _ratios(report) if report.mended else _spent(report.original)
    if spent:
        parts.append(spent)
    if report.same_result is False and report.mended is not None:
        parts.append("results differ")
    why = why_not_mended(report)
    if why:
        parts.append(one_line(why, 100))
    label = device(report) if spent else ""
    # the name of a CPU is for the long form: here it would hide that it is no GPU
    label = "CPU" if label and report.device == "cpu" else label
    return "; ".join(parts) + (f" ({label})" if label else "")


@dataclass(frozen=True)
class Writer:
    """Writes reports: ``paint`` colours, ``shown`` shortens a path."""

    paint: Paint = _plain
    shown: Callable[[str], str] = str

    def lines(self, report: Report) -> Iterator[str]:
        """The whole report."""
        path = self.shown(report.path)
        name = self.paint(f"{path}::{report.entry}" if report.entry else path, "bold")
        failed = report.failure is not None or report.original is None
        yield f"{name}: {self.paint(headline(report), *(('red',) if failed else ()))}"
        if report.original is not None:
            yield from self._measured(report, report.original)
        elif report.failure is not None and one_line(report.failure.message, 100).endswith("…"):
            yield from (f"  {one_line(line, 500)}" for line in report.failure.message.splitlines() if line.strip())
        if report.inputs:
            yield f"  inputs: {one_line(report.inputs)}{f', {mode(report)}' if mode(report) else ''}"
        for line in report.output[-_LAST:] if failed else ():
            yield f"  printed: {one_line(line, 300)}"
        for note in report.notes:
            yield f"  note: {one_line(note, 300)}"
        made_with = ", ".join(_environment(report))
        if made_with:
            yield f"  {made_with}"

    def _measured(self, report: Report, original: Arm) -> Iterator[str]:
        for warning in warnings(report):
            yield f"  {self.paint('warning', 'bold', 'yellow')}: {warning}"
        yield from self._table(rows(report), with_mended=report.mended is not None)
        gain = against_eager(report)
        if gain:
            yield f"  {gain}"
        if report.mended is not None and any(row.ratio for row in rows(report)):
            yield f"  {RATIOS}"
        for arm_name, arm in (("original", original), ("mended", report.mended)):
            if arm is not None and arm.untimed:
                yield f"  {arm_name} not timed: {one_line(arm.untimed)}"
        yield from self._sites("breaks", report, original)
        for again in original.recompiles[:_MOST]:
            yield f"  recompiled: {again.function} ({self.shown(again.path)}:{again.line}): {one_line(again.reason)}"
        yield from _more(len(original.recompiles))
        if report.mended is not None:
            yield from self._sites("still breaks", report, report.mended)
        for row in report.applied:
            danger = f" ({one_line(risk(row))})" if risk(row) else ""
            yield f"  applied: {self.shown(row.path)}:{row.line} {row.code} {one_line(row.title)}{danger}"
        if report.left and report.mended is not None:
            yield f"  left: {counted(report.left, 'finding')} without an applied fix"
        yield from self._findings(report, original)

    def _table(self, table: tuple[Row, ...], *, with_mended: bool) -> Iterator[str]:
        names = ("original", "mended", "ratio") if with_mended else ("original",)
        cells = [("", *names)]
        cells += [(row.name, row.original, row.mended, row.ratio)[: len(names) + 1] for row in table]
        widths = [max(len(row[column]) for row in cells) for column in range(len(names) + 1)]
        for number, row in enumerate(cells):
            # numbers to the right, but what follows a ratio must not push it out of its column
            right = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:3], widths[1:3], strict=True))
            line = f"  {row[0]:<{widths[0]}}  {right}  {''.join(row[3:])}".rstrip()
            yield self.paint(line, "dim") if number == 0 else line

    def _sites(self, verb: str, report: Report, arm: Arm) -> Iterator[str]:
        for site in arm.sites[:_MOST]:
            again = counted(site.events, "time") if site.events > 1 else ""
            more = ", ".join(part for part in (again, found(report, site)) if part)
            number = f" {site.gb}" if site.gb else ""
            yield (
                f"  {self.paint(verb, 'yellow')}: {self._where(site)}: {one_line(site.reason)}{number}"
                f"{f' ({more})' if more else ''}"
            )
        yield from _more(len(arm.sites))

    def _where(self, site: Site) -> str:
        if not site.path or not site.line:
            return self.shown(site.path) if site.path else "no place named"
        function = f" in {site.function}" if site.function else ""
        return f"{self.shown(site.path)}:{site.line}{function}"

    def _findings(self, report: Report, arm: Arm) -> Iterator[str]:
        """Those that no break site has named already."""
        sites = {(site.path, site.line) for site in arm.sites}
        shown = [row for row in report.findings if row.status != "confirmed" or (row.path, row.line) not in sites]
        for row in shown[:_MOST]:
            yield f"  finding: {self.shown(row.path)}:{row.line} {row.code}: {STATUS[row.status]}"
        yield from _more(len(shown))


def _graphs(arm: Arm) -> str:
    graphs = counted(len(arm.graphs), "graph")
    return f"{graphs}, {counted(arm.events, 'break')}" if arm.events else graphs


def _ratios(report: Report) -> str:
    parts: list[str] = []
    if report.cold_ratio is not None:
        parts.append(f"cold {times(report.cold_ratio)}")
    if report.steady_ratio is not None:
        within = " (within noise)" if report.within_noise else ""
        parts.append(f"steady {times(report.steady_ratio)}{within}")
    return ", ".join(parts)


def _spent(arm: Arm) -> str:
    parts: list[str] = []
    if arm.cold is not None:
        parts.append(f"cold {seconds(arm.cold, 2)}")
    if arm.compiled is not None:
        eager = f" (eager {seconds(arm.eager.median, 2)})" if arm.eager is not None else ""
        parts.append(f"{seconds(arm.compiled.median, 2)} a call{eager}")
    return ", ".join(parts)


def _environment(report: Report) -> Iterator[str]:
    if device(report):
        yield device(report)
    if report.torch:
        yield f"torch {report.torch}"
    if report.python:
        yield f"Python {report.python}"
    if report.backend and (timed(report.original) or timed(report.mended)):
        yield report.backend
    if report.seconds:
        yield f"{report.seconds:.1f} s"


def _more(number: int) -> Iterator[str]:
    if number > _MOST:
        yield f"    and {number - _MOST} more (in the JSON report)"
