"""What else a mend or a check depends on: the other files that the analysis looked at, and what it asked about them.

The answers are kept with the mended code and compared with the present ones before it is used again, without the
analysis.  Recording them is ``record``'s business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from graphmend_lsp.hook.cache import digest
from graphmend_lsp.project import layout, plain
from graphmend_lsp.project.skipped import is_skipped

_SETTLED = 2.0
"""A file changed so recently may change again without a new time stamp: its content is compared."""

State = tuple[int, int, bytes] | None
"""Modification time in ns (-1: not to be relied on), size, hash of the content; None for a missing file."""

Row = tuple[Any, ...]
"""A question, what it was asked about, and the answer."""


def state(path: str) -> State:
    """The present state of a file."""
    try:
        return state_of(*content(path))
    except (OSError, ValueError):
        return None


def content(path: str) -> tuple[os.stat_result, bytes]:
    """A file as it was looked at, then read.

    Raises:
        OSError, ValueError: it cannot be, or is no file: a pipe may never end.
    """
    return plain.read(path, plain.MOST_BYTES)


def state_of(found: os.stat_result, data: bytes) -> State:
    """The state of a file that was looked at before its content was read."""
    settled = time.time() - found.st_mtime > _SETTLED
    return found.st_mtime_ns if settled else -1, found.st_size, digest(data)


def refreshed(depends: tuple[Row, ...]) -> tuple[Row, ...] | None:
    """The rows as they are now, None if an answer is another one.  The same rows where nothing was touched at all."""
    rows: list[Row] = []
    touched = False
    for row in depends:
        if row not in _ANSWERED:
            _ANSWERED[row] = _QUESTIONS[row[0]](row)
        now = _ANSWERED[row]
        if now is None:
            return None
        touched = touched or now != row  # not "is not": an equal row of another entry may have been answered before
        rows.append(now)
    return tuple(rows) if touched else depends


def _file(row: Row) -> Row | None:
    """``("file", path, state)``"""
    _, path, before = row
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return row if before is None else None
    if before is not None and before[:2] == (found.st_mtime_ns, found.st_size):
        return row
    now = state(path)
    if now is None or before is None:
        return row if now is before else None
    if now[1:] != before[1:]:
        return None
    return row if now == before else ("file", path, now)


def _name(row: Row) -> Row | None:
    """``("name", path, dotted name, is it a package)``"""
    return row if layout.module_name(row[1]) == row[2:] else None


def _roots(row: Row) -> Row | None:
    """``("roots", path, folders)``"""
    return row if layout.search_roots(row[1]) == row[2] else None


def _callers(row: Row) -> Row | None:
    """``("callers", path, functions, named, answer, extent, listing)``

    The answer depends on every file of the project: only where one of them was touched is the index asked again.
    """
    _, path, functions, named, answer, extent, before = row
    if layout.project_extent(path) != extent:
        return None
    now = listing(*extent)
    if now == before and now:
        return row
    from graphmend_lsp.hook.indexes import callers

    if callers(path, functions, named) != answer:
        return None
    return (*row[:-1], now)


def _missing(row: Row) -> Row | None:
    """``("missing", path, roots, package, answer)``"""
    from graphmend_lsp.project.program import DiskProgram

    _, path, roots, package, answer = row
    return row if DiskProgram(roots).for_file(path).is_missing(package) == answer else None


def _runtime(row: Row) -> Row | None:
    """``("runtime", path, roots, answer)``, for settings with a runtime file in the project"""
    from graphmend_lsp.project.program import DiskProgram

    _, path, roots, answer = row
    place = DiskProgram(roots).for_file(path).runtime(path)
    return row if (place.module, place.path) == answer else None


_QUESTIONS = {
    "file": _file,
    "name": _name,
    "roots": _roots,
    "callers": _callers,
    "missing": _missing,
    "runtime": _runtime,
}

# A process sees one state of its files: modules of one package depend on the same ones, thousands of times.
_ANSWERED: dict[Row, Row | None] = {}
_LISTINGS: dict[tuple[str, bool], bytes] = {}


def forget() -> None:
    """Files may have changed: what was seen of them counts no longer."""
    _ANSWERED.clear()
    _LISTINGS.clear()


def listing(root: str, flat: bool) -> bytes:
    """A hash of the names, times and sizes of a project's files; empty if one of them changed just now.

    ``flat`` means the files in the folder itself and the packages right in it.  Configurations are files of it, too,
    also those above: they say which files are left out.
    """
    key = (root, flat)
    if key not in _LISTINGS:
        _LISTINGS[key] = _listing(root, flat)
    return _LISTINGS[key]


def _listing(root: str, flat: bool) -> bytes:
    seen: list[str] = []
    recent = time.time() - _SETTLED
    for path in files_of(root, flat):
        try:
            found = os.stat(path)
        except OSError:  # a link to nothing, or no file there
            continue
        if found.st_mtime > recent:
            return b""
        seen.append(f"{path} {found.st_mtime_ns} {found.st_size}")
    return digest("\n".join(sorted(seen)).encode("utf-8", "surrogatepass"))


def files_of(root: str, flat: bool) -> Iterator[str]:
    """The sources and configurations of a project (see ``listing``); some of the latter may not be there."""
    above = os.path.dirname(root)
    while above != os.path.dirname(above):
        yield os.path.join(above, "pyproject.toml")
        above = os.path.dirname(above)
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:
            continue
        top = flat and folder == root
        for entry in listed:
            try:
                if entry.name.endswith(".py") or entry.name == "pyproject.toml":
                    yield entry.path
                elif entry.is_dir(follow_symlinks=top) and not is_skipped(entry.path):
                    if not top or os.path.isfile(os.path.join(entry.path, "__init__.py")):
                        pending.append(entry.path)
            except OSError:  # gone meanwhile
                continue
