"""Which files of a folder can have findings: those that mention torch, and what these import, by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphmend_lsp.project import plain
from graphmend_lsp.project.config import LoadedConfig
from graphmend_lsp.project.discover import discover

_MENTION = re.compile(rb"torch|graphmend")
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)\b(?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")


@dataclass(frozen=True)
class _Look:
    """A file by its bytes: no parse, so that thousands of them cost little."""

    state: tuple[int, int]
    mentions: bool
    imports: frozenset[bytes]


class Survey:
    """Looks at the files of a workspace, each once as long as it stays as it is.

    A superset: a name that is imported anywhere stands for every file of that name.
    """

    def __init__(self) -> None:
        self._looks: dict[str, _Look] = {}

    def files(self, roots: Iterable[str], every: Callable[[str, LoadedConfig], bool]) -> list[str]:
        """The files to check, in order of path; ``every`` says whether one is checked whatever is in it."""
        found = dict(discover(roots).files)
        self._looks = {path: look for path in found if (look := self._look(path)) is not None}
        wanted = {path for path, look in self._looks.items() if look.mentions or every(path, found[path])}
        by_name: dict[bytes, list[str]] = {}
        for path in self._looks:
            by_name.setdefault(_name(path), []).append(path)
        todo = list(wanted)
        while todo:
            for name in self._looks[todo.pop()].imports:
                for path in by_name.pop(name, ()):
                    if path not in wanted:
                        wanted.add(path)
                        todo.append(path)
        return sorted(wanted)

    def _look(self, path: str) -> _Look | None:
        try:
            found = os.stat(path)
            state = found.st_mtime_ns, found.st_size
            known = self._looks.get(path)
            if known is not None and known.state == state:
                return known
            data = plain.read(path, plain.MOST_BYTES)[1]
        except OSError:
            return None
        names = frozenset(word for line in _IMPORT.findall(data) for word in _WORD.findall(line))
        return _Look(state, _MENTION.search(data) is not None, names)


def _name(path: str) -> bytes:
    """What an import calls the module."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return os.fsencode(os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem)
