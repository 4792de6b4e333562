"""The program around a file as the analysis sees it, with a note of everything that was asked."""

from __future__ import annotations

import os
from dataclasses import astuple

from graphmend_lsp.check import RuntimePlace
from graphmend_lsp.hook import indexes
from graphmend_lsp.hook.depends import Row, State, content, listing, state, state_of
from graphmend_lsp.model.program import Caller
from graphmend_lsp.project import files, layout
from graphmend_lsp.project.config import LoadedConfig, load_for
from graphmend_lsp.project.index import Index
from graphmend_lsp.project.program import DiskProgram, SourceCache
from graphmend_lsp.settings import RuntimeMode

_Seen = dict[str, tuple[State, str | None]]
_SEEN: _Seen = {}


class _Texts(SourceCache):
    """Texts by path, and the states that they were read in.

    ``shared`` holds what other files of this process have read: neighbours look at the same files.
    """

    def __init__(self, shared: _Seen) -> None:
        super().__init__()
        self.states: dict[str, State] = {}
        self._shared = shared

    def text(self, path: str) -> str | None:
        if path not in self.states:
            self.states[path] = self._look(path)[0]
        return self._shared[path][1]

    def index(self, path: str) -> Index:
        return indexes.index(path)

    def _look(self, path: str) -> tuple[State, str | None]:
        known = self._shared.get(path)
        if known is not None:
            return known
        text: str | None = None
        now: State = None
        try:
            found, data = content(path)
            now = state_of(found, data)
            text = files.decode(data, path).text
        except (OSError, ValueError, files.SourceError):
            pass
        self._shared[path] = now, text
        return now, text


def forget() -> None:
    """Files may have changed: they are read again."""
    _SEEN.clear()


class RecordedProgram:
    """``check.ProgramView`` over the files on disk; mended code takes the runtime from this package."""

    def __init__(self, path: str, roots: tuple[str, ...], runtime_mode: RuntimeMode = "package") -> None:
        self._texts = _Texts(_SEEN)
        self._path = path
        self._workspace = roots
        self._roots = layout.search_roots(path)
        self._names: dict[str, tuple[str, bool]] = {path: layout.module_name(path)}
        self._callers: list[Row] = []
        self._program = DiskProgram(roots, cache=self._texts, runtime_mode=runtime_mode).for_file(path)

    def source(self, module: str) -> tuple[str, str] | None:
        return self._program.source(module)

    def module_name(self, path: str) -> tuple[str, bool]:
        self._names[path] = name = self._program.module_name(path)
        return name

    def callers(self, path: str, functions: tuple[str, ...], named: tuple[str, ...]) -> tuple[Caller, ...]:
        extent = layout.project_extent(path)
        before = listing(*extent)
        found = self._program.callers(path, functions, named)
        self._callers.append(("callers", path, functions, named, tuple(map(astuple, found)), extent, before))
        return found

    def is_missing(self, package: str) -> bool:
        del package
        return False  # it decides about a finding that no mend is for

    def scope(self) -> object:
        return type(self), self._program.scope()

    def runtime(self, path: str) -> RuntimePlace:
        return self._program.runtime(path)

    def depends(self) -> tuple[Row, ...]:
        """What was asked and answered, as ``depends.refreshed`` takes it."""
        rows: list[Row] = [("roots", self._path, self._roots), *self._callers]
        rows += (("name", path, *name) for path, name in self._names.items())
        rows += (("file", path, state) for path, state in self._texts.states.items())
        return tuple(rows)


class CheckedProgram(RecordedProgram):
    """The same for findings, not for mends in memory: what is missing counts, and where fixes find the runtime."""

    def __init__(self, path: str, roots: tuple[str, ...], runtime_mode: RuntimeMode) -> None:
        super().__init__(path, roots, runtime_mode)
        self._mode: RuntimeMode = runtime_mode
        self._missing: dict[str, bool] = {}
        self._runtime: RuntimePlace | None = None

    def is_missing(self, package: str) -> bool:
        answer = self._missing[package] = self._program.is_missing(package)
        return answer

    def runtime(self, path: str) -> RuntimePlace:
        place = self._runtime = super().runtime(path)
        return place

    def depends(self) -> tuple[Row, ...]:
        rows = super().depends()
        rows += tuple(("missing", self._path, self._workspace, *answer) for answer in self._missing.items())
        place = self._runtime
        if place is not None and self._mode == "vendored":
            rows += (("runtime", self._path, self._workspace, (place.module, place.path)),)
        return rows


def configuration(path: str) -> tuple[LoadedConfig, tuple[Row, ...]]:
    """The configuration that holds for a file, and what that depends on."""
    before = [("file", candidate, state(candidate)) for candidate in _candidates(path)]
    config = load_for(path)
    if config.path is not None:  # those further up were not looked at
        before = before[: [row[1] for row in before].index(config.path) + 1]
    return config, tuple(before)


def _candidates(path: str) -> list[str]:
    folder = os.path.dirname(os.path.abspath(path))
    found: list[str] = []
    while True:
        found.append(os.path.join(folder, "pyproject.toml"))
        parent = os.path.dirname(folder)
        if parent == folder:
            return found
        folder = parent
