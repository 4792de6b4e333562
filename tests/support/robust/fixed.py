"""``graphmend fix`` of whole copied trees does what ``--diff`` has said, a second one does nothing, and all parses."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
RUNTIME = "_graphmend"
TOGETHER = 400
"""Files that are named in one command."""


@dataclass(frozen=True)
class Outcome:
    """What came of one tree; ``wrong`` is empty if nothing is."""

    files: int
    mended: int
    changed: int
    cpu: float
    wrong: tuple[str, ...]


def examine(
    tree: Path, work: Path, *, unsafe: bool = False, share: int = 1, all_functions: bool = False, source: str = "*.py"
) -> Outcome:
    """Copy a tree into ``work`` and fix every ``share``-th file of it; ``all_functions`` makes each one an entry."""
    shutil.rmtree(work, ignore_errors=True)
    mended, patched = work / "mended" / tree.name, work / "patched" / tree.name
    copied = [path for path in sorted(tree.rglob(source)) if "site-packages" not in path.relative_to(tree).parts]
    for path in copied:
        for to in (mended, patched):
            (to / path.relative_to(tree)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / path.relative_to(tree))
    chosen = [str(path.relative_to(tree.parent)) for path in copied[::share]]
    entries = sorted(_functions(tree.parent, chosen)) if all_functions else []
    (mended.parent / "pyproject.toml").write_text(f"[tool.graphmend]\nentries = {entries!r}\n", encoding="utf-8")
    options = ["--unsafe"] if unsafe else []
    before = _texts(mended)
    begun = sum(os.times()[2:4])
    wrong: list[str] = []
    diffs: list[bytes] = []
    count = 0
    for start in range(0, len(chosen), TOGETHER):
        part = chosen[start : start + TOGETHER]
        said = _fix(mended.parent, [*options, "--diff", *part])
        if start == 0 and before != _texts(mended):
            wrong.append("--diff has changed files")
        did = _fix(mended.parent, [*options, *part])
        after = _texts(mended)
        again = _fix(mended.parent, [*options, *part])
        diffs.append(said.stdout)
        for what, done in (("--diff", said), ("fix", did), ("again", again)):
            wrong += (f"{what}: {each}" for each in _complaints(done))
        match = re.search(rb"Mended (\d+) finding", did.stdout)
        count += int(match[1]) if match else 0
        if b"Mended" in again.stdout or _texts(mended) != after:
            wrong.append(f"fixed again: {_differing(after, _texts(mended))}, {again.stdout[-200:]!r}")
    cpu = sum(os.times()[2:4]) - begun
    after = _texts(mended)
    changed = _differing(before, after)
    wrong += (f"{path} does not parse" for path in changed if not _parses(after[path]) and _parses(before.get(path)))
    wrong += (f"{path} is new" for path in changed if path not in before and RUNTIME not in path)
    wrong += _patched(diffs, patched, after)
    return Outcome(len(chosen), count, len(changed), cpu, tuple(wrong))


def _functions(root: Path, names: list[str]) -> Iterator[str]:
    found: set[str] = set()
    for name in names:
        text = (root / name).read_bytes().decode("utf-8", "replace")
        found.update(re.findall(r"^def (\w+)", text, re.MULTILINE))
    yield from found


def _fix(folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    here = {**os.environ, "PYTHONPATH": str(REPOSITORY), "GRAPHMEND_CACHE_DIR": str(folder.parent / "cache")}
    command = [sys.executable, "-m", "graphmend_lsp", "fix", *arguments]
    return subprocess.run(command, cwd=folder, env=here, capture_output=True, check=False)


def _complaints(done: subprocess.CompletedProcess[bytes]) -> Iterator[str]:
    """Errors of ours, and exit states that say more than that a text is none."""
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    ours = [line for line in lines if "internal error" in line or "Traceback" in line]
    yield from ours
    known = [line for line in lines if line.endswith("left alone") or ": not utf-8 text" in line or "encoding" in line]
    if done.returncode not in (0, 1) and not (known or ours):
        yield f"exit status {done.returncode}: {lines[-1:]}"


def _texts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


def _differing(a: dict[str, bytes], b: dict[str, bytes]) -> list[str]:
    return sorted(path for path in {*a, *b} if a.get(path) != b.get(path))


def _parses(data: bytes | None) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data or b"")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _patched(diffs: list[bytes], tree: Path, mended: dict[str, bytes]) -> Iterator[str]:
    """What another program makes of the diffs is what was written, byte for byte."""
    for diff in filter(None, diffs):
        apply = ["git", "apply", "-p0", "--whitespace=nowarn", "--unsafe-paths", "-"]
        here = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent.parent)}  # it is in no repository
        done = subprocess.run(apply, cwd=tree.parent, env=here, input=diff, capture_output=True, check=False)
        if done.returncode:
            yield f"the diff does not apply: {done.stderr[-300:].decode('utf-8', 'replace')}"
    for path in _differing(_texts(tree), mended):
        yield f"{path} is not what --diff said"
