"""What graphmend finds in the files that ran, kept by content and by the version of the tool."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Finding = dict[str, Any]
CHUNK = 48


def tool_version() -> str:
    """A hash of the sources of the tool."""
    import graphmend_lsp

    root = Path(str(graphmend_lsp.__file__)).parent
    text = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".json"):
            text.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return text.hexdigest()[:16]


class Sources:
    """The texts of the packages' files, from a copy in the work folder."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self._lines: dict[str, list[str]] = {}
        self._trees: dict[str, ast.Module] = {}

    def text(self, file: str) -> str:
        return (self.site / file).read_text(encoding="utf-8")

    def lines(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = self.text(file).splitlines()
        return self._lines[file]

    def tree(self, file: str) -> ast.Module:
        if file not in self._trees:
            self._trees[file] = ast.parse(self.text(file))
        return self._trees[file]

    def line(self, file: str, number: int) -> str:
        lines = self.lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def has(self, file: str) -> bool:
        return file.endswith(".py") and (self.site / file).is_file()


def copy_package(python: str, package: str, site: Path) -> None:
    """The installed package under ``site``, once."""
    if (site / package).is_dir():
        return
    code = f"import importlib.util as u; print(u.find_spec({package!r}).submodule_search_locations[0])"
    installed = subprocess.check_output([python, "-c", code], text=True).strip()
    shutil.copytree(installed, site / package, ignore=shutil.ignore_patterns("__pycache__"))


def files_that_ran(measured: list[dict[str, Any]]) -> list[str]:
    found: set[str] = set()
    for one in measured:
        for key in ("traced", "ran"):
            found.update(place[0] for place in one.get(key, ()))
    return sorted(found)


def collect(options: argparse.Namespace, work: Path, measured: list[dict[str, Any]]) -> dict[str, list[Finding]]:
    """The findings by file; only what the kept ones do not cover is looked for again."""
    sources = Sources(work / "site")
    for package in {one["package"] for one in measured}:
        copy_package(options.python, package, sources.site)
    kept_at = work / "findings.json"
    kept: dict[str, Any] = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    version = tool_version()
    files = [file for file in files_that_ran(measured) if sources.has(file)]
    shas = {file: hashlib.sha256(sources.text(file).encode()).hexdigest()[:16] for file in files}

    def known(file: str) -> bool:
        entry = kept.get(file)
        return bool(entry) and entry["sha"] == shas[file] and (entry["tool"] == version)

    todo = [file for file in files if not known(file)]
    if options.focus and (work / "focus.json").exists():
        focus = set(json.loads((work / "focus.json").read_text()))
        todo = [file for file in todo if file in focus or file not in kept]
    print(f"{len(files)} files ran, looking for findings in {len(todo)}", flush=True)
    chunks = [todo[number : number + CHUNK] for number in range(0, len(todo), CHUNK)]
    with ThreadPoolExecutor(options.workers) as pool:
        for part in pool.map(lambda chunk: check(sources.site, chunk), chunks):
            for file, found in part.items():
                kept[file] = {"sha": shas[file], "tool": version, "findings": found}
            kept_at.write_text(json.dumps(kept))
    return {file: kept[file]["findings"] for file in files if file in kept}


def check(site: Path, files: list[str]) -> dict[str, list[Finding]]:
    """`graphmend check` of these files."""
    command = [sys.executable, "-m", "graphmend_lsp", "check", "--output-format", "json", *files]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        print(f"graphmend check failed on {files[0]} and others: {done.stderr.strip()[-500:]}", flush=True)
        return {}
    for problem in document["errors"]:
        print(f"graphmend check: {problem['path']}: {problem['message'][:300]}", flush=True)
    found: dict[str, list[Finding]] = {file: [] for file in files}
    for finding in document["findings"]:
        if finding["code"].startswith("GM7"):
            continue  # no break, so the log of breaks says nothing of it
        file = str(Path(finding["path"]).relative_to(site))
        kept = {
            key: finding[key]
            for key in ("code", "line", "column", "end_line", "end_column", "message", "entry", "evidence", "refusals")
        }
        kept["evidence"] = [f"{one['message']}, line {one['line']}" for one in finding["evidence"]]
        kept["offers"] = [{key: offer[key] for key in ("kind", "safety")} for offer in finding["offers"]]
        found.setdefault(file, []).append(kept)
    return found
