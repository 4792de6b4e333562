"""One share of the long run: the modules of some seeds, in a process of its own.  Writes one JSON file."""

from __future__ import annotations

import argparse
import collections
import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "differential"), str(HERE.parents[1])]

import generate  # noqa: E402
import run  # noqa: E402

EVERY_BREAKS = 40
"""Of so many modules one has its graph breaks counted."""
EVERY_COLLECT = 20
EVERY_THOROUGH = 40
"""Of so many modules one is compiled in every way."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inductor-every", type=int, default=0)
    args = parser.parse_args()
    gc.disable()  # a fifth of Dynamo's time; cycles are collected below, without looking at torch's own objects
    run.examine(generate.module(args.first), run.Effort())
    gc.collect()
    gc.freeze()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    failures: list[dict[str, Any]] = []
    for seed in range(args.first, args.last):
        started = time.process_time()
        inductor = args.inductor_every > 0 and seed % args.inductor_every == 0
        module = generate.module(seed)
        effort = run.Effort(
            inductor=inductor, count_breaks=seed % EVERY_BREAKS == 0, thorough=seed % EVERY_THOROUGH == 0
        )
        outcome = run.examine(module, effort)
        counts["modules"].update(module.transformations)
        counts["constructs"].update(module.tags)
        counts["sites"].update(f"{site.transformation} {site.outcome}" for site in outcome.sites)
        counts["totals"].update(
            modules=1,
            runs=outcome.runs,
            raised=outcome.raised,
            mends=outcome.mends,
            inductor=inductor and outcome.mends > 0,
        )
        if outcome.breaks is not None:
            counts["breaks"].update(modules=1, before=outcome.breaks[0], after=outcome.breaks[1])
        failures += [
            {
                "seed": seed,
                "kind": failure.kind,
                "what": failure.what,
                "applied": list(failure.mend.applied) if failure.mend is not None else [],
            }
            for failure in outcome.failures
        ]
        counts["milliseconds"]["all"] += round(1000 * (time.process_time() - started))
        if seed % EVERY_COLLECT == 0:
            gc.collect()
    partial = args.out.with_suffix(".part")
    partial.write_text(json.dumps({"counts": counts, "failures": failures}, indent=1), encoding="utf-8")
    os.replace(partial, args.out)


if __name__ == "__main__":
    main()
