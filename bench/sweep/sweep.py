"""Dynamo as the judge of our findings: measure many architectures and compare.

    python bench/sweep/sweep.py --python INTERPRETER [--work DIR] [--package NAME] [--limit N] [--only REGEX]

INTERPRETER has torch and the package (transformers, timm or diffusers); the Python that runs this file has
graphmend_lsp. What is measured is kept in the work folder, one JSON file for each architecture and arm, so that an
interrupted run goes on where it was and `--compare-only` measures nothing. bench/README.md says what is measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import compare
import findings
import mended
import report
import schedule


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch and the packages")
    # outside of this repository: callers in files that git ignores are not looked for, so findings would be lost
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "graphmend-sweep")
    parser.add_argument("--package", default="transformers,timm,diffusers", help="these packages, by commas")
    parser.add_argument("--limit", type=int, default=200, help="at most so many architectures of each package")
    parser.add_argument("--only", default="", help="only architectures whose name has this regular expression")
    parser.add_argument("--arms", default="", help="only these arms, by commas (the others need what eval found)")
    parser.add_argument("--workers", type=int, default=2, help="processes that measure at the same time")
    parser.add_argument("--seconds", type=int, default=150, help="time-out of one architecture in one arm")
    parser.add_argument("--retry", action="store_true", help="measure again what failed")
    parser.add_argument("--compare-only", action="store_true", help="measure nothing, only find and compare again")
    parser.add_argument("--no-measure", action="store_true", help="nothing new under Dynamo, but the mended arms")
    parser.add_argument("--focus", action="store_true", help="find again only in files with a miss or a false alarm")
    parser.add_argument("--no-mend", action="store_true", help="leave out the mended arms")
    parser.add_argument("--broken", action="store_true", help="mended arms of what breaks only")
    parser.add_argument("--report", type=Path, help="write the report here as well (bench/SWEEP.md)")
    return parser.parse_args()


def main() -> int:
    options = _options()
    work: Path = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    packages = options.package.split(",")
    if not options.compare_only and not options.no_measure:
        for package in packages:
            schedule.measure(options, work, package)
    measured = compare.load(work, packages, options.only)
    found = findings.collect(options, work, measured)
    compared = compare.compare(measured, found, findings.Sources(work / "site"))
    if not options.no_mend and not options.compare_only:
        mended.measure(options, work, measured, compared)
    arms = mended.load(work)
    report.write(options, work, measured, compared, arms)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
