"""Unified diffs that ``git apply -p0`` (and ``patch -p0``) takes."""

from __future__ import annotations

import difflib
import os
import sys

from graphmend_lsp.cli.terminal import Paint, paint_for, plain, shown
from graphmend_lsp.cli.work import Fixed
from graphmend_lsp.finding import NewFile
from graphmend_lsp.project import files
from graphmend_lsp.text import split_lines


def show(fixed: Fixed, creates: list[NewFile]) -> None:
    """Print the diff of a file and of what it needs beside it."""
    assert fixed.source is not None
    paint = paint_for(sys.stdout)
    parts: list[str] = []
    for new in creates:
        try:
            old: str | None = files.read(new.path).text if os.path.exists(new.path) else None
        except files.SourceError:
            old = ""
        parts.append(unified(new.path, old, new.text, paint))
    parts.append(unified(fixed.path, fixed.source.text, fixed.text, paint))
    encoding = sys.stdout.encoding or "utf-8"
    if paint is plain:
        encoding = fixed.source.encoding  # as the file has it, or the patch does not apply
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(parts).encode(encoding, "backslashreplace"))  # line endings as they are
    sys.stdout.buffer.flush()


def unified(path: str, old: str | None, new: str, paint: Paint = plain) -> str:
    """The diff of one file; ``old`` None stands for a file that is not there yet."""
    name = shown(path).replace(os.sep, "/")
    before = [] if old is None else _lines(old)
    rows = difflib.unified_diff(before, _lines(new), "/dev/null" if old is None else name, name, n=3)
    return "".join(_row(row, paint) for row in rows)


def _lines(text: str) -> list[str]:
    lines = split_lines(text)
    return lines[:-1] if not lines[-1] else lines


def _row(row: str, paint: Paint) -> str:
    body = row.rstrip("\r\n")
    ending = row[len(body) :]
    if not ending.endswith("\n"):
        ending += "\n\\ No newline at end of file\n" if not ending else "\n"
    style = {"+": "green", "-": "red", "@": "cyan"}.get(row[:1])
    if row.startswith(("+++ ", "--- ")):
        return paint(body, "bold") + ending
    return (paint(body, style) if style else body) + ending
