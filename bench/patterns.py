"""What our offers do to the patterns of a corpus: how many lose breaks, and whether they behave as before.

    python bench/patterns.py PATTERNS.json [--only ID,ID] [--unsafe] [--verbose]

The corpus is a list of ``{id, code, breaks_in_2_13, rewrite, safe, ...}``; ``code`` defines ``fn``, ``args()`` and
perhaps ``more_args()``.  Entries with a rewrite that is marked safe are mended with our safe offers, with ``--unsafe``
all those that break with any.  Each runs in a process of its own: break events in default mode before and after, and
behaviour in eager mode and compiled, compared as ``graphmend verify`` does.  The last line is the share that breaks
less.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def mended(code: str, path: str, unsafe: bool) -> tuple[str, list[str]]:
    """The code after our offers, and what they were."""
    from graphmend_lsp.check import Accept, mend
    from graphmend_lsp.settings import Settings

    result = mend(code, path, settings=Settings(entries=("fn",), runtime="package"), accept=Accept(unsafe))
    return result.text, [f"{offer.kind} of {finding.code}" for finding, offer in result.applied]


def refusals(code: str) -> list[str]:
    from graphmend_lsp.check import check
    from graphmend_lsp.settings import Settings

    found = check(code, "pattern.py", settings=Settings(entries=("fn",)))
    return [f"{f.code} {r.kind}: {r.message} ({r.reason})" for f in found.findings for r in f.refusals]


def examine(entry: dict[str, Any], unsafe: bool) -> dict[str, Any]:
    """Mend one entry, run it before and after."""
    execute = importlib.import_module("execute")
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "pattern.py"), Path(folder, "mended", "pattern.py")
        text, applied = mended(entry["code"], before.name, unsafe)
        row: dict[str, Any] = {"id": entry["id"], "applied": applied, "refusals": refusals(entry["code"])}
        after.parent.mkdir()
        before.write_text(entry["code"], encoding="utf-8")
        after.write_text(text, encoding="utf-8")
        row["breaks"] = [_breaks(execute, path) for path in (before, after)]
        row["differences"] = _differences(execute, before, after) if applied else []
        row["text"] = text
    return row


def _arguments(module: types.ModuleType) -> list[tuple[Any, ...]]:
    sets = [module.args()]
    more = getattr(module, "more_args", None)
    if more is not None:
        sets += list(more())
    return [s if isinstance(s, tuple) else (s,) for s in sets]


def _breaks(execute: Any, path: Path) -> int:
    import torch

    count = 0
    for number in range(len(_arguments(execute.load(path, "pattern")))):
        torch._dynamo.reset()
        module = execute.load(path, "pattern")
        given = _arguments(module)[number]
        with execute.recorded_breaks(path) as seen, execute.quiet():
            try:
                torch.compile(module.fn, backend="eager")(*given)
            except Exception as error:
                if type(error).__module__.startswith("torch._dynamo"):
                    seen.append((0, repr(error)))
            count += len(set(seen))
    return count


def _differences(execute: Any, before: Path, after: Path) -> list[str]:
    from graphmend_lsp.worker.compare import differences
    from graphmend_lsp.worker.observe import observe

    found: list[str] = []

    def run(path: Path, number: int, backend: str | None) -> Any:
        def build() -> Any:
            return execute.load(path, "pattern").fn

        given = _arguments(execute.load(path, "pattern"))[number]
        return observe(build, given, calls=2, backend=backend)

    for number in range(len(_arguments(execute.load(before, "pattern")))):
        known = run(before, number, None)
        for backend in (None, "eager", "aot_eager"):
            made = run(after, number, backend)
            found += [f"{backend}: {d.message}" for d in differences(known, made, exact=backend is None)]
    return list(dict.fromkeys(found))


def forked(entry: dict[str, Any], unsafe: bool) -> dict[str, Any]:
    """``examine`` in a child of this process, so that nothing of torch's state stays behind."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def work() -> None:
        import torch

        torch.set_num_threads(1)
        try:
            there.send(examine(entry, unsafe))
        except Exception as error:
            there.send({"error": repr(error)})

    child = context.Process(target=work)
    child.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return {"error": "the process ended"}
    finally:
        child.join()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("patterns", type=Path)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--unsafe", action="store_true")
    arguments.add_argument("--verbose", action="store_true")
    given = arguments.parse_args()
    entries = json.loads(given.patterns.read_text(encoding="utf-8"))
    wanted = [e for e in entries if (e["breaks_in_2_13"] if given.unsafe else e.get("rewrite") and e.get("safe"))]
    if given.only:
        wanted = [e for e in entries if e["id"] in given.only.split(",")]
    less = different = 0
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
    importlib.import_module("execute")  # torch is imported once, and the children are forked
    for entry in wanted:
        row = forked(entry, given.unsafe)
        if "error" in row:
            print(f"{entry['id']}: failed: {row['error']}")
            different += 1
            continue
        fewer = row["breaks"][1] < row["breaks"][0]
        less += fewer
        different += bool(row["differences"])
        print(f"{'less' if fewer else 'SAME'}  {row['id']}: {row['breaks'][0]} -> {row['breaks'][1]}  {row['applied']}")
        for line in row["differences"] + ([] if fewer and not given.verbose else row["refusals"]):
            print(f"        {line}")
        if given.verbose:
            print(row["text"])
    print(f"{less} of {len(wanted)} break less ({less / max(len(wanted), 1):.0%}), {different} behave otherwise")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
