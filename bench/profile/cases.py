"""``graphmend profile`` on labelled cases: are the measured break sites the labelled ones?

    python bench/profile/cases.py FOLDER [NAME ...]

A case is as in bench/cases.py; ``expect`` holds the lines that break over all inputs, ``graphs_before`` the graphs that
``example_inputs()`` gives.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def profiled(before: Path, case: dict[str, Any], functions: list[str]) -> dict[str, Any]:
    """The report as JSON."""
    command = [sys.executable, "-m", "graphmend_lsp", "profile", f"{before}::{case['entry']}", "--no-compare"]
    command += ["--no-timing", "--json", "--device", "cpu", "--python", sys.executable]
    command += ["--training"] if case.get("mode") == "train" or case.get("grad") else []
    for name in functions:
        command += ["--inputs", f"{before}::{name}"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return json.loads(answer.stdout) if answer.stdout else {"original": None, "failure": answer.stderr[-300:]}


def judged(folder: Path) -> tuple[str, list[str]]:
    """The case's name, and what differs from its labels."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    before = folder / "before.py"
    text = before.read_text(encoding="utf-8")
    names = [name for name in ("example_inputs", "more_inputs") if f"def {name}(" in text]
    report = profiled(before, case, names)
    if report["original"] is None:
        return folder.name, [f"no profile: {report['failure']}"]
    problems: list[str] = []
    found = {site["line"] for site in report["original"]["sites"] if site["path"] == str(before)}
    wanted = {row["line"] for row in case["expect"]}
    if found - set(case.get("may_flag", ())) != wanted:
        problems.append(f"lines {sorted(found)}, labelled {sorted(wanted)}")
    graphs = len(report["original"]["graphs"])
    if graphs != case["graphs_before"]:
        problems.append(f"{graphs} graphs, labelled {case['graphs_before']}")
    return folder.name, problems


def main() -> int:
    top, *names = sys.argv[1:]
    folders = [path.parent for path in sorted(Path(top).resolve().glob("*/case.json"))]
    folders = [folder for folder in folders if not names or folder.name in names]
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(judged, folders))
    for name, problems in rows:
        if problems:
            print(f"{name}: {'; '.join(problems)}")
    print(f"{sum(not problems for _, problems in rows)} of {len(rows)} cases as labelled")
    return 0 if all(not problems for _, problems in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
