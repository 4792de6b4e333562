"""Reproduce Table 2 of the GraphMend paper as far as it can be built offline, and write bench/RESULTS.md.

    python bench/table2 --python INTERPRETER [--work DIR] [--models NAME,...] [--no-time] [--fresh]

INTERPRETER has torch and transformers==4.52.4 (and chronos-forecasting==1.5.3 for one row); the Python that runs this
has graphmend_lsp. Finished measurements are kept in the work folder and not repeated. bench/README.md says what is
measured. Exit status: 0 if all targets and checks hold, 1 if not.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import report
import rows
import runs
import sites
from judge import Measured

ARMS = {"safe": [], "unsafe": ["--unsafe"]}


class Bench:
    """All measurements of the chosen rows."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.table = rows.load(options.data)
        if options.models:
            self.table = self.table.chosen(options.models.split(","))
        self.work: Path = options.work.resolve()
        self.python = runs.interpreter(options.python)
        self.runner = runs.Runner(self.python, self.work, fresh=options.fresh)
        self.jobs: int = options.jobs
        self.measured = {name: Measured(name, build) for name, build in self.table.builds.items()}
        self.arms: dict[str, sites.Site] = {}
        self.start = time.perf_counter()

    def say(self, text: str) -> None:
        print(f"[{time.perf_counter() - self.start:5.0f} s] {text}", flush=True)

    def count(self) -> None:
        """Everything but the times."""
        site = self.arms["original"] = sites.original(self.work)
        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda one: self._original(one, site), self.measured.values()))
        files = sorted({file for one in self.measured.values() for file in one.ran})
        with ThreadPoolExecutor(self.jobs) as pool:
            made = pool.map(lambda arm: sites.mended(self.work, arm, self.python.packages, files, ARMS[arm]), ARMS)
            self.arms |= zip(ARMS, made, strict=True)
        for arm in ARMS:
            self.say(f"mended, {arm}: {self.arms[arm].printed.splitlines()[0]}")
        self._write_diffs()
        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(self._mended, self.measured.values()))
        for arm in ARMS:
            left = sorted({file for one in self.measured.values() for file in one.broken_files(arm)})
            found = sites.findings(self.arms[arm], left)
            for one in self.measured.values():
                one.findings[arm] = found

    def _original(self, one: Measured, site: sites.Site) -> None:
        for mode in ("eager", "compiled"):
            one.answers["original", mode] = self.runner.measure(one.name, one.build, mode, site, [])
        self.say(f"{one.name}: original, {one.breaks('original')} breaks")

    def _mended(self, one: Measured) -> None:
        for arm in ARMS:
            site = self.arms[arm]
            for mode in ("eager", "compiled", "fullgraph"):
                if mode != "fullgraph" or (arm == "safe" and one.breaks(arm) == 0):
                    one.answers[arm, mode] = self.runner.measure(
                        one.name, one.build, mode, site, [*one.imported, *_RUNTIME]
                    )
        self.say(f"{one.name}: {one.breaks('original')} breaks, mended {one.breaks('safe')}, {one.breaks('unsafe')}")

    def time(self, mode: str, calls: int) -> None:
        """Cold start and steady state, one process after the other."""
        for one in self.measured.values():
            arms = ["original", "safe"]
            if one.breaks("unsafe") != one.breaks("safe"):
                arms.append("unsafe")
            for arm in arms:
                site = self.arms[arm]
                files = [*one.imported, *_RUNTIME] if arm != "original" else []
                one.answers[arm, "time"] = self.runner.measure(
                    one.name, one.build, "time", site, files, mode=mode, calls=calls, warm_up=3
                )
            self.say(f"{one.name}: {one.time_in_words()}")

    def write(self, out: Path, mode: str) -> tuple[str, bool]:
        """The report, and everything measured as JSON in the work folder; whether all targets and checks hold."""
        text, held = report.written(self.table, self.measured, self.python.releases, mode)
        out.write_text(text, encoding="utf-8")
        everything = {
            name: {f"{arm} {mode}": answer for (arm, mode), answer in one.answers.items()}
            for name, one in self.measured.items()
        }
        (self.work / "results.json").write_text(json.dumps(everything, indent=1), encoding="utf-8")
        return text, held

    def _write_diffs(self) -> None:
        """What mending changed, for whoever wants to read it."""
        for arm in ARMS:
            made: list[str] = []
            for file in sorted(self.arms[arm].changed):
                package, _, rest = file.partition("/")
                before = self.python.packages[package] / rest
                old = before.read_text(encoding="utf-8").splitlines(keepends=True) if before.exists() else []
                new = (self.arms[arm].folder / file).read_text(encoding="utf-8").splitlines(keepends=True)
                made += difflib.unified_diff(old, new, f"a/{file}", f"b/{file}")
            (self.work / f"{arm}.diff").write_text("".join(made), encoding="utf-8")


# the runtime file that mending adds: part of every key
_RUNTIME = tuple(f"{package}/_graphmend.py" for package in rows.PACKAGES)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/table2", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch, transformers and chronos")
    parser.add_argument("--work", type=Path, default=rows.HERE.parent / ".work" / "table2", help="copies and results")
    parser.add_argument("--models", help="only these rows or builds, with commas")
    parser.add_argument("--data", type=Path, default=rows.HERE / "rows.json", help="another table of rows and builds")
    parser.add_argument("--jobs", type=int, default=2, help="counting processes at a time; times are taken alone")
    parser.add_argument("--calls", type=int, default=30, help="calls behind each median")
    parser.add_argument("--mode", default="default", help="torch.compile's mode in the timed runs")
    parser.add_argument("--no-time", action="store_true", help="leave the times out")
    parser.add_argument("--fresh", action="store_true", help="measure again what is there already")
    parser.add_argument("--out", type=Path, help="the report (default: bench/RESULTS.md, in --work for --models)")
    options = parser.parse_args()

    bench = Bench(options)
    if bench.python.releases["transformers"] != rows.TRANSFORMERS:
        raise SystemExit(f"transformers {bench.python.releases['transformers']}: the table is for {rows.TRANSFORMERS}")
    out = options.out or (bench.work if options.models else rows.HERE.parent) / "RESULTS.md"
    bench.count()
    text, held = bench.write(out, options.mode)  # what there is, should the times be interrupted
    if not options.no_time:
        bench.time(options.mode, options.calls)
        text, held = bench.write(out, options.mode)
    print(text)
    bench.say(f"{'all targets and checks hold' if held else 'not all targets and checks hold'}; see {out}")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
