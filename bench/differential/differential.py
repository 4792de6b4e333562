"""Ten thousand random modules per transformation, mended and compared with the original (tests/differential).

Seed ``n`` is always the same module: ``--seed n`` runs it alone and prints it with all that differs.  The run goes by
shares of seeds, each in a process of its own, and is taken up again where it was stopped; results count only
for the sources that they were made with.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GENERATOR = ROOT / "tests" / "differential"
sys.path[:0] = [str(GENERATOR), str(ROOT), str(HERE)]

import generate  # noqa: E402
from report import write  # noqa: E402

SHARE = 200
MODULES = 10_000
INDUCTOR = 300


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--modules", type=int, default=MODULES, help="per transformation")
    parser.add_argument("--first", type=int, default=0, help="the first seed; the number of modules stays")
    parser.add_argument("--inductor", type=int, default=INDUCTOR, help="modules that run with inductor, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / ".work" / "differential")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--seed", type=int, help="run one module and print it")
    args = parser.parse_args()
    if args.seed is not None:
        return one(args.seed)
    count = seeds_for(args.modules)
    last = args.first + count
    every = max(1, count // args.inductor) if args.inductor else 0
    work: Path = args.work / f"{digest()}-{every}"
    work.mkdir(parents=True, exist_ok=True)
    shares = [(first, min(first + SHARE, last)) for first in range(args.first, last, SHARE)]
    started = time.monotonic()
    with ThreadPoolExecutor(args.jobs) as pool:
        done = 0
        for crash in pool.map(lambda share: run_share(work, *share, every), shares):
            done += 1
            if crash is not None or done % 10 == 0 or done == len(shares):
                print(f"{done}/{len(shares)} shares, {time.monotonic() - started:.0f} s", crash or "", flush=True)
    summary = collected(work, shares)
    if args.report is not None:
        write(args.report, summary, args.jobs)
    failures = summary["failures"]
    for failure in failures[:50]:
        print(f"seed {failure['seed']}: {failure['kind']}: {failure['what']} ({', '.join(failure['applied'])})")
    print(f"{summary['counts']['totals']['modules']} modules, {len(failures)} differences")
    return 1 if failures else 0


def one(seed: int) -> int:
    """One module by its seed, as the test prints it."""
    import run
    from test_differential import told

    module = generate.module(seed)
    outcome = run.examine(module, run.Effort(inductor=True, count_breaks=True, thorough=True))
    print(module.text, *module.calls, f"{module.dtype}, training={module.training}", *outcome.sites, sep="\n")
    for failure in outcome.failures:
        print(f"\n{told(module, failure)}")
    return 1 if outcome.failures else 0


def seeds_for(modules: int) -> int:
    """How many seeds give so many modules of each transformation."""
    counts: collections.Counter[str] = collections.Counter()
    seed = 0
    while min(counts[name] for name in generate.TRANSFORMATIONS) < modules:
        counts.update(generate.module(seed).transformations)
        seed += 1
    return seed


def digest() -> str:
    """What the results depend on: the product and the generator."""
    found = hashlib.sha256()
    product = ROOT / "graphmend_lsp"
    for path in sorted([*product.rglob("*.py"), *product.rglob("*.json")]):
        if path.relative_to(product).parts[0] not in ("cli", "hook", "profile", "project", "server", "verify"):
            found.update(path.read_bytes())
    for path in sorted([*GENERATOR.glob("*.py"), HERE / "chunk.py"]):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def run_share(work: Path, first: int, last: int, every: int) -> str | None:
    """Run one share unless its result is there; what went wrong, if the process died."""
    out = work / f"{first:06}.json"
    if out.exists():
        return None
    command = [sys.executable, str(HERE / "chunk.py"), str(first), str(last), str(out), "--inductor-every", str(every)]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return None if out.exists() else f"seeds {first} to {last - 1}: exit {ended.returncode}: {ended.stderr[-2000:]}"


def collected(work: Path, shares: list[tuple[int, int]]) -> dict[str, Any]:
    """The sum of all shares; one whose process died counts as a failure."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    failures: list[dict[str, Any]] = []
    for first, last in shares:
        path = work / f"{first:06}.json"
        if not path.exists():
            what = f"the process of seeds {first} to {last - 1} died"
            failures.append({"seed": first, "kind": "crash", "what": what, "applied": []})
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        failures += result["failures"]
        for name, values in result["counts"].items():
            counts[name].update(values)
    return {"counts": counts, "failures": failures}


if __name__ == "__main__":
    sys.exit(main())
