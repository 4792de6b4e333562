"""The tables and lists in the work folder, and bench/SWEEP.md where asked for."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from compare import Compared, Judged, Site, key
from findings import Sources

KINDS = {
    "GM1": "tests on data (GM1xx)",
    "GM2": "output (GM2xx)",
    "GM3": "checks on data (GM3xx)",
    "GM4": "values read from tensors (GM4xx)",
    "GM5": "dynamic shapes (GM5xx)",
    "GM6": "others (GM6xx)",
}


def write(
    options: argparse.Namespace,
    work: Path,
    measured: list[dict[str, Any]],
    compared: Compared,
    arms: list[dict[str, Any]],
) -> None:
    sources = Sources(work / "site")
    (work / "misses.md").write_text(misses(compared, sources))
    (work / "false_alarms.md").write_text(false_alarms(compared, sources))
    focus = {site.file for site in compared.misses()} | {one.file for one in false(compared)}
    (work / "focus.json").write_text(json.dumps(sorted(focus)))
    parts = [
        summary(measured, compared, versions(options.python, options.package)),
        families(measured, compared),
        other_breaks(compared, sources),
        failures(measured),
    ]
    if arms:
        import mended
        import share

        parts.insert(1, share.table(work, measured, tuple(mended.MODES), KINDS))
        parts.insert(2, mended.table(arms))
    text = "\n\n".join(parts) + "\n"
    (work / "REPORT.md").write_text(text + "\n" + misses(compared, sources) + "\n" + false_alarms(compared, sources))
    (work / "results.json").write_text(json.dumps(as_json(measured, compared, arms), indent=1))
    if options.report:
        options.report.write_text((work / "REPORT.md").read_text())
    print(parts[0])
    print(f"\nThe lists are in {work}: misses.md, false_alarms.md, REPORT.md; results.json has everything.")


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def versions(python: str, packages: str) -> str:
    """The releases that the interpreter has."""
    names = ["torch", *packages.split(",")]
    code = f"import importlib.metadata as m; print(*(f'{{n}} {{m.version(n)}}' for n in {names!r}), sep=', ')"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or "releases unknown"


def summary(measured: list[dict[str, Any]], compared: Compared, releases: str) -> str:
    built = {f"{one['package']}/{one['name']}" for one in measured if "recipe" in one}
    tried = {f"{one['package']}/{one['name']}" for one in measured}
    by_arm = Counter(one["arm"] for one in measured if "graphs" in one)
    lines = [
        "# Sweep",
        "",
        f"{releases}, on a CPU. What is counted and how: [README.md](README.md#sweep-dynamo-as-the-judge).",
        "",
        f"{_share(len(built), len(tried))} architectures were built; measured under Dynamo: "
        + ", ".join(f"{count} in arm {arm}" for arm, count in by_arm.most_common())
        + ".",
        "",
        "| kind | sites | found | of them by Dynamo's reason alone | found |",
        "| --- | --- | --- | --- | --- |",
    ]
    for start in KINDS:
        lines.append(_recall_row(KINDS[start], [site for site in compared.sites if site.code.startswith(start)]))
    lines.append(_recall_row("**recall**", [site for site in compared.sites if site.counts]))
    lines += ["", "| kind | confirmed | false alarms | precision | break of another kind | masked | not reached |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for start in (*KINDS, "GM"):
        lines.append(_precision_row(start, [one for one in compared.judged if one.finding["code"].startswith(start)]))
    return "\n".join(lines)


def _recall_row(name: str, sites: list[Site]) -> str:
    strict = [site for site in sites if site.by_reason]
    cells = [str(len(sites)), _share(sum(bool(site.found) for site in sites), len(sites))]
    cells += [str(len(strict)), _share(sum(bool(site.found) for site in strict), len(strict))]
    return f"| {name} | " + " | ".join(cells) + " |"


def _precision_row(start: str, judged: list[Judged]) -> str:
    count = Counter(one.verdict for one in judged)
    wrong = count["false"] + count["only eager"]
    judged_number = count["confirmed"] + wrong
    cells = [count["confirmed"], wrong, _share(count["confirmed"], judged_number)]
    cells += [count["other"], count["masked"], count["not reached"]]
    return f"| {KINDS.get(start, '**precision**')} | " + " | ".join(str(cell) for cell in cells) + " |"


def _runs(runs: set[str]) -> str:
    names = sorted(runs)
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _source(sources: Sources, file: str, first: int, last: int) -> str:
    lines = sources.lines(file)[max(0, first - 3) : min(last, first + 12) + 2]
    return "\n".join(f"    {number:5} {line}" for number, line in enumerate(lines, max(1, first - 2)))


def misses(compared: Compared, sources: Sources) -> str:
    """Sites of GM1xx to GM6xx without a finding."""
    found = compared.misses()
    lines = [f"# Misses: {len(found)} of {sum(site.counts for site in compared.sites)} sites", ""]
    for site in sorted(found, key=lambda site: (site.code, site.file, site.line)):
        how = "" if site.by_reason else " (by its place in a test)"
        lines += [
            f"## {site.code}{how} {site.file}:{site.line} in {', '.join(sorted(site.functions))}",
            "",
            f"{site.events} events in {len(site.runs)} runs: {_runs(site.runs)}",
            "",
            f"Dynamo: {site.reason}",
            "",
            _source(sources, site.file, site.first, site.last),
            "",
        ]
    return "\n".join(lines)


_HOW = {"false": "Traced without a break", "only eager": "Ran in eager, but left out under Dynamo (no break at all)"}


def false(compared: Compared) -> list[Judged]:
    return [*compared.of("false"), *compared.of("only eager")]


def false_alarms(compared: Compared, sources: Sources) -> str:
    """Findings whose expression Dynamo went through without a break there."""
    found = false(compared)
    lines = [f"# False alarms: {len(found)}", ""]
    for one in sorted(found, key=lambda one: (one.finding["code"], one.file, one.finding["line"])):
        finding = one.finding
        lines += [
            f"## {finding['code']} {one.file}:{finding['line']}:{finding['column']} ({finding['entry']})",
            "",
            f"{_HOW[one.verdict]} in {len(one.runs)} runs: {_runs(one.runs)}",
            "",
            f"Message: {finding['message']}",
            "",
            "Evidence: " + "; ".join(finding["evidence"]),
            "",
            _source(sources, one.file, finding["line"], finding["end_line"]),
            "",
        ]
    return "\n".join(lines)


def families(measured: list[dict[str, Any]], compared: Compared) -> str:
    """Architectures by how many sites of GM1xx to GM6xx break them."""
    arms = {key(one): f"{one['package']}/{one['name']}" for one in measured}
    broken: dict[str, set[tuple[str, int, str]]] = {}
    for site in compared.sites:
        if site.counts:
            for run in site.runs:
                broken.setdefault(arms[run], set()).add((site.file, site.first, site.code))
    events = Counter[str]()
    for one in measured:
        if one["arm"] == "eval":
            events[arms[key(one)]] = len(one.get("breaks", ()))
    lines = ["## Architectures most broken by GM1xx to GM6xx", ""]
    lines += [
        "| architecture | sites | " + " | ".join(KINDS) + " | all break events in arm eval |",
        "| --- | --- |" + " --- |" * len(KINDS) + " --- |",
    ]
    for name, found in sorted(broken.items(), key=lambda item: (-len(item[1]), item[0]))[:60]:
        kinds = Counter(code[:3] for _, _, code in found)
        counts = " | ".join(str(kinds[start]) for start in KINDS)
        lines.append(f"| {name} | {len(found)} | {counts} | {events[name]} |")
    return "\n".join(lines)


def other_breaks(compared: Compared, sources: Sources) -> str:
    """Sites that no rule of today is for, and those outside of the packages."""
    rest = [site for site in compared.sites if not site.counts]
    lines = [f"## Breaks of other kinds: {len(rest)} sites", ""]
    for start in ("GM4", "GM5", "GM6"):
        part = [site for site in rest if site.code.startswith(start)]
        lines += [f"### {KINDS[start]}: {len(part)} sites", ""]
        for site in sorted(part, key=lambda site: -len(site.runs))[:60]:
            text = sources.line(site.file, site.line).strip()[:90]
            lines.append(f"- {site.file}:{site.line} `{text}`: {site.reason[:80]} ({len(site.runs)} runs)")
        lines.append("")
    lines += ["### Outside of the packages", ""]
    lines += [f"- {title[:100]}: {count} events" for title, count in Counter(compared.outside).most_common(20)]
    return "\n".join(lines)


def failures(measured: list[dict[str, Any]]) -> str:
    lines = ["## Not built, or not run", ""]
    for one in measured:
        if "not_built" in one:
            last = one["not_built"].strip().splitlines()[-1][:160]
            lines.append(f"- {key(one)}: not built: {last}")
        elif "error" in one or "compile_error" in one:
            text = (one.get("error") or one["compile_error"]).strip().partition("\n")[0][:160]
            lines.append(f"- {key(one)}: {'compiled: ' if 'compile_error' in one else ''}{text}")
        if one.get("differences") and one["arm"] != "train":
            lines.append(f"- {key(one)}: compiled differs from eager before any mending: {one['differences'][0][:160]}")
    return "\n".join(lines)


def as_json(measured: list[dict[str, Any]], compared: Compared, arms: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "sites": [
            {
                **vars(site),
                "runs": sorted(site.runs),
                "functions": sorted(site.functions),
                "found": [f["code"] for f in site.found],
            }
            for site in compared.sites
        ],
        "findings": [
            {"file": one.file, "verdict": one.verdict, "runs": sorted(one.runs), **one.finding}
            for one in compared.judged
        ],
        "mended": arms,
        "failed": {key(one): one.get("not_built") or one.get("error") for one in measured if "graphs" not in one},
    }
