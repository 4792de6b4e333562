"""bench/DIFFERENTIAL.md: what the long run ran, and what it found."""

from __future__ import annotations

import collections
import platform
from pathlib import Path
from typing import Any

NAMES = {"where": "[Where]", "defer": "[Defer]", "trap": "[Trap]"}


def write(path: Path, summary: dict[str, Any], jobs: int) -> None:
    counts, failures = summary["counts"], summary["failures"]
    totals, breaks = counts["totals"], counts["breaks"]
    crashes = sum(failure["kind"] in ("crash", "syntax") for failure in failures)
    lines = [
        "# Differential testing",
        "",
        "Made by `make bench-differential`; [README.md](README.md) says what is run and compared.",
        "",
        f"{totals['modules']:,} random modules, {totals['mends']:,} mends (each safe offer alone, and all together), "
        f"{totals['runs']:,} runs; {totals['inductor']:,} modules with inductor, too. A call raised in "
        f"{totals['raised']:,} of the originals. "
        f"**{len(failures) - crashes} differences in behaviour, {crashes} crashes.** "
        f"{counts['milliseconds']['all'] / 1000:,.0f} s of CPU, {jobs} processes; torch {_torch()}, "
        f"Python {platform.python_version()}, {platform.system()}.",
        "",
        "| transformation | modules | sites | mended by a safe offer | |",
        "| --- | --- | --- | --- | --- |",
    ]
    every, mended = 0, 0
    for name, shown in NAMES.items():
        sites = {k.partition(" ")[2]: n for k, n in counts["sites"].items() if k.startswith(f"{name} ")}
        total, safe = sum(sites.values()), sites.get("safe", 0)
        every, mended = every + total, mended + safe
        lines.append(f"| {shown} | {counts['modules'][name]:,} | {total:,} | {safe:,} | {_share(safe, total)} |")
    lines.append(f"| all | {totals['modules']:,} | {every:,} | {mended:,} | {_share(mended, every)} |")
    if breaks["modules"]:
        lines += [
            "",
            f"Graph breaks of {breaks['modules']:,} modules with a safe offer, over all calls: {breaks['before']:,} "
            f"before, {breaks['after']:,} after.",
        ]
    lines += ["", "## Sites without a safe offer, by reason", "", "| | reason | sites |", "| --- | --- | --- |"]
    for name, shown in NAMES.items():
        reasons: collections.Counter[str] = collections.Counter()
        for key, number in counts["sites"].items():
            kind, _, outcome = key.partition(" ")
            if kind == name and outcome != "safe":
                reasons[outcome] += number
        lines += [f"| {shown} | {reason} | {number:,} |" for reason, number in reasons.most_common()]
    lines += ["", "## Constructs", "", "| construct | modules |", "| --- | --- |"]
    lines += [f"| {name} | {number:,} |" for name, number in sorted(counts["constructs"].items())]
    if failures:
        lines += ["", "## Differences", "", "| seed | what | applied |", "| --- | --- | --- |"]
        for failure in failures[:200]:
            what = " ".join(failure["what"].split()).replace("|", "\\|")[:300]
            lines.append(f"| {failure['seed']} | {failure['kind']}: {what} | {', '.join(failure['applied'])} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"


def _torch() -> str:
    import torch

    return torch.__version__
