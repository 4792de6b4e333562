"""What is known of all files of a project, kept up to date: outlines of all, the parts of those that are asked for."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from graphmend_lsp.model.program import Caller
from graphmend_lsp.project import files, layout, store
from graphmend_lsp.project.discover import discover, is_file, is_folder
from graphmend_lsp.project.summary import Blocks, Outline, Summary, Unit, summarise
from graphmend_lsp.project.ways import CALLED, Answer, Graph

MAX_FILES = 6000
"""Of a larger project only so many files, in order of path, are seen."""
_FRESH = 2.0
"""Seconds for which a listing of the project's folders is trusted, at least."""
_SHARE = 40
"""So many times as long as it took to make, a listing is trusted: looking at the disk is to cost little."""


class Index:
    """Summaries of the files under one root, brought up to date when asked.

    ``overlay`` holds the texts of open buffers by absolute path.
    """

    def __init__(self, root: str, flat: bool = False) -> None:
        self.root = root
        self.flat = flat
        """Whether only the files in the folder itself and the packages directly in it belong to the project."""
        self._rows: dict[str, store.Row] | None = None
        self._buffers: dict[str, tuple[str, Summary]] = {}
        self._blocks: dict[str, Blocks] = {}
        """What the parts of each buffer mention: an edit changes few of them."""
        self._until = 0.0
        """When the listing is to be made again, as ``time.monotonic`` counts; 0 for now."""
        self._held = False
        self._parts = _Parts(self._buffers)
        self._graph: Graph | None = None
        self._answers: dict[tuple[str, str, tuple[str, ...]], Answer] = {}

    def callers(
        self, path: str, functions: tuple[str, ...], named: tuple[str, ...], overlay: Mapping[str, str]
    ) -> tuple[Caller, ...]:
        """See ``ProgramView.callers``."""
        self._refresh(overlay)
        graph = self._state()
        found = list(graph.compiling(path))
        for function in functions:
            key = (path, function, named)
            answer = self._answers.get(key)
            if answer is None:
                answer = self._answers[key] = graph.callers(path, function, frozenset(named))
            found += answer.callers
        return tuple(found)

    def refresh(self) -> None:
        """Look at the disk again at the next question."""
        self._until = 0.0

    def hold(self) -> None:
        """Look at the disk once, then only after ``refresh``: for a run that sees one state of its files."""
        self._held = True

    def prepare(self) -> None:
        """Do what the first question would have to wait for."""
        self._refresh({})
        self._state()

    def _state(self) -> Graph:
        """What imports what, as it is now."""
        if self._graph is None:
            outlines = {path: row[2] for path, row in (self._rows or {}).items()}
            outlines.update((path, summary.outline) for path, (_, summary) in self._buffers.items())
            self._graph = Graph(outlines, self._parts)
        return self._graph

    # -- keeping up to date --------------------------------------------------------------------------

    def _refresh(self, overlay: Mapping[str, str]) -> None:
        now = time.monotonic()
        aged = now > self._until and (not self._held or not self._until)
        if self._rows is None or aged:
            self._read_disk()
            done = time.monotonic()
            self._until = done + max(_FRESH, _SHARE * (done - now))
        changed = False
        for path in [p for p in self._buffers if p not in overlay]:
            del self._buffers[path]
            self._blocks.pop(path, None)
            changed = True
        rows = self._rows or {}
        for path, text in overlay.items():
            known = self._buffers.get(path)
            if path not in rows or (known is not None and known[0] is text):
                continue
            summary = _summary(path, text, self._blocks.setdefault(path, {}))
            before = known[1] if known is not None else Summary(rows[path][2], self._parts.of(path))
            self._buffers[path] = (text, summary)
            changed = changed or not self._follow(path, before, summary)
        if changed:
            self._forget()

    def _follow(self, path: str, before: Summary, now: Summary) -> bool:
        """Take over another summary of a buffer where only its functions, or what they mention, have changed."""
        if before == now:
            return True
        if self._graph is None or not _same_outline(before.outline, now.outline):
            return False
        names = _changed_names(before.units, now.units)
        if names is None:
            return False
        self._graph.follow(path, now.outline)
        if [unit.qualname for unit in before.units] != [unit.qualname for unit in now.units]:
            self._answers.clear()  # their order, and how many they are, decides who is looked at first
        self._answers = {key: answer for key, answer in self._answers.items() if names.isdisjoint(answer.asked)}
        return True

    def _forget(self) -> None:
        self._graph = None
        self._answers.clear()

    def _read_disk(self) -> None:
        first = self._rows is None
        known = store.load(self.root) if self._rows is None else self._rows
        now: dict[str, store.Row] = {}
        names = _Names()
        fresh: list[tuple[str, int, int, Summary]] = []
        for path in self._files():
            try:
                state = os.stat(path)
            except OSError:
                continue
            row = known.get(path)
            if (
                row is None
                or row[:2] != (state.st_mtime_ns, state.st_size)
                or row[2].module != names.of(path)  # a configuration elsewhere may make another module of it
            ):
                made = _summary(path, _text(path))
                row = (state.st_mtime_ns, state.st_size, made.outline)
                fresh.append((path, *row[:2], made))
            now[path] = row
        gone = [path for path in known if path not in now]
        if first or fresh or gone:
            self._rows = now
            self._parts.renew(now, {path: made.units for path, _, _, made in fresh})
            self._forget()
            store.save(fresh, gone if not self.flat else ())

    def _files(self) -> list[str]:
        if not self.flat:
            return [path for path, _ in discover([self.root]).files[:MAX_FILES]]
        found: list[str] = []
        try:
            with os.scandir(self.root) as entries:
                for entry in entries:
                    if is_folder(entry) and os.path.isfile(os.path.join(entry.path, "__init__.py")):
                        found += [path for path, _ in discover([entry.path]).files]
                    elif entry.name.endswith(".py") and is_file(entry):
                        found.append(entry.path)
        except OSError:
            pass
        return sorted(found)[:MAX_FILES]


