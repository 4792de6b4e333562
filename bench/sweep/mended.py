"""The mended arms: `graphmend fix` of a copy of the package, its breaks, and its outputs against the original's."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import findings
import schedule
import sites
from compare import Compared, key
from findings import Sources

MODES = {"safe": (), "unsafe": ("--unsafe",), "symbols": ("--unsafe", "--symbols")}
CHUNK = 24


def command(mode: str) -> str:
    """What a user would say for a mode."""
    return " ".join(("graphmend fix", *MODES[mode]))


def measure(options: argparse.Namespace, work: Path, measured: list[dict[str, Any]], compared: Compared) -> None:
    """Mend what ran and has findings; measure every architecture that uses a mended file, in each arm that broke."""
    broken: set[str] = set().union(*(site.runs for site in compared.sites if site.counts))
    good = [one for one in measured if "graphs" in one and "compile_error" not in one and "eager_error" not in one]
    evaluated = [one for one in good if key(one) in broken or (one["arm"] == "eval" and not options.broken)]
    evaluated = [one for one in evaluated if not options.arms or one["arm"] in options.arms.split(",")]
    evaluated.sort(key=lambda one: -len(one.get("breaks", ())))
    for package in sorted({one["package"] for one in evaluated}):
        ours = [one for one in evaluated if one["package"] == package]
        for mode, arguments in MODES.items():
            changed = _mend(work, package, mode, arguments, compared)
            affected = [one for one in ours if changed.keys() & {place[0] for place in one["ran"]}]
            print(f"{package}, {mode}: {len(changed)} files mended, {len(affected)} runs use them", flush=True)
            _references(options, work, package, affected)
            tasks = [_task(work, one, "mended", mode, _key(one, changed)) for one in affected]
            schedule.run_all(options.python, package, work / f"mended-{mode}", _undone(tasks), options.workers)


def _key(one: dict[str, Any], changed: dict[str, str]) -> str:
    """What a measurement depends on: the mended files that the architecture runs."""
    ran = {place[0] for place in one["ran"]}
    text = "\n".join(f"{file} {changed[file]}" for file in sorted(changed.keys() & ran))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _undone(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that have not been measured yet with these files."""
    left = [task for task in tasks if (schedule.read(Path(task["out"])) or {}).get("key") != task["key"]]
    for task in left:
        Path(task["out"]).unlink(missing_ok=True)
    return left


def _task(work: Path, one: dict[str, Any], arm: str, mode: str = "", made_of: str = "") -> dict[str, Any]:
    plain = schedule.place(work, one["package"], one["name"], one["arm"]).name.removesuffix(".json")
    folder = work / (f"mended-{mode}-measured" if mode else "references") / one["package"]
    return {
        "package": one["package"],
        "name": one["name"],
        "arm": arm,
        "variant": one["arm"],
        "key": made_of,
        "seconds": 300,
        "recipe": one["recipe"],
        "reference": str(work / "references" / one["package"] / f"{plain}.pt"),
        "out": str(folder / f"{plain}.json"),
    }


def _references(options: argparse.Namespace, work: Path, package: str, affected: list[dict[str, Any]]) -> None:
    tasks = [_task(work, one, "reference") for one in affected]
    (work / "references" / package).mkdir(parents=True, exist_ok=True)
    schedule.run_all(options.python, package, None, _undone(tasks), options.workers)


def _mend(work: Path, package: str, mode: str, arguments: tuple[str, ...], compared: Compared) -> dict[str, str]:
    """Mend the files with offers in a copy, all again for a new version of the tool. The hashes of what changed."""
    site, kept_at, original = work / f"mended-{mode}", work / f"mended-{mode}" / f"{package}.json", work / "site"
    # what is only offered to those who ask for symbols is not among the offers of the findings
    offered = [one for one in compared.judged if one.finding["offers"] or mode == "symbols"]
    ours = {one.file for one in offered if one.file.startswith(f"{package}/")}
    version = findings.tool_version()
    kept = schedule.read(kept_at) or {}
    if kept.get("tool") != version:
        shutil.rmtree(site / package, ignore_errors=True)
        shutil.copytree(original / package, site / package, copy_function=os.symlink)
        kept = {"tool": version, "files": []}
    todo = sorted(ours - set(kept["files"]))
    for number in range(0, len(todo), CHUNK):
        chunk = todo[number : number + CHUNK]
        for file in chunk:
            (site / file).unlink()
            shutil.copyfile(original / file, site / file)
        command = [sys.executable, "-m", "graphmend_lsp", "fix", *arguments, *chunk]
        done = subprocess.run(command, cwd=site, capture_output=True, text=True)
        print(f"fix {mode}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}", flush=True)
        kept["files"] += chunk
        kept_at.write_text(json.dumps(kept))
    hashes = {file: hashlib.sha256((site / file).read_bytes()).hexdigest() for file in kept["files"]}
    return {file: one for file, one in hashes.items() if (site / file).read_bytes() != (original / file).read_bytes()}


