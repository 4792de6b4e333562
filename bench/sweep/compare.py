"""Measured breaks against findings: what was missed, what was a false alarm, what cannot be judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import schedule
import sites
from findings import Finding, Sources

KINDS = ("GM1", "GM2", "GM3", "GM4", "GM5", "GM6")
"""Kinds of breaks that have rules."""
DYNAMO_ARMS = ("eval", "train", "half", "odd")


@dataclass
class Site:
    """A line that breaks graphs, over all architectures and arms."""

    file: str
    line: int
    code: str
    by_reason: bool
    reason: str
    first: int
    last: int
    events: int = 0
    runs: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    found: list[Finding] = field(default_factory=list)

    @property
    def counts(self) -> bool:
        """Whether it is of a kind that has rules today."""
        return self.code[:3] in KINDS


@dataclass
class Judged:
    """A finding with what the measurements say: confirmed, other, false, only eager, masked or not reached."""

    file: str
    finding: Finding
    verdict: str
    runs: set[str] = field(default_factory=set)


@dataclass
class Compared:
    sites: list[Site]
    judged: list[Judged]
    outside: dict[str, int]  # breaks that no line of the packages stands for

    def misses(self) -> list[Site]:
        return [site for site in self.sites if site.counts and not site.found]

    def of(self, verdict: str) -> list[Judged]:
        return [one for one in self.judged if one.verdict == verdict]


def load(work: Path, packages: list[str], only: str = "") -> list[dict[str, Any]]:
    """All that was measured under Dynamo."""
    import re

    found: list[dict[str, Any]] = []
    for package in packages:
        for path in sorted((work / "measured" / package).glob("*.json")):
            one = schedule.read(path)
            if one and one["arm"] in DYNAMO_ARMS and re.search(only, one["name"]):
                found.append(one)
    return found


def key(one: dict[str, Any]) -> str:
    return f"{one['package']}/{one['name']}.{one['arm']}"


def compare(measured: list[dict[str, Any]], found: dict[str, list[Finding]], sources: Sources) -> Compared:
    places = sites.Places(sources)
    packages = tuple({one["package"] for one in measured})
    merged, outside = _sites(measured, packages, sources, places)
    at: dict[str, list[Site]] = {}
    for site in merged:
        at.setdefault(site.file, []).append(site)
        site.found = [finding for finding in found.get(site.file, ()) if _matches(finding, site)]
    judged = _judge(measured, found, at, sources)
    return Compared(merged, judged, outside)


def _sites(
    measured: list[dict[str, Any]], packages: tuple[str, ...], sources: Sources, places: sites.Places
) -> tuple[list[Site], dict[str, int]]:
    merged: dict[tuple[str, int, str], Site] = {}
    outside: dict[str, int] = {}
    for one in measured:
        for row in one.get("breaks", ()):
            where = sites.site_of(row, packages)
            if where is None or not sources.has(where[0]):
                outside[row["titles"][0]] = outside.get(row["titles"][0], 0) + 1
                continue
            file, line, function = where
            statement = places.statement(file, line)
            first, last = (statement[0], statement[1]) if statement else (line, line)
            text = "\n".join(sources.line(file, number) for number in range(first, min(last, first + 30) + 1))
            code, by_reason = sites.kind_of(row, statement, text)
            site = merged.get((file, first, code))
            if site is None:
                reason = f"{' '.join(row['ids'][:1])} {row['titles'][0]}: {row['context'][:160]}"
                site = merged[file, first, code] = Site(file, line, code, by_reason, reason, first, last)
            site.events += 1
            site.by_reason = site.by_reason or by_reason
            site.runs.add(key(one))
            site.functions.add(function)
    return sorted(merged.values(), key=lambda site: (site.file, site.first)), outside


def _matches(finding: Finding, site: Site) -> bool:
    """Same statement, and the same sort of break: side effects, or tests on data."""
    inside = site.first <= finding["line"] <= site.last or finding["line"] <= site.line <= finding["end_line"]
    return inside and (finding["code"][:3] == "GM2") == (site.code[:3] == "GM2")


def _covers(finding: Finding, site: Site) -> bool:
    return site.first <= finding["line"] <= site.last or finding["line"] <= site.line <= finding["end_line"]


def _judge(
    measured: list[dict[str, Any]], found: dict[str, list[Finding]], at: dict[str, list[Site]], sources: Sources
) -> list[Judged]:
    traced: dict[str, sites.Evaluated] = {}
    ran: dict[str, sites.Evaluated] = {}
    touched: dict[str, set[str]] = {}
    for one in measured:
        name = key(one)
        for store, part in ((traced, "traced"), (ran, "ran")):
            store[name] = sites.Evaluated()
            store[name].add(one.get(part, []))
            for file in {place[0] for place in one.get(part, [])}:
                touched.setdefault(file, set()).add(name)
    clean = {key(one) for one in measured if not one.get("breaks") and one.get("graphs") and "compile_error" not in one}
    judged: list[Judged] = []
    for file, findings in found.items():
        for finding in findings:
            if finding["code"][:3] not in KINDS:
                continue
            runs = touched.get(file, set())
            judged.append(_verdict(file, finding, at.get(file, []), sources, runs, traced, ran, clean))
    return judged


def _verdict(
    file: str,
    finding: Finding,
    at: Iterable[Site],
    sources: Sources,
    runs: set[str],
    traced: dict[str, sites.Evaluated],
    ran: dict[str, sites.Evaluated],
    clean: set[str],
) -> Judged:
    here = [site for site in at if _covers(finding, site)]
    same = [site for site in here if _matches(finding, site)]
    if same:
        return Judged(file, finding, "confirmed", set().union(*(site.runs for site in same)))
    seen = {name for name in runs if sites.was_evaluated(finding, file, sources, traced[name])}
    if here:
        return Judged(file, finding, "other", set().union(*(site.runs for site in here)))
    if seen:
        return Judged(file, finding, "false", seen)
    seen = {name for name in runs if sites.was_evaluated(finding, file, sources, ran[name])}
    if seen & clean:  # it ran, but nothing of it was left to trace in a run without any break
        return Judged(file, finding, "only eager", seen & clean)
    return Judged(file, finding, "masked" if seen else "not reached", seen)
