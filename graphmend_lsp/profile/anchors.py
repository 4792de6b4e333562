"""Measured lines, kept so that they are found again after the text was edited, or known to be out of date.

A line is held by the function that it stands in: as long as that function's own source is what it was, the line
is where it was in it, wherever in the file the function has moved to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from graphmend_lsp.profile.report import Report
from graphmend_lsp.profile.targets import Outline


@dataclass(frozen=True)
class Anchor:
    """A function as it was measured; ``function`` "" stands for what is in none, the whole text then."""

    path: str
    function: str
    digest: str
    first: int
    last: int
    ran: bool = True
    """Whether any of it was compiled; else only a finding is in it, which was not reached."""


@dataclass(frozen=True)
class Measured:
    """A report, the functions that it names lines of, and the texts that they were measured in, by path."""

    report: Report
    anchors: tuple[Anchor, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    asked: str = ""
    """The device that the user asked for; "" leaves the choice to what there is."""

    @property
    def found_no_cuda(self) -> bool:
        """Whether it ran on the CPU for want of a GPU."""
        return self.report.device == "cpu" and self.asked != "cpu"

    def line(self, path: str, line: int, now: Outline) -> int | None:
        """Where a measured line stands in the text as it is now; None if its function has changed."""
        anchor = self._anchor(path, line)
        if anchor is None:
            return None
        first = _first(anchor, now)
        return None if first is None else first + line - anchor.first

    def stale(self, current: Callable[[str], Outline | None]) -> bool:
        """Whether the entry, or a function that was compiled for it, has changed.

        ``current`` gives the outline of a file as it is now, None for those that nobody has open.
        """
        own = current(self.report.path)
        target = None if own is None else own.named(self.report.entry)
        if own is not None and (target is None or own.digest(target) != self.report.digest):
            return True
        for anchor in self.anchors:
            now = current(anchor.path) if anchor.ran else None
            if now is not None and _first(anchor, now) is None:
                return True
        return False

    def _anchor(self, path: str, line: int) -> Anchor | None:
        holding = (anchor for anchor in self.anchors if anchor.path == path and anchor.first <= line <= anchor.last)
        return min(holding, key=lambda anchor: anchor.last - anchor.first, default=None)


def _first(anchor: Anchor, now: Outline) -> int | None:
    """The first line of an anchor's function where its source is unchanged."""
    if not anchor.function:
        return anchor.first if _whole_digest(now) == anchor.digest else None
    same = [part for part in now.parts if part.name == anchor.function and now.digest(part) == anchor.digest]
    nearest = min(same, key=lambda part: abs(part.first - anchor.first), default=None)
    return None if nearest is None else nearest.first


def _whole_digest(outline: Outline) -> str:
    """Of a whole text."""
    return hashlib.sha256(outline.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def measured(report: Report, outlines: Callable[[str], Outline | None], asked: str = "") -> Measured:
    """A report with its anchors; ``outlines`` gives those of the texts that were measured, None for foreign files."""
    own = outlines(report.path)
    target = None if own is None else own.named(report.entry)
    if own is not None and target is not None:
        report = replace(report, digest=own.digest(target))
    anchors: dict[tuple[str, str, int], Anchor] = {}
    texts: dict[str, str] = {}
    for path, lines, ran in _lines(report):
        now = outlines(path)
        if now is None:
            continue
        texts[path] = now.text
        for line in lines:
            part = now.around(line)
            if part is None:
                anchor = Anchor(path, "", _whole_digest(now), 1, len(now.lines), ran)
            else:
                anchor = Anchor(path, part.name, now.digest(part), part.first, part.last, ran)
            key = (path, anchor.function, anchor.first)
            if key not in anchors or ran:
                anchors[key] = anchor
    return Measured(report, tuple(anchors.values()), texts, asked)


def _lines(report: Report) -> Iterable[tuple[str, Iterable[int], bool]]:
    """All lines that a report names, by path, and whether they were compiled or broke."""
    arm = report.original
    for graph in arm.graphs if arm is not None else ():
        yield from ((path, lines, True) for path, lines in graph.lines.items())
    for site in arm.sites if arm is not None else ():
        if site.line > 0:
            yield site.path, (site.line,), True
    for finding in report.findings:
        yield finding.path, (finding.line,), finding.status != "not-reached"
