"""The copy of the runtime that mended code imports: where it goes and whether it is there already."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count

import graphmend_lsp
from graphmend_lsp.check import RuntimePlace, is_runtime_file, runtime_version
from graphmend_lsp.finding import NewFile
from graphmend_lsp.project import files, layout

PACKAGE_MODULE = "graphmend_lsp.runtime"
_RELATIVE_IMPORT = re.compile(r"^[ \t]*from[ \t]+\.", re.MULTILINE)


@cache
def runtime_text() -> str:
    """The runtime as this version ships it."""
    path = os.path.join(os.path.dirname(graphmend_lsp.__file__), "runtime", "_graphmend.py")
    with open(path, encoding="utf-8", newline="") as stream:
        return stream.read()


def place(path: str, read: Callable[[str], str | None]) -> RuntimePlace:
    """Where the runtime of mended code in ``path`` stands; ``read`` gives a file's text or None.

    It goes into the top package of the file, to be imported relatively, or beside a file outside any
    package.  A file of the same name that is not ours is left alone and another name chosen.
    """
    path = os.path.abspath(path)
    chain = _packages(path)
    folder = chain[-1] if chain else os.path.dirname(path)
    dots = "." * len(chain)
    if not chain and _RELATIVE_IMPORT.search(read(path) or ""):
        dots = "."  # a package without __init__.py
    wanted = runtime_text()
    for name in _names():
        target = os.path.join(folder, name + ".py")
        there = read(target)
        if there is None and (os.path.exists(target) or os.path.isdir(os.path.join(folder, name))):
            continue
        if there is None or (there != wanted and _is_older(there, wanted)):
            return RuntimePlace(dots + name, target, wanted)
        if _is_ours(there):
            return RuntimePlace(dots + name)
    raise AssertionError("unreachable: the names do not end")


def write(new: NewFile) -> None:
    """Write the runtime, where none or an older one stands; another file may have come there since that was looked at.

    Raises:
        SourceError: there is one, or it cannot be written.
    """
    if os.path.lexists(new.path):
        try:
            there = files.read(new.path).text
        except files.SourceError as error:
            raise files.SourceError(f"not written: {error}") from None
        if not _is_ours(there):
            raise files.SourceError("not written: another file stands there now")
    files.create(new.path, new.text)


def _names() -> Iterator[str]:
    yield "_graphmend"
    yield "_graphmend_runtime"
    yield from (f"_graphmend_runtime_{number}" for number in count(2))


def _packages(path: str) -> tuple[str, ...]:
    """The packages that a relative import in ``path`` can be sure of, innermost first.

    A directory with a project's own files (``pyproject.toml`` ...) is the place a package stands in, even
    if someone put an ``__init__.py`` there; the package then starts below it.
    """
    chain = layout.package_chain(path)
    for depth, folder in enumerate(chain):
        if depth and any(os.path.exists(os.path.join(folder, marker)) for marker in layout.PROJECT_MARKERS):
            return chain[:depth]
    return chain


def _is_ours(text: str) -> bool:
    return text == runtime_text() or is_runtime_file(text)


def _is_older(text: str, wanted: str) -> bool:
    """Whether ``text`` is a runtime of ours that ``wanted`` replaces (a newer one is kept)."""
    if text.replace("\r\n", "\n") == wanted:
        return False  # checked out with the platform's line endings
    there, ours = runtime_version(text), runtime_version(wanted)
    return there is not None and (ours is None or _numbers(there) <= _numbers(ours))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
