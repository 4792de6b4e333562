"""Profiles kept between sessions: one JSON file for each entry, in the cache folder.

Whatever goes wrong here costs what was measured once, never more; several processes may use it at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, cast

from graphmend_lsp.profile.anchors import Anchor, Measured
from graphmend_lsp.profile.report import Report
from graphmend_lsp.project import plain
from graphmend_lsp.project.cache import cache_folder

LIMIT = 200
"""Profiles kept; the oldest go first."""
_VERSION = 1
_MOST_TEXT = 2_000_000
"""Characters of measured source kept with one profile; beyond it the report shows the files as they are then."""


def folder() -> str:
    """Where they are; it need not exist."""
    return os.path.join(cache_folder(), "profiles")


def file_of(path: str, entry: str, suffix: str = ".json") -> str:
    """The file for an entry."""
    return os.path.join(folder(), f"{_hash(path)}-{_hash(entry)}{suffix}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def save(measured: Measured) -> None:
    """Store a profile in place of the one before of the same entry."""
    texts = dict(measured.texts) if sum(map(len, measured.texts.values())) <= _MOST_TEXT else {}
    data = {
        "version": _VERSION,
        "report": measured.report.as_json(),
        "anchors": [asdict(anchor) for anchor in measured.anchors],
        "texts": texts,
        "asked": measured.asked,
    }
    report = measured.report
    if write(file_of(report.path, report.entry), json.dumps(data)):
        _drop_oldest()


def write(path: str, text: str) -> bool:
    """Write a file in the folder, all of it or nothing; whether that worked."""
    temporary = ""
    try:
        os.makedirs(folder(), exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="surrogatepass", dir=folder(), suffix=".tmp", delete=False
        ) as stream:
            temporary = stream.name
            stream.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return False
    return True


def load(path: str) -> list[Measured]:
    """The stored profiles of a file's entries."""
    start = f"{_hash(path)}-"
    names = [name for name in _names() if name.startswith(start)]
    found = (_read(os.path.join(folder(), name)) for name in names)
    return [each for each in found if each is not None and each.report.path == path]


def newest() -> Measured | None:
    """The profile that was measured last, of whatever file."""
    for path in reversed(_by_age()):
        found = _read(path)
        if found is not None:
            return found
    return None


def _names() -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder()) if name.endswith(".json"))
    except OSError:
        return []


def _by_age() -> list[str]:
    """All files, the oldest first."""
    dated: list[tuple[int, str]] = []
    for name in _names():
        path = os.path.join(folder(), name)
        with contextlib.suppress(OSError):  # gone meanwhile
            dated.append((os.stat(path).st_mtime_ns, path))
    return [path for _, path in sorted(dated)]


def _drop_oldest() -> None:
    for path in _by_age()[:-LIMIT]:
        for each in (path, path.removesuffix(".json") + ".html"):
            with contextlib.suppress(OSError):
                os.unlink(each)


def _read(path: str) -> Measured | None:
    try:
        data: Any = json.loads(plain.read(path, plain.MOST_DATA)[1].decode("utf-8", "surrogatepass"))
        if data["version"] != _VERSION:
            return None
        anchors = tuple(Anchor(**row) for row in cast("Iterable[Any]", data["anchors"]))
        texts = {str(key): str(value) for key, value in cast("Mapping[Any, Any]", data["texts"]).items()}
        return Measured(Report.read(data["report"]), anchors, texts, str(data["asked"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
