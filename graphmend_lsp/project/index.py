"""Which functions of a project may call a function, found by name over summaries of all its files.

The way back from a function to the compiled code that reaches it.  Names only: a method may be mentioned on an
object of any class.  Whoever asks verifies the answer by analysing the callers.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from graphmend_lsp.model.program import Caller, Mention
from graphmend_lsp.model.regions import NOT_IN_FORWARD
from graphmend_lsp.project import files, layout, store
from graphmend_lsp.project.discover import discover, is_file, is_folder
from graphmend_lsp.project.summary import Blocks, Summary, Unit, summarise

MAX_FILES = 6000
"""Of a larger project only so many files, in order of path, are seen."""
_FRESH = 2.0
"""Seconds for which a listing of the project's folders is trusted, at least."""
_SHARE = 40
"""So many times as long as it took to make, a listing is trusted: looking at the disk is to cost little."""
_MAX_UNITS = 150
"""How many functions are followed back from one before the search ends."""
_MAX_ROOTS = 24
_MAX_STEPS = 4
"""How long a way of calls may be."""
_COMMON = 60
"""A name that so many functions mention says little on the way back from one that calls the function asked for."""
_SAMPLE = 8
"""Of the functions that mention a common name so many are followed: a base class that all models share is meant."""
_CALLED = ("forward", "__call__")
_MAX_ALIASES = 12
"""Re-exports that a name is followed through."""


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
        self._stored: _Mentions | None = None
        """Where names are mentioned, in the files as they are on disk."""
        self._graph: _Graph | None = None
        self._answers: dict[tuple[str, str, tuple[str, ...]], _Answer] = {}

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

    def _state(self) -> _Graph:
        """What mentions what, as it is now."""
        if self._stored is None:
            self._stored = _mentions((p, row[2]) for p, row in (self._rows or {}).items())
        if self._graph is None:
            summaries = {p: row[2] for p, row in (self._rows or {}).items()}
            buffers = {p: summary for p, (_, summary) in self._buffers.items()}
            self._graph = _Graph(summaries | buffers, self._stored, buffers)
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
            before = known[1] if known is not None else rows[path][2]
            self._buffers[path] = (text, summary)
            changed = changed or not self._follow(path, before, summary)
        if changed:
            self._forget()

    def _follow(self, path: str, before: Summary, now: Summary) -> bool:
        """Take over another summary of a buffer where only its functions, or what they mention, have changed."""
        if before == now:
            return True
        if self._graph is None or not _same_outline(before, now):
            return False
        names = _changed_names(before.units, now.units)
        if names is None or not self._graph.follow(path, now):
            return False
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
        fresh: list[tuple[str, store.Row]] = []
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
                try:
                    text = files.read(path).text
                except files.SourceError:
                    text = ""
                row = (state.st_mtime_ns, state.st_size, _summary(path, text))
                fresh.append((path, row))
            now[path] = row
        gone = [path for path in known if path not in now]
        if first or fresh or gone:
            self._rows = now
            self._stored = None
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


def _summary(path: str, text: str, known: Blocks | None = None) -> Summary:
    module, is_package = layout.module_name(path)
    return summarise(text, module, is_package, known)


def _same_outline(a: Summary, b: Summary) -> bool:
    """Whether two summaries differ at most in their functions and what these mention."""
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
        elif any(unit.name in _CALLED or unit.name == "__init__" for unit in units):
            return None
        else:
            names.update(*(mentioned[unit] | {unit.name} for unit in units))
    return names


@dataclass(frozen=True, slots=True)
class _Answer:
    """The callers of one function; ``asked`` are the names that were looked for on the way."""

    callers: tuple[Caller, ...]
    asked: frozenset[str]


_Mentions = dict[str, list[tuple[str, Unit]]]
"""For each name the units that mention it, with their files."""


def _mentions(summaries: Iterable[tuple[str, Summary]]) -> _Mentions:
    found: _Mentions = {}
    for path, summary in summaries:
        for unit in summary.units:
            item = (path, unit)
            for name in unit.names.split():
                found.setdefault(name, []).append(item)
    return found


@dataclass(frozen=True, slots=True)
class _Step:
    """A function on the way back, with the number of calls so far; ``via`` as in ``Caller``."""

    path: str
    qualname: str
    count: int
    via: Mention | None


