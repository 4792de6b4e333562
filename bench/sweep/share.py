"""What share of all breaks mending removes, over every architecture that breaks, and why the rest is left."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import findings
import mended
import schedule
import sites
from findings import Finding, Sources

Place = tuple[str, int, str]  # file, first line of the statement, kind


@dataclass
class Arm:
    """The breaks of all architectures, before mending or after it."""

    events: Counter[str] = field(default_factory=Counter[str])
    sites: Counter[str] = field(default_factory=Counter[str])
    graphs: int = 0
    places: Counter[Place] = field(default_factory=Counter[Place])
    """Events at a place; a place counts as a site once for each architecture."""

    def add(self, one: dict[str, Any], sources: Sources, places: sites.Places) -> None:
        found = Counter(_places(one, sources, places))
        for place, count in found.items():
            self.events[place[2][:3]] += count
            self.sites[place[2][:3]] += 1
            self.places[place] += count
        self.graphs += one.get("graphs", 0)


def _places(one: dict[str, Any], sources: Sources, places: sites.Places) -> list[Place]:
    found: list[Place] = []
    for row in one.get("breaks", ()):
        where = sites.site_of(row, (one["package"],))
        if where is None or not sources.has(where[0]):
            found.append(("outside of the package", 0, "GM6"))
            continue
        statement = places.statement(where[0], where[1])
        first, last = (statement[0], statement[1]) if statement else (where[1], where[1])
        text = "\n".join(sources.line(where[0], number) for number in range(first, min(last, first + 30) + 1))
        found.append((where[0], first, sites.kind_of(row, statement, text)[0]))
    return found


def measured_after(work: Path, mode: str, one: dict[str, Any]) -> dict[str, Any] | None:
    """What was measured of an architecture in the mended copy; None where it uses no changed file, or failed."""
    name = schedule.place(work, one["package"], one["name"], one["arm"]).name
    after = schedule.read(work / f"mended-{mode}-measured" / one["package"] / name)
    changed = _changed(work, mode, one["package"])
    uses = changed & {place[0] for place in one["ran"]}
    return after if after is not None and uses and "graphs" in after else None


_kept_changes: dict[tuple[str, str], set[str]] = {}


def _changed(work: Path, mode: str, package: str) -> set[str]:
    """The files that mending has changed."""
    if (mode, package) not in _kept_changes:
        kept = schedule.read(work / f"mended-{mode}" / f"{package}.json") or {"files": []}
        site, original = work / f"mended-{mode}", work / "site"
        different = {f for f in kept["files"] if (site / f).read_bytes() != (original / f).read_bytes()}
        _kept_changes[mode, package] = different
    return _kept_changes[mode, package]


def table(work: Path, measured: list[dict[str, Any]], modes: tuple[str, ...], names: dict[str, str]) -> str:
    """For each mode: events and sites of all kinds, before and after; then what is left, and why."""
    broken = [one for one in measured if one["arm"] == "eval" and one.get("breaks")]
    if not broken:
        return ""
    original = Sources(work / "site")
    before = Arm()
    for one in broken:
        before.add(one, original, sites.Places(original))
    lines = [
        "## Share of all breaks that mending removes",
        "",
        f"All {len(broken)} architectures that break in arm eval, those included that use no mended file (nothing of"
        " theirs is removed). A site counts once for each architecture that it breaks.",
        "",
    ]
    lefts: list[str] = []
    for mode in modes:
        after, used, reasons = _after(work, mode, broken, original)
        lines += _mode(mode, before, after, used, names)
        lefts += _left(mode, reasons)
    return "\n".join([*lines, *lefts])


def _after(
    work: Path, mode: str, broken: list[dict[str, Any]], original: Sources
) -> tuple[Arm, int, dict[tuple[str, str], Counter[Place]]]:
    mended = Sources(work / f"mended-{mode}")
    places, untouched = sites.Places(mended), sites.Places(original)
    after, used = Arm(), 0
    for one in broken:
        there = measured_after(work, mode, one)
        used += there is not None
        if there is not None:
            after.add(there, mended, places)
        else:
            after.add(one, original, untouched)
    return after, used, _reasons(work, mode, after)


def _reasons(work: Path, mode: str, after: Arm) -> dict[tuple[str, str], Counter[Place]]:
    """The places that are left by kind and by why they are."""
    files = sorted({place[0] for place in after.places if place[1]})
    found = _found(work, mode, files)
    reasons: dict[tuple[str, str], Counter[Place]] = {}
    for place, count in after.places.items():
        here = [one for one in found.get(place[0], ()) if one["line"] <= place[1] <= one["end_line"]]
        here = here or [one for one in found.get(place[0], ()) if one["line"] - 3 <= place[1] <= one["line"] + 3]
        reasons.setdefault((place[2][:3], _why(here)), Counter())[place] += count
    return reasons


def _found(work: Path, mode: str, files: list[str]) -> dict[str, list[Finding]]:
    """Findings in the mended files, kept by the version of the tool and their content."""
    site, kept_at = work / f"mended-{mode}", work / f"mended-{mode}" / "left.json"
    key = findings.tool_version() + "".join(str((site / file).stat().st_size) for file in files)
    kept = schedule.read(kept_at) or {}
    if kept.get("key") != key:
        kept = {"key": key, "found": findings.check(site, files)}
        kept_at.write_text(json.dumps(kept))
    found: dict[str, list[Finding]] = kept["found"]
    return found


def _why(here: list[Finding]) -> str:
    if not here:
        return "no finding"
    offers = sorted({offer["kind"] for one in here for offer in one["offers"]})
    if offers:
        return f"the offer is unsafe ({', '.join(offers)})"
    refused = sorted({r["reason"] for one in here for r in one["refusals"] if r["kind"] != "capture"})
    return f"refused: {', '.join(refused)}" if refused else "no offer"


def _mode(mode: str, before: Arm, after: Arm, used: int, names: dict[str, str]) -> list[str]:
    events, left = before.events.total(), after.events.total()
    count, remaining = before.sites.total(), after.sites.total()
    lines = [
        f"### {mended.command(mode)}",
        "",
        f"- break events removed: {events - left} of {events} ({100 * (events - left) / events:.1f} %)",
        f"- sites removed: {count - remaining} of {count} ({100 * (count - remaining) / count:.1f} %)",
        f"- graphs: {before.graphs} before, {after.graphs} after; {used} of the architectures use a mended file",
        "",
        "| kind | events | sites |",
        "| --- | --- | --- |",
    ]
    for start, name in names.items():
        if before.events[start] or after.events[start]:
            lines.append(
                f"| {name} | {before.events[start]} → {after.events[start]} |"
                f" {before.sites[start]} → {after.sites[start]} |"
            )
    return [*lines, ""]


def _left(mode: str, reasons: dict[tuple[str, str], Counter[Place]]) -> list[str]:
    lines = [f"### Left after {mended.command(mode)}, and why", ""]
    lines += ["| kind | why | events | places | most of them |", "| --- | --- | --- | --- | --- |"]
    for (kind, why), places in sorted(reasons.items(), key=lambda item: -item[1].total()):
        first = ", ".join(f"{file.rpartition('/')[2]}:{line} ({n})" for (file, line, _), n in places.most_common(3))
        lines.append(f"| {kind}xx | {why} | {places.total()} | {len(places)} | {first} |")
    return [*lines, ""]