def load(work: Path) -> list[dict[str, Any]]:
    """One row an architecture and mode, with what the original had."""
    rows: list[dict[str, Any]] = []
    original = Sources(work / "site")
    for mode in MODES:
        mended = Sources(work / f"mended-{mode}")
        for path in sorted((work / f"mended-{mode}-measured").glob("*/*.json")):
            one = schedule.read(path)
            if one is None:
                continue
            before = schedule.read(schedule.place(work, one["package"], one["name"], one["variant"])) or {}
            rows.append(_row(mode, before, one, original, mended))
    return rows


def _row(
    mode: str, before: dict[str, Any], after: dict[str, Any], original: Sources, mended: Sources
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": f"{after['package']}/{after['name']}.{after['variant']}", "mode": mode}
    if "error" in after or "not_built" in after:
        return row | {"error": after.get("error") or after["not_built"]}
    row["before"], row["after"] = _counts(before, original), _counts(after, mended)
    row["graphs"] = [before.get("graphs"), after["graphs"]]
    row["operators"] = [before.get("operators"), after["operators"]]
    row["tensors"] = after["tensors"]
    row["eager_differences"], row["compiled_differences"] = after["eager_differences"], after["compiled_differences"]
    row["differences_before"] = before.get("differences", [])
    return row


def _counts(one: dict[str, Any], sources: Sources) -> dict[str, int]:
    """Break sites by the group of their kind."""
    places = sites.Places(sources)
    found: set[tuple[str, int, str]] = set()
    for row in one.get("breaks", ()):
        where = sites.site_of(row, (one["package"],))
        if where and sources.has(where[0]):
            statement = places.statement(where[0], where[1])
            first, last = (statement[0], statement[1]) if statement else (where[1], where[1])
            text = "\n".join(sources.line(where[0], number) for number in range(first, last + 1))
            found.add((where[0], first, sites.kind_of(row, statement, text)[0][:3]))
    return dict(Counter(kind for _, _, kind in found))


def _counted(counts: dict[str, int]) -> int:
    return sum(counts.get(kind, 0) for kind in ("GM1", "GM2", "GM3"))


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["## Mended", ""]
    for mode in MODES:
        lines += _mode([row for row in rows if row["mode"] == mode], mode)
    return "\n".join(lines)


def _mode(rows: list[dict[str, Any]], mode: str) -> list[str]:
    good = [row for row in rows if "error" not in row]
    before, after = sum(_counted(row["before"]) for row in good), sum(_counted(row["after"]) for row in good)
    removed = f"{before - after} of {before}" + (f" ({100 * (before - after) / before:.0f} %)" if before else "")
    tensors = sum(row["tensors"] for row in good)
    lines = [
        f"### {command(mode)}: {len(rows)} runs that use changed files",
        "",
        f"- GM1xx to GM3xx sites removed (counted for each run): {removed}",
        f"- graphs: {sum(row['graphs'][0] for row in good)} before, {sum(row['graphs'][1] for row in good)} after",
        f"- tensors compared bit by bit: {tensors}; runs that differ in eager: "
        f"{sum(bool(row['eager_differences']) for row in good)}, compiled: "
        f"{sum(bool(row['compiled_differences']) for row in good)}; failed: {len(rows) - len(good)}",
        "",
    ]
    for row in rows:
        name = row["name"]
        if "error" in row:
            lines.append(f"- **FAILED** {name}: {row['error'][:300]}")
            continue
        if row["eager_differences"]:
            lines.append(f"- **DIFFERS in eager** {name}: {'; '.join(row['eager_differences'][:3])[:300]}")
        if row["compiled_differences"]:
            known = " (as before mending)" if row["differences_before"] else ""
            lines.append(f"- **DIFFERS compiled**{known} {name}: {'; '.join(row['compiled_differences'][:3])[:300]}")
    lines += ["", "| run | GM1-3 sites | other sites | graphs |", "| --- | --- | --- | --- |"]
    for row in sorted(good, key=lambda row: -_counted(row["before"])):
        if _counted(row["before"]) or _counted(row["after"]):
            others = [sum(row[when].values()) - _counted(row[when]) for when in ("before", "after")]
            lines.append(
                f"| {row['name']} | {_counted(row['before'])} → {_counted(row['after'])} | {others[0]} → {others[1]} | "
                f"{row['graphs'][0]} → {row['graphs'][1]} |"
            )
    return [*lines, ""]
