"""What was mended and what was not, over all processes of a run.

Each process leaves its records in one folder, a file a process; the first one reads them at its end.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

FORM = 1
"""The version of the JSON."""


def note(message: str) -> None:
    """Say something on standard error that is about no single file."""
    try:
        print(f"graphmend: {message}", file=sys.stderr)
    except (OSError, ValueError, AttributeError):
        pass  # it is closed


def leave(folder: str, module: str, path: str, record: str, cached: bool, problem: str = "") -> None:
    """Leave a record of one file; ``folder`` is "" where nobody wants it."""
    if not folder:
        return
    row = {"path": path, "module": module, "from_cache": cached, "error": problem or None}
    row |= json.loads(record) if record else {"mended": [], "left": []}
    try:
        with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
    except OSError:
        pass  # a child that lives longer than the run


def collect(folder: str) -> list[dict[str, Any]]:
    """The records of all processes, one a file, by path: ``from_cache`` only where every process took it from there."""
    found: dict[str, dict[str, Any]] = {}
    for row in _rows(folder):
        known = found.setdefault(row["path"], {**row, "processes": 0})
        known["processes"] += 1
        known["from_cache"] = known["from_cache"] and row["from_cache"]
        known["error"] = known["error"] or row["error"]
        if not known["mended"]:
            known["mended"], known["left"] = row["mended"], row["left"] or known["left"]
    return sorted(found.values(), key=lambda row: row["path"])


def as_json(rows: list[dict[str, Any]], unmet: Iterable[str]) -> str:
    """The report for programs; docs/run.md describes it."""
    return json.dumps({"version": FORM, "files": rows, "not_found": list(unmet)}, indent=2) + "\n"


def as_text(rows: list[dict[str, Any]]) -> str:
    """The report for people."""
    mended = sum(len(row["mended"]) for row in rows)
    left = sum(len(row["left"]) for row in rows)
    cached = sum(row["from_cache"] for row in rows)
    files = sum(bool(row["mended"]) for row in rows)
    looked = f"{_counted(len(rows), 'file')} looked at, {cached} from the cache"
    lines = [f"graphmend: mended {_counted(mended, 'finding')} in {_counted(files, 'file')}, {left} left ({looked})"]
    for row in rows:
        if not (row["mended"] or row["left"] or row["error"]):
            continue
        lines.append(f"{_shown(row['path'])}{' (from the cache)' if row['from_cache'] else ''}")
        if row["error"]:
            lines.append(f"  not mended: {row['error']}")
        lines += (f"  mended  {_head(item)}: {_title(item)}" for item in row["mended"])
        for item in row["left"]:
            lines.append(f"  left    {_head(item)}: {item['message']}")
            lines += (f"            unsafe: {o['title']}{_changes(o)}" for o in item["unsafe"])
            lines += (f"            no {r['kind']}: {r['message']} [{r['reason']}]" for r in item["refusals"])
    return "\n".join(lines) + "\n"


def _rows(folder: str) -> Iterator[dict[str, Any]]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                lines = stream.readlines()
        except OSError:
            continue
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue  # its process was killed while it wrote


def _head(item: dict[str, Any]) -> str:
    return f"line {item['line']}: {item['code']} {item['name']}"


def _title(item: dict[str, Any]) -> str:
    unsafe = " (unsafe)" if item["safety"] != "safe" else ""
    return f"{item['title']}{unsafe}{_changes(item)}"


def _changes(item: dict[str, Any]) -> str:
    return f" -- {item['changes']}" if item["changes"] else ""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shown(path: str) -> str:
    """A path relative to the current folder if it lies there."""
    try:
        relative = os.path.relpath(path)
    except (ValueError, OSError):
        return path
    return path if relative.startswith(os.pardir) else relative
