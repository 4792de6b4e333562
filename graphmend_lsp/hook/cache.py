"""What mending and checking made of files, kept on disk between runs; several processes may use it at once.

Everything here can be made again: whatever goes wrong costs time, never an import or an answer.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from types import CodeType
from typing import Any, NamedTuple, cast

from graphmend_lsp import __version__
from graphmend_lsp.project import plain
from graphmend_lsp.project.cache import cache_folder

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL first, a third of what the hook costs at start
except ImportError:
    from hashlib import blake2b

LIMIT = 256 * 1024 * 1024
"""Bytes on disk; the least recently used entries go first."""
_FORM = 1
"""Another form of what is stored needs another number."""
_DIGEST = 20
_DAY = 24 * 3600.0


class Entry(NamedTuple):
    """What is known of one text of one file.

    ``code`` None means that there is nothing to mend: Python loads the file as it always does.
    ``record`` is what the report says of it, as JSON.
    """

    depends: tuple[Any, ...]
    record: str
    code: CodeType | None


def digest(data: bytes) -> bytes:
    """A hash of a file's content."""
    return blake2b(data, digest_size=_DIGEST).digest()


def key(*parts: object) -> str:
    """The name of an entry: what is mended, how, and by and for which programs."""
    made = (_FORM, __version__, _own_state(), sys.version, sys.implementation.cache_tag, sys.flags.optimize, *parts)
    return digest("\0".join(map(repr, made)).encode("utf-8", "surrogatepass")).hex()


class Blobs:
    """Bytes by name under one folder of the cache, each with a hash.

    ``complaint`` says why it cannot be written, once that is known.
    """

    def __init__(self, kind: str) -> None:
        self.complaint = ""
        self._kind = kind
        self._folder = ""
        self._wrote = False

    def load(self, name: str) -> bytes | None:
        """The bytes of that name, or None if there are none that are whole."""
        path = self._path(name)
        try:
            found, data = plain.read(path, LIMIT)
        except (OSError, ValueError):
            return None
        if digest(data[_DIGEST:]) != data[:_DIGEST]:
            return None
        try:
            if time.time() - found.st_mtime > _DAY:
                os.utime(path)
        except OSError:
            pass  # a folder that is only read
        return data[_DIGEST:]

    def save(self, name: str, data: bytes) -> None:
        """Store bytes, in one step."""
        path = self._path(name)
        temporary = f"{path}.{os.getpid()}.{time.time_ns() % 10**9}.tmp"
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            try:
                with open(temporary, "xb") as stream:
                    stream.write(digest(data) + data)
                os.replace(temporary, path)
            except BaseException:
                if os.path.exists(temporary):
                    os.unlink(temporary)
                raise
        except OSError as error:
            if not (os.path.exists(path) and isinstance(error, PermissionError)):  # Windows: another one just wrote it
                self.complaint = f"{self._folder} cannot be written: {error.strerror or error}"
            return
        if not self._wrote:
            self._wrote = True
            import atexit

            atexit.register(self.sweep)

    def sweep(self) -> None:
        """Delete the entries not used for longest, if there are too many bytes of them."""
        found: list[tuple[float, int, str]] = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    state = os.stat(path)
                except OSError:
                    continue
                found.append((state.st_mtime, state.st_size, path))
        total = sum(size for _, size, _ in found)
        if total <= LIMIT:
            return
        for _, size, path in sorted(found):
            try:
                os.unlink(path)
            except OSError:
                continue
            total -= size
            if total <= LIMIT * 3 // 4:
                break

    def _path(self, name: str) -> str:
        if not self._folder:
            self._folder = os.path.join(cache_folder(), self._kind)
        return os.path.join(self._folder, name[:2], name + ".bin")


class Cache(Blobs):
    """Mends by name."""

    def __init__(self) -> None:
        super().__init__("hook")

    def read(self, name: str) -> Entry | None:
        """The entry of that name, or None if there is none that is whole."""
        data = self.load(name)
        if data is None:
            return None
        try:
            depends, record, code = cast("tuple[tuple[Any, ...], str, bytes | None]", marshal.loads(data))
            return Entry(depends, record, None if code is None else marshal.loads(code))
        except (ValueError, EOFError, TypeError):
            return None

    def write(self, name: str, entry: Entry) -> None:
        """Store an entry, in one step."""
        code = None if entry.code is None else marshal.dumps(entry.code)
        self.save(name, marshal.dumps((entry.depends, entry.record, code)))


_OWN: list[str] = []


def _own_state() -> str:
    """What tells one state of this program from another where the version does not: it runs from a checkout."""
    if not _OWN:
        top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        installed = os.path.basename(os.path.dirname(top)) in ("site-packages", "dist-packages")
        _OWN.append("" if installed else _newest(top))
    return _OWN[0]


def _newest(top: str) -> str:
    seen: list[tuple[int, int]] = []
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith((".py", ".json")):
                try:
                    state = os.stat(os.path.join(folder, name))
                except OSError:  # gone meanwhile, or an editor's link to nothing
                    continue
                seen.append((state.st_mtime_ns, state.st_size))
    return f"{max(seen)[0]} {len(seen)} {sum(size for _, size in seen)}"