def _prefixes(module: str) -> Iterator[str]:
    """A dotted name and those of the packages around it."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def _reached(edges: Mapping[str, AbstractSet[str]], start: str) -> set[str]:
    """What the edges lead to from a name, directly or through others; the name itself only where a way leads back."""
    found: set[str] = set()
    todo = [start]
    while todo:
        for other in edges.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


class _Graph:
    """One state of all summaries, with the imports between files."""

    def __init__(self, summaries: dict[str, Summary], stored: _Mentions, buffers: dict[str, Summary]) -> None:
        self._paths: dict[str, str] = {}
        for path, summary in summaries.items():
            self._paths.setdefault(summary.module, path)
        summaries = {path: self._beside(summary) for path, summary in summaries.items()}
        self._summaries = summaries
        self._stored = stored
        self._buffered = _mentions(buffers.items())
        self._buffers = buffers
        self._asked: set[str] = set()
        self._heirs: dict[str, frozenset[str]] = {}
        self._made_from: dict[str, set[str]] = {}
        """For each name the classes and aliases that are made from something of that name."""
        self._users: dict[str, set[str]] = {}
        """For each file those that import it or something from it."""
        self._imported: dict[str, list[tuple[str, str]]] = {}
        """For each name that is imported from somewhere, what it is called where."""
        self._importing: dict[str, set[str]] = {}
        """For each dotted name the files that import it."""
        self._stars = {path for path, summary in summaries.items() if summary.stars}
        for path, summary in summaries.items():
            for name, bases in summary.bases:
                for base in bases.split():
                    self._made_from.setdefault(base, set()).add(name)
            for local, target in summary.imports:
                last = target.rpartition(".")[2]
                if local != last:
                    self._made_from.setdefault(last, set()).add(local)
                self._imported.setdefault(last, []).append((local, path))
                self._importing.setdefault(target, set()).add(path)
            for target in {*(t for _, t in summary.imports), *summary.stars}:
                source = self._paths.get(target) or self._paths.get(target.rpartition(".")[0])
                if source is not None and source != path:
                    self._users.setdefault(source, set()).add(path)
        self._dependents: dict[str, frozenset[str]] = {}

    def _beside(self, summary: Summary) -> Summary:
        """The summary with full names of the modules that a script imports from its own folder, which is no package."""
        folder = summary.module.rpartition(".")[0]
        if not folder or folder in self._paths:
            return summary

        def full(target: str) -> str:
            known = any(name in self._paths for name in _prefixes(target))
            near = f"{folder}.{target}"
            return (
                near if not known and any(name in self._paths for name in (near, near.rpartition(".")[0])) else target
            )

        imports = tuple((local, full(target)) for local, target in summary.imports)
        return replace(summary, imports=imports, stars=tuple(map(full, summary.stars)))

    def follow(self, path: str, summary: Summary) -> bool:
        """Take over another summary of a buffer, of the same outline; False if it was none yet."""
        if path not in self._buffers:
            return False
        self._buffers[path] = self._summaries[path] = self._beside(summary)
        self._buffered = _mentions(self._buffers.items())
        return True

    def compiling(self, path: str) -> Iterator[Caller]:
        """Files that may compile something of a file, as a whole."""
        for user in sorted(self._users.get(path, ())):
            if self._summaries[user].compiles:
                yield Caller(self._summaries[user].module, "")

    def callers(self, path: str, function: str, named: frozenset[str]) -> _Answer:
        """Entries that may reach one function."""
        if path not in self._summaries:
            return _Answer((), frozenset())
        self._asked = set()
        found = tuple(itertools.islice(self._roots(path, function, named), _MAX_ROOTS))
        return _Answer(found, frozenset(self._asked))

    def _roots(self, path: str, function: str, named: frozenset[str]) -> Iterator[Caller]:
        """Entries in other files from which a function may be reached, the nearest first."""
        seen = {(path, function)}
        todo: deque[_Step] = deque([_Step(path, function, 0, None)])
        while todo and len(seen) < _MAX_UNITS:
            step = todo.popleft()
            if step.count >= _MAX_STEPS:
                break
            mentions = list(self._mentions(step.path, step.qualname))
            if step.count and len(mentions) > _COMMON:
                mentions = mentions[:: -(-len(mentions) // _SAMPLE)]
            for place, unit, local in mentions:
                if (place, unit.qualname) in seen:
                    continue
                via = step.via
                if place != path and via is None:
                    if not self._may_mean(place, unit, local, path, step.qualname):
                        continue
                    via = Mention(self._summaries[place].module, unit.qualname, step.qualname, local)
                seen.add((place, unit.qualname))
                summary = self._summaries[place]
                root = self._root(summary, unit)
                if root is None:
                    todo.append(_Step(place, unit.qualname, step.count + 1, via))
                    if summary.compiles or not named.isdisjoint((unit.qualname, unit.name)):
                        root = unit.qualname
                if root is not None and place != path:
                    yield Caller(summary.module, root, function, via, step.count + 1)

    def _root(self, summary: Summary, unit: Unit) -> str | None:
        """The entry that a function is or sets up: ``forward``, also where it is mentioned in ``__init__``."""
        owner, _, name = unit.qualname.rpartition(".")
        if owner and name in _CALLED:
            return unit.qualname if summary.torch or name == "forward" else None
        cls = owner if name == "__init__" else unit.qualname
        if name == "__init__" or not owner:
            for called in _CALLED:
                if any(u.qualname == f"{cls}.{called}" for u in summary.units):
                    return f"{cls}.{called}"
        return None

    def _mentions(self, path: str, qualname: str) -> Iterator[tuple[str, Unit, str]]:
        """Units that may use a function, method or global, with their files and the name it has there."""
        owner, _, name = qualname.rpartition(".")
        if name.startswith("__") or name in NOT_IN_FORWARD or name in _CALLED:
            return
        self._asked.add(name)
        own = self._summaries[path]
        yield from ((path, unit, name) for unit in own.units if unit.qualname != qualname and unit.mentions(name))
        found: dict[tuple[str, Unit], str] = {}
        for local, places in self._names_of(path, owner, name):
            self._asked.add(local)
            for place, unit in self._mentioning(local):
                if place in places and place != path:
                    found[place, unit] = local
        folder = os.path.dirname(path)
        ordered = sorted(found, key=lambda f: (os.path.dirname(f[0]) != folder, self._size(f[0]), f[0], f[1].qualname))
        yield from ((place, unit, found[place, unit]) for place, unit in ordered)

    def _mentioning(self, name: str) -> Iterator[tuple[str, Unit]]:
        yield from (item for item in self._stored.get(name, ()) if item[0] not in self._buffers)
        yield from self._buffered.get(name, ())

    def _names_of(self, path: str, owner: str, name: str) -> Iterator[tuple[str, AbstractSet[str]]]:
        """What a function may be called in other files, and in which."""
        dependents = self._dependents_of(path)
        if owner:
            yield name, dependents
            return
        module = self._summaries[path].module
        whole = self._stars | {place for start in _prefixes(module) for place in self._importing.get(start, ())}
        renamed: dict[str, set[str]] = {}
        todo = [name]
        while todo:
            exported = todo.pop()
            renamed.setdefault(exported, set()).update(whole)
            for local, place in self._imported.get(exported, ()):
                if local not in renamed:
                    todo.append(local)
                renamed.setdefault(local, set()).add(place)
        for places in renamed.values():
            places &= dependents
        yield from renamed.items()

    # -- what a name means -----------------------------------------------------------------------------

    def _may_mean(self, place: str, unit: Unit, local: str, path: str, qualname: str) -> bool:
        """Whether a name in another file may be a function of ``path``, as far as imports and bases tell.

        A method is known where its class is imported, and in classes made from it; a function where nothing of that
        name is imported from elsewhere.
        """
        owner = qualname.rpartition(".")[0]
        if owner:
            if unit.qualname.partition(".")[0] in self._heirs_of(owner):
                return True
            local = owner
        targets = [target for name, target in self._summaries[place].imports if name == local]
        return (not targets and not owner) or any(self._may_come_from(target, path) for target in targets)

    def _heirs_of(self, cls: str) -> frozenset[str]:
        """Names of the classes that may be made from one of this name, in any file."""
        known = self._heirs.get(cls)
        if known is None:
            known = self._heirs[cls] = frozenset(_reached(self._made_from, cls))
        return known

    def _may_come_from(self, dotted: str, path: str) -> bool:
        """Whether a dotted name may stand for something that ``path`` defines, through re-exports."""
        top = self._summaries[path].module.partition(".")[0]
        todo = [dotted]
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            if len(seen) >= _MAX_ALIASES:
                return True  # too long to follow
            seen.add(name)
            head, _, last = name.rpartition(".")
            place = self._paths.get(head)
            if place == path:
                return True
            if place is None:
                if head.partition(".")[0] == top:
                    return True  # a file that the index does not have
                continue
            summary = self._summaries[place]
            todo += [target for local, target in summary.imports if local == last]
            todo += [f"{star}.{last}" for star in summary.stars]
        return False

    def _size(self, path: str) -> int:
        """Small files are cheap to analyse."""
        return len(self._summaries[path].units)

    def _dependents_of(self, path: str) -> frozenset[str]:
        """Files that import a file, directly or through others."""
        known = self._dependents.get(path)
        if known is None:
            known = self._dependents[path] = frozenset(_reached(self._users, path) - {path})
        return known
