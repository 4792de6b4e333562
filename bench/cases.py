"""``graphmend verify`` on labelled cases: does the verdict agree with the label?

    python bench/cases.py FOLDER [--jobs N] [OPTION OF graphmend verify ...]      (or: make bench-cases CASES=FOLDER)

A case is a folder with ``before.py``, ``case.json`` (``entry``; ``offer``: safe, unsafe or refuse; ``repeat``), and
perhaps ``after.py`` (a right rewrite, unless ``after_changes`` says how it is not exact) and ``wrong.py`` (one that
changes behaviour).  Expected are: mended "safe" cases the same with no break site left but for the lines whose own
``offer`` is another, others unchanged; ``after.py`` the same; ``wrong.py`` different.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INPUTS = ("example_inputs", "more_inputs", "failing_inputs")


@dataclass(frozen=True)
class Trial:
    folder: Path
    file: str
    wanted: str
    stay: int = 0
    """Lines that break and that no safe offer mends."""

    def run(self, options: list[str]) -> dict[str, Any]:
        """The report on the case's entry."""
        case = json.loads((self.folder / "case.json").read_text(encoding="utf-8"))
        before = self.folder / "before.py"
        text = before.read_text(encoding="utf-8")
        command = [sys.executable, "-m", "graphmend_lsp", "verify", f"{before}::{case['entry']}"]
        command += [
            "--output-format",
            "json",
            "--python",
            sys.executable,
            "--calls",
            str(max(2, case.get("repeat", 1))),
        ]
        if self.file != "before.py":
            command += ["--against", str(self.folder / self.file)]
        for name in _INPUTS:
            if f"def {name}(" in text:
                command += ["--inputs", f"{before}::{name}"]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        try:
            (entry,) = json.loads(done.stdout)["files"][0]["entries"]
        except (ValueError, LookupError):
            entry = {"verdict": "failed", "reason": done.stderr[-300:], "differences": [], "runs": {}}
        return entry


def trials(folder: Path) -> list[Trial]:
    found: list[Trial] = []
    for path in sorted(folder.glob("*/case.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        wanted = "same" if case["offer"] == "safe" else "unchanged"
        stay = sum(line.get("offer", case["offer"]) != "safe" for line in case["expect"])
        found.append(Trial(path.parent, "before.py", wanted, stay))
        if (path.parent / "after.py").exists():
            found.append(Trial(path.parent, "after.py", "any" if case.get("after_changes") else "same"))
        if (path.parent / "wrong.py").exists():
            found.append(Trial(path.parent, "wrong.py", "different"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments, options = parser.parse_known_args()
    started = time.monotonic()
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong = 0
    chosen = trials(arguments.folder)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for trial, entry in zip(chosen, pool.map(lambda trial: trial.run(options), chosen), strict=True):
            counts[trial.file, trial.wanted, entry["verdict"]] += 1
            left = (entry.get("after") or {}).get("sites", [])
            good = trial.wanted in ("any", entry["verdict"]) and (trial.wanted != "same" or len(left) <= trial.stay)
            wrong += not good
            print(
                f"{'ok  ' if good else 'FAIL'} {trial.folder.name} {trial.file}: {entry['verdict']} {entry['reason']}"
            )
            for row in [] if good else [*entry["differences"][:4], *left]:
                print(f"       {row}")
    for (file, wanted, verdict), number in sorted(counts.items()):
        print(f"{number:4} {file:10} expected {wanted:10} {verdict}")
    print(f"{len(chosen) - wrong} agree, {wrong} do not; {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
