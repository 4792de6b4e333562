"""Tries to knock the analysis, the server and the mending over (tests/support/robust), and writes down what came of it.

    python bench/robustness [--part typed] [--tree SITE-PACKAGES ...] [--scale 0.1] [--report bench/ROBUSTNESS.md]

Each part keeps its result in the work folder, and the report is made of all that are there.  Which files are taken
depends on the trees only; all that is random has a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import torch  # noqa: E402  where its own sources are

from graphmend_lsp.check import check  # noqa: E402
from tests.server import conftest  # noqa: E402
from tests.support.robust import abuse, edited, fixed, mended, nasty, shared, sound, typed  # noqa: E402

CAPABILITIES = conftest.EVERYTHING
conftest.TIMEOUT = 300.0
EARLY, INVALID = -32002, -32600
MOST_BYTES = 60_000
Result = dict[str, Any]


BREAKS = re.compile(
    rb"logger\.(?:warning|info)|warnings\.warn\(|print\(|if .*\.(?:any|all|sum|max|min)\(\)|= .*\.item\(\)"
)


def sources(
    trees: list[Path], count: int, seed: str, most: int = MOST_BYTES, likely: re.Pattern[bytes] | None = None
) -> list[Path]:
    """Files with models in them, from all trees alike; with ``likely`` only those that have it three times."""
    chosen: list[Path] = []
    for number, tree in enumerate(trees):
        found: list[Path] = []
        for path in sorted(tree.rglob("*.py")):
            data = path.read_bytes() if 2_000 < path.stat().st_size < most else b""
            if b"nn.Module" in data and (likely is None or len(likely.findall(data)) > 2):
                found.append(path)
        random.Random(f"{seed} {number}").shuffle(found)
        chosen += found[: -(-count // len(trees))]
    return chosen[:count]


def server() -> Any:
    wire = conftest.Wire([sys.executable, "-m", "graphmend_lsp", "server"])
    wire.capabilities = wire.initialize(CAPABILITIES)["capabilities"]
    return wire


def end(wire: Any) -> Iterator[str]:
    """Shut a server down; what is wrong with its end."""
    yield from abuse.alarms(wire)
    wire.request("shutdown")
    wire.notify("exit")
    code = wire.wait()
    if code or wire.stray:
        yield f"exit code {code}, {len(wire.stray)} bytes that are no message"


def half_typed(trees: list[Path], scale: float) -> Result:
    wrong: list[str] = []
    cuts, worst = 0, (0.0, "")
    files = sources(trees, 50, "typed")
    for number, path in enumerate(files):
        for cut in typed.typing(
            path.read_bytes().decode("utf-8"), path.name, int(120 * scale), incremental=number % 3 > 0
        ):
            cuts += 1
            worst = max(worst, (cut.seconds, path.name))
            wrong += (f"{path} cut at {cut.end}: {each}" for each in cut.complaints)
    what = f"{cuts:,} cuts of {len(files)} files, two thirds of them each checked after the one before"
    return {"what": what, "worst": f"{worst[0]:.2f} s of CPU for one check ({worst[1]})", "wrong": wrong}


def abused(trees: list[Path], scale: float) -> Result:
    del trees
    count = int(1000 * scale)
    wire = server()
    found = abuse.session(wire, 1, count)
    wrong = [*found.wrong, *end(wire)]
    wire = conftest.Wire([sys.executable, "-m", "graphmend_lsp", "server"])
    wrong += abuse.out_of_turn(wire, 2, count // 2, EARLY)
    wire.initialize()
    wire.request("shutdown")
    wrong += abuse.out_of_turn(wire, 3, count // 2, INVALID)
    wire.notify("exit")
    if wire.wait():
        wrong.append("exit code after shutdown")
    grown = 100 * (found.after - found.before) / max(found.before, 1)
    if grown > 10:
        wrong.append(f"memory: {grown:.1f} % more")
    what = (
        f"{count:,} messages after as many to warm up, and {count // 2:,} each before `initialize` and after `shutdown`"
    )
    memory = f"{found.before >> 20} MiB before, {found.after >> 20} MiB after ({grown:+.1f} %)"
    return {"what": what, "worst": f"{found.slowest:.2f} s for four answers between; {memory}", "wrong": wrong}


def crowded(trees: list[Path], scale: float) -> Result:
    """Many files open at the same time, and huge ones."""
    del trees
    count = int(500 * scale)
    wire = server()
    begun = time.monotonic()
    uris = [f"file:///nowhere/crowd/{number}.py" for number in range(count)]
    for number, uri in enumerate(uris):
        wire.open(uri, abuse.TEXT.replace("Net", f"Net{number}"))
    for uri in uris:
        wire.change(uri, 2, {"text": abuse.TEXT + "\n# changed\n"})
    wrong = [f"{uri}: no findings" for uri in uris if len(wire.diagnostics(uri, 2)) != 2]
    seconds = time.monotonic() - begun
    memory = abuse.resident(wire.process.pid)
    for uri in uris:
        wire.close(uri)
    wrong += abuse.probe(wire, "crowd")
    slowest = 0.0
    huge = (
        "x = 1\n" * 300_000,
        "x = [" + "1, " * 1_000_000 + "]\n",
        "(" * 2_000_000,
        "é🙂" * 500_000,
        "\r" * 1_000_000,
    )
    for number, text in enumerate(huge):
        uri = f"file:///nowhere/huge{number}.py"
        begun = time.monotonic()
        wire.open(uri, text)
        wire.diagnostics(uri, 1)
        slowest = max(slowest, time.monotonic() - begun)
        wire.close(uri)
    wrong += [*abuse.probe(wire, "huge"), *end(wire)]
    what = f"{count} files open at once, each changed; then {len(huge)} texts of 1 to 3 MB"
    worst = f"{seconds:.1f} s until all {count} were checked, {memory >> 20} MiB; {slowest:.1f} s for a huge text"
    return {"what": what, "worst": worst, "wrong": wrong}


def random_edits(trees: list[Path], scale: float) -> Result:
    files = sources(trees, 12, "edited", 30_000)
    wrong: list[str] = []
    edits = requests = compared = 0
    wire = server()
    with tempfile.TemporaryDirectory() as folder:
        for seed, source in enumerate(files):
            path = Path(folder) / str(seed) / source.name
            path.parent.mkdir()
            (path.parent / "pyproject.toml").write_text("")
            shutil.copy(source, path)
            found = edited.run(wire, path, seed, int(1250 * scale))
            edits, requests, compared = edits + found.edits, requests + found.requests, compared + found.compared
            wrong += found.wrong
    wrong += end(wire)
    what = f"{edits:,} edits of {len(files)} files, {requests} requests between, most of them cancelled"
    return {"what": what, "worst": f"text and findings compared {compared} times", "wrong": wrong}


def odd_texts(trees: list[Path], scale: float) -> Result:
    del trees
    wrong: list[str] = []
    count, worst = 0, (0.0, "")
    size = max(300, int(20_000 * scale))
    for name, text in (*nasty.texts((90,), (300,)), *nasty.texts((size,), (size,))):
        if name.startswith(SLOW) and f"{size:,}" in name:
            continue
        count += 1
        begun = time.process_time()
        analysis = check(text, "nasty.py")
        worst = max(worst, (time.process_time() - begun, name))
        wrong += (f"{name}: {each}" for each in (sound.complaints(analysis) if size <= 300 else []))
        wrong += (f"{name}: {failure.error}" for failure in analysis.internal)
    what = f"{count} texts that are deep (90 and {size:,}), long (300 and {size:,} terms, lines, names) or odd"
    return {"what": what, "worst": f"{worst[0]:.1f} s of CPU for one check ({worst[1]})", "wrong": wrong}


SLOW = ("and,", "calls of all,")
"""Kinds with as many findings as terms or functions: their large size is left out."""


def mended_twice(trees: list[Path], scale: float) -> Result:
    files = sources(trees, int(60 * scale), "mended", 100_000, BREAKS)
    wrong: list[str] = []
    applied, worst = 0, (0.0, "")
    for number, path in enumerate(files):
        found = mended.examine(path, unsafe=number % 2 == 1)
        applied += found.applied
        worst = max(worst, (found.seconds, path.name))
        wrong += (f"{path}: {each}" for each in found.wrong)
    what = f"{len(files)} files, each mended twice, every other one with unsafe fixes; {applied} fixes"
    return {"what": what, "worst": f"{worst[0]:.1f} s of CPU for one file, both times ({worst[1]})", "wrong": wrong}


def fixed_trees(trees: list[Path], scale: float) -> Result:
    """``graphmend fix`` as a command: of torch, of Python and of what is installed beside them, of other trees."""
    found = [Path(torch.__file__).parent, Path(os.__file__).parent, *trees[2:]]
    found += [path for path in (Path(torch.__file__).parents[1] / name for name in ("numpy", "sympy")) if path.is_dir()]
    wrong: list[str] = []
    counts: list[str] = []
    for tree in found:
        count = sum("site-packages" not in path.relative_to(tree).parts for path in tree.rglob("*.py"))
        share = max(1, round(count / max(1, 100 * scale)))
        models = any(b"nn.Module" in path.read_bytes() for path in [*tree.rglob("*.py")][::20])
        for unsafe in (False, True):
            with tempfile.TemporaryDirectory() as work:
                made = fixed.examine(tree, Path(work), unsafe=unsafe, share=share, all_functions=not models)
            how = "unsafe, " if unsafe else ""
            counts.append(f"{tree.name} ({how}{made.mended} in {made.changed} of {made.files} files, {made.cpu:.0f} s)")
            wrong += (f"{tree.name}, {how}{each}" for each in made.wrong)
    what = "whole copied trees, every so many files of them, with `--diff`, then without, then again"
    return {"what": what, "worst": "; ".join(counts), "wrong": wrong}


def one_cache(trees: list[Path], scale: float) -> Result:
    """Two servers, checks, kills, and somebody who ruins, removes and replaces the cache."""
    del trees
    wrong: list[str] = []
    rounds = max(2, int(25 * scale))
    ruined = 0
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = Path(folder) / "tree", Path(folder) / "cache"
        count = shared.workspace(tree, 24)
        os.environ["GRAPHMEND_CACHE_DIR"] = str(cache)
        expected = shared.Check(tree, cache, "--no-cache").findings()
        servers = [conftest.Wire([sys.executable, "-m", "graphmend_lsp", "server"]) for _ in range(2)]
        for wire in servers:
            folders = [{"uri": tree.as_uri(), "name": "tree"}]
            wire.initialize(
                CAPABILITIES, workspaceFolders=folders, initializationOptions={"workspaceDiagnostics": "all"}
            )
        for seed in range(2):
            with shared.Ruiner(cache, seed) as ruiner:
                wrong += shared.together(servers, tree, cache, rounds=rounds, expected=expected, seed=seed)
            ruined += ruiner.done
            wrong += shared.afterwards(tree, cache, expected)
        for wire in servers:
            wrong += end(wire)
        del os.environ["GRAPHMEND_CACHE_DIR"]
    what = f"two servers and three checks at a time, one of them killed, {2 * rounds} times in {count // 2} packages"
    return {"what": what, "worst": f"the cache ruined, removed or replaced {ruined:,} times", "wrong": wrong}


PARTS: dict[str, tuple[str, Callable[[list[Path], float], Result]]] = {
    "typed": ("Half-typed files", half_typed),
    "abused": ("Messages of no honest client", abused),
    "crowded": ("Many files and huge ones", crowded),
    "edited": ("Random edits", random_edits),
    "nasty": ("Deep, long and odd texts", odd_texts),
    "mended": ("Mending twice", mended_twice),
    "fixed": ("`graphmend fix` of trees", fixed_trees),
    "shared": ("One cache for all", one_cache),
}


def report(work: Path) -> str:
    rows = [
        "# Robustness\n",
        "Made by `make bench-robustness`; [README.md](README.md) says what is done. Odd trees, folders that are only",
        "read, and files that change or vanish under a command or a server are in tests only:",
        "`tests/cli/test_odd_disks.py`, `tests/cli/test_changing_trees.py`, `tests/cli/test_shared_cache.py` and",
        "`tests/server/test_odd_trees.py`.\n",
        f"Python {platform.python_version()}, {platform.system()}, sources of torch {torch.__version__} and others.",
        "Seconds that are not of CPU are by the clock, whatever else the machine did meanwhile.\n",
        "| | what | worst | failures | CPU |",
        "| --- | --- | --- | --- | --- |",
    ]
    failures: list[str] = []
    for name, (title, _) in PARTS.items():
        path = work / f"{name}.json"
        if not path.exists():
            rows.append(f"| {title} | not run | | | |")
            continue
        found = json.loads(path.read_text(encoding="utf-8"))
        cpu = f"{found['cpu']:.0f} s" if "cpu" in found else "not measured"
        rows.append(f"| {title} | {found['what']} | {found['worst']} | {len(found['wrong'])} | {cpu} |")
        failures += (f"- {title}: {each}" for each in found["wrong"][:20])
    return "\n".join([*rows, "", *failures]).rstrip() + "\n"


def _cpu() -> float:
    """Seconds of CPU of this process and of the servers that have ended."""
    return sum(os.times()[:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be given several times")
    parser.add_argument("--tree", type=Path, action="append", help="a folder with more sources, beside torch's own")
    parser.add_argument("--scale", type=float, default=1.0, help="less than 1: fewer cuts, messages, edits and files")
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / ".work" / "robustness")
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    trees = [Path(torch.__file__).parent / "nn", Path(torch.__file__).parent / "ao", *(args.tree or ())]
    failed = 0
    for name in args.part or PARTS:
        begun = _cpu()
        found = PARTS[name][1](trees, args.scale)
        found["cpu"] = _cpu() - begun
        (args.work / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
        print(f"{name}: {found['what']}; {found['worst']}; {len(found['wrong'])} failures", flush=True)
        for each in found["wrong"][:20]:
            print(f"  {each}")
        failed += len(found["wrong"])
    if args.report is not None:
        args.report.write_text(report(args.work), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
