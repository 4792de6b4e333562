"""What checking a tree costs: ``graphmend check`` against ``ast.parse`` and other tools, in CPU seconds.

    python bench/tree.py FOLDER [--tools FOLDER] [--torchfix FOLDER] [--every N] [--slow-every M]

``--every`` takes each N-th Python file only (the tools get their names); ``--tools`` is the ``bin`` folder of an
environment with ruff and flake8, ``--torchfix`` that of another one with flake8 and TorchFix, which flake8 loads
wherever it is. What is made with LibCST takes minutes: ``--slow-every`` takes each M-th of the files for it, and its
multiple is that of ``ast.parse`` of these.  ``graphmend`` runs in one process with an empty cache, then with what this
run has kept.  The index of the project is kept on disk and made by the first run, which is not counted.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_LIBCST = "import sys, libcst\nfor path in sys.argv[1:]:\n    libcst.parse_module(open(path, 'rb').read())"


def _cpu_of(command: list[str], **environment: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _parsed(paths: list[Path]) -> float:
    start = time.process_time()
    for path in paths:
        ast.parse(path.read_bytes())
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tools", default="")
    parser.add_argument("--torchfix", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--slow-every", type=int, default=1)
    options = parser.parse_args()
    paths = sorted(options.folder.resolve().rglob("*.py"))[:: options.every]
    names = list(map(str, paths))
    lines = sum(path.read_bytes().count(b"\n") for path in paths)
    check = [sys.executable, "-m", "graphmend_lsp", "check", "--jobs", "1"]
    print(f"{len(paths)} files, {lines:,} lines\n\n| | CPU | of ast.parse |\n| --- | --- | --- |")
    parse = _parsed(paths)
    with tempfile.TemporaryDirectory() as cache:
        rows = [("ast.parse", parse)]
        kept = {"XDG_CACHE_HOME": cache, "LOCALAPPDATA": cache}
        _cpu_of([*check, "--no-cache", names[0]], **kept)
        _cpu_of([*check, names[0]], **kept)
        rows.append(("graphmend check", _cpu_of([*check, *names], **kept)))
        rows.append(("graphmend check, nothing changed", _cpu_of([*check, *names], **kept)))
        parse = min(parse, _parsed(paths))
    if options.tools:
        ruff = [f"{options.tools}/ruff", "check", "--no-cache", "--select", "ALL", *names]
        rows.append(("ruff check --select ALL", _cpu_of(ruff)))
        rows.append(("flake8", _cpu_of([f"{options.tools}/flake8", "--isolated", "-j1", *names])))
    for name, seconds in rows:
        print(f"| {name} | {seconds:.1f} s | {seconds / parse:.1f} |")
    slow = names[:: options.slow_every]
    parse = min(_parsed(list(map(Path, slow))) for _ in range(2))
    rows = [("LibCST parse alone", _cpu_of([sys.executable, "-c", _LIBCST, *slow]))]
    if options.torchfix:
        rows.append(("flake8 with TorchFix", _cpu_of([f"{options.torchfix}/flake8", "--isolated", "-j1", *slow])))
    sample = "" if options.slow_every == 1 else f", of {len(slow)} of the files"
    for name, seconds in rows:
        print(f"| {name}{sample} | {seconds:.1f} s | {seconds / parse:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
