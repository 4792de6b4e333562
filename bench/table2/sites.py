"""The three arms: folders on PYTHONPATH with the packages as they are, mended safely, and mended with --unsafe."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import HERE, PACKAGES

TOOL = HERE.parents[1] / "graphmend_lsp"
STANDINS = "table2_standins"


def digest(*parts: str | bytes) -> str:
    """A short name for the parts."""
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode("utf-8") if isinstance(part, str) else part)
        made.update(b"\0")
    return made.hexdigest()[:16]


def tree_digest(folder: Path, *suffixes: str) -> str:
    """A short name for the files of a folder."""
    files = sorted(p for p in folder.rglob("*") if p.suffix in suffixes and "__pycache__" not in p.parts)
    return digest(*(part for p in files for part in (p.relative_to(folder).as_posix(), p.read_bytes())))


@dataclass(frozen=True)
class Site:
    """A folder that comes first on PYTHONPATH."""

    arm: str
    folder: Path
    changed: dict[str, str]  # files that differ from the original's: path in the site -> digest
    printed: str = ""

    def key(self, files: list[str]) -> str:
        """A name for what mending changed in these files; two sites with the same one behave the same for them."""
        return digest(*(part for file in sorted(files) if file in self.changed for part in (file, self.changed[file])))


def original(work: Path) -> Site:
    """The installed packages; only the stand-ins are copied."""
    folder = work / "sites" / "original"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "standins", folder / STANDINS, ignore=_ignored)
    return Site("original", folder, {})


def mended(work: Path, arm: str, packages: dict[str, Path], files: list[str], options: list[str]) -> Site:
    """Copy the packages and let ``graphmend fix`` mend the files whose functions the rows run, all at once."""
    key = digest(arm, *options, *files, tree_digest(TOOL, ".py", ".json"), tree_digest(HERE / "standins", ".py"))
    folder = work / "sites" / f"{arm}-{key}"
    record = folder / "site.json"
    if not record.exists():
        for old in (work / "sites").glob(f"{arm}-*"):
            shutil.rmtree(old)
        for package in PACKAGES:
            if package in packages:
                shutil.copytree(packages[package], folder / package, ignore=_ignored)
        (folder / "pyproject.toml").write_text("[tool.graphmend]\n", encoding="utf-8")
        record.write_text(json.dumps(_mend(folder, packages, files, options)), encoding="utf-8")
    data = json.loads(record.read_text(encoding="utf-8"))
    return Site(arm, folder, data["changed"], data["printed"])


def findings(site: Site, files: list[str]) -> list[dict[str, Any]]:
    """What graphmend still finds in these files of a mended site, from a file if it was asked before."""
    if not files:
        return []
    record = site.folder / f"findings-{digest(*files)}.json"
    if not record.exists():
        checked = _graphmend(site.folder, "check", "--output-format", "json", *files)
        record.write_text(checked.stdout, encoding="utf-8")
    found = json.loads(record.read_text(encoding="utf-8"))["findings"]
    for finding in found:
        finding["path"] = Path(finding["path"]).resolve().relative_to(site.folder.resolve()).as_posix()
    return found


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "__pycache__"}


def _mend(folder: Path, packages: dict[str, Path], files: list[str], options: list[str]) -> dict[str, Any]:
    start = time.perf_counter()
    fixed = _graphmend(folder, "fix", *options, *files)
    seconds = time.perf_counter() - start
    changed = {}
    for file in (p for package in packages for p in (folder / package).rglob("*.py")):
        name = file.relative_to(folder).as_posix()
        before = packages[name.partition("/")[0]] / name.partition("/")[2]
        text = file.read_bytes()
        if not before.exists() or before.read_bytes() != text:
            changed[name] = digest(text)
    printed = f"{len(files)} files, {seconds:.0f} s\n{fixed.stdout}{fixed.stderr}"
    return {"changed": changed, "printed": printed}


def _graphmend(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(TOOL.parent)}
    command = [sys.executable, "-m", "graphmend_lsp", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"graphmend {arguments[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done
