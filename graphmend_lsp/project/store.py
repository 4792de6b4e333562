"""Summaries kept on disk between runs, one row a file; several processes may use it at once.

What is in it can always be made again: whatever goes wrong here costs time, never an answer.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from graphmend_lsp.project.cache import cache_folder
from graphmend_lsp.project.summary import Outline, Summary, Unit, decode_units, encode_units

_NAME = "index-6.sqlite"
"""The number changes with the form of what is stored."""
_WAIT = 2.0
"""Seconds to wait for another process that is writing."""
_MOST_ASKED = 500
"""Paths in one question: SQLite allows no more than 999 values in some versions."""
Row = tuple[int, int, Outline]
"""Modification time in ns, size in bytes, outline."""


_KEPT = [True]


def keep(on: bool) -> None:
    """Whether this process reads and writes what is kept."""
    _KEPT[0] = on


def is_on() -> bool:
    return _KEPT[0]


def load(root: str) -> dict[str, Row]:
    """What is stored of the files under a folder, by path."""
    found: dict[str, Row] = {}
    if not _storable(root):
        return found
    low, high = os.path.join(root, ""), os.path.join(root, "")[:-1] + chr(ord(os.sep) + 1)
    for path, mtime, size, data in _run(
        "SELECT path, mtime, size, outline FROM files WHERE path >= ? AND path < ?", low, high
    ):
        try:
            found[path] = (mtime, size, Outline.decode(_opened(path, mtime, size, data)))
        except (ValueError, TypeError, LookupError, AttributeError):  # not what we have written
            continue
    return found


def load_units(paths: Iterable[str], rows: Mapping[str, Row]) -> dict[str, tuple[Unit, ...]]:
    """The parts of files, as they are stored of the state that the rows tell."""
    found: dict[str, tuple[Unit, ...]] = {}
    asked = [path for path in paths if path in rows and _storable(path)]
    for start in range(0, len(asked), _MOST_ASKED):
        some = asked[start : start + _MOST_ASKED]
        marks = ",".join("?" * len(some))
        question = f"SELECT path, mtime, size, units FROM files WHERE path IN ({marks})"
        for path, mtime, size, data in _run(question, *some):
            try:
                if rows[path][:2] == (mtime, size):
                    found[path] = decode_units(_opened(path, mtime, size, data))
            except (ValueError, TypeError, LookupError, AttributeError):
                continue
    return found


def save(rows: Iterable[tuple[str, int, int, Summary]], gone: Iterable[str]) -> None:
    """Store new and changed files (path, modification time, size, summary); drop those that are gone."""
    changed = [
        (path, mtime, size, _sealed(path, mtime, size, made.outline.encode()), _sealed(path, mtime, size, units))
        for path, mtime, size, made in rows
        if _storable(path)
        for units in (encode_units(made.units),)
    ]
    lost = [(path,) for path in gone if _storable(path)]
    if not (changed or lost) or not _KEPT[0]:
        return
    try:
        os.makedirs(cache_folder(), exist_ok=True)
    except OSError:
        return
    _run("REPLACE INTO files VALUES (?, ?, ?, ?, ?)", many=changed)
    _run("DELETE FROM files WHERE path = ?", many=lost)


def _sealed(path: str, mtime: int, size: int, data: list[object]) -> str:
    body = json.dumps(data)
    return f"{_seal(path, mtime, size, body)} {body}"


def _opened(path: str, mtime: int, size: int, data: str) -> list[object]:
    """What was sealed.

    Raises:
        ValueError: it is not as it was.
    """
    seal, _, body = data.partition(" ")
    if seal != _seal(path, mtime, size, body):
        raise ValueError("not what was written")
    return json.loads(body)


def _seal(path: str, mtime: int, size: int, body: str) -> str:
    """A hash of a row: a database of which a byte has changed mostly is one still, and a caller's name in it wrong."""
    return hashlib.blake2b(f"{path}\n{mtime} {size}\n{body}".encode(), digest_size=12).hexdigest()


def _storable(path: str) -> bool:
    """Whether SQLite takes a path as text: a name that is not UTF-8 it does not."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _run(statement: str, *values: str, many: list[Any] | None = None) -> list[Any]:
    if not _KEPT[0]:
        return []
    try:
        import sqlite3
    except ImportError:  # a Python built without it
        return []
    path = os.path.join(cache_folder(), _NAME)
    if not os.path.isfile(path):
        if many is None:
            return []
        if os.path.lexists(path):  # a link to nothing, a pipe
            _drop(path)
    try:
        connection = sqlite3.connect(path, timeout=_WAIT)
        try:
            with connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS files "
                    "(path TEXT PRIMARY KEY, mtime INTEGER, size INTEGER, outline TEXT, units TEXT)"
                )
                if many is not None:
                    connection.executemany(statement, many)
                    return []
                return connection.execute(statement, values).fetchall()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        if "column" not in str(error):  # locked, read-only, disk full
            return []
        _drop(path)  # another program's
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # not a database, or what SQLite says of it is no text
        _drop(path)
    return []


def _drop(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