class _Parts:
    """The parts of files: of buffers, of files that were just read, and of others as they are stored."""

    def __init__(self, buffers: Mapping[str, tuple[str, Summary]]) -> None:
        self._buffers = buffers
        self._rows: Mapping[str, store.Row] = {}
        self._known: dict[str, tuple[Unit, ...]] = {}

    def renew(self, rows: Mapping[str, store.Row], fresh: Mapping[str, tuple[Unit, ...]]) -> None:
        """Follow another state of the disk."""
        before = self._rows
        same = {path for path, row in rows.items() if path in before and before[path] is row}
        self._rows = rows
        self._known = {path: units for path, units in self._known.items() if path in same} | dict(fresh)

    def of(self, path: str) -> tuple[Unit, ...]:
        """The parts of a file."""
        buffer = self._buffers.get(path)
        if buffer is not None:
            return buffer[1].units
        if path not in self._known:
            self.prepare((path,))
        return self._known[path]

    def prepare(self, paths: Iterable[str]) -> None:
        """Read the parts of several files at once; of one that is not stored any more from the file itself."""
        missing = [path for path in {*paths} - self._buffers.keys() if path not in self._known]
        if not missing:
            return
        self._known.update(store.load_units(missing, self._rows))
        for path in missing:
            if path not in self._known:
                self._known[path] = _summary(path, _text(path)).units


class _Names:
    """Names of modules, for many files of few folders."""

    def __init__(self) -> None:
        self._start: dict[str, str] = {}

    def of(self, path: str) -> str:
        folder, name = os.path.split(path)
        stem = os.path.splitext(name)[0]
        if stem == "__init__":
            return layout.module_name(path)[0]
        if folder not in self._start:
            self._start[folder] = layout.module_name(path)[0].removesuffix(stem)
        return self._start[folder] + stem


def _text(path: str) -> str:
    try:
        return files.read(path).text
    except files.SourceError:
        return ""


def _summary(path: str, text: str, known: Blocks | None = None) -> Summary:
    module, is_package = layout.module_name(path)
    return summarise(text, module, is_package, known)


def _same_outline(a: Outline, b: Outline) -> bool:
    """Whether two files differ at most in their functions and what these mention."""
    return (a.module, a.imports, a.stars, a.compiles, a.torch, a.bases) == (
        b.module,
        b.imports,
        b.stars,
        b.compiles,
        b.torch,
        b.bases,
    )


def _changed_names(before: tuple[Unit, ...], now: tuple[Unit, ...]) -> set[str] | None:
    """Names that other functions mention than before, or that other functions have; None where entries come or go."""
    old, new = Counter(before), Counter(now)
    changed = [*(old - new), *(new - old)]
    mentioned = {each: set(each.names.split()) for each in changed}
    by_name: dict[str, list[Unit]] = {}
    for unit in changed:
        by_name.setdefault(unit.qualname, []).append(unit)
    names: set[str] = set()
    for units in by_name.values():
        if len(units) == 2 and units[0] in old and units[1] in new:
            names |= mentioned[units[0]] ^ mentioned[units[1]]
        elif any(unit.name in CALLED or unit.name == "__init__" for unit in units):
            return None
        else:
            names.update(*(mentioned[unit] | {unit.name} for unit in units))
    return names
