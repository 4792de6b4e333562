"""The way back from a function to the compiled code that reaches it, over what is known of all files of a project.

Names only: a method may be mentioned on an object of any class.  Whoever asks verifies the answer by analysing the
callers.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol

from graphmend_lsp.flow.host import CONSTRUCTORS
from graphmend_lsp.model.program import Caller, Mention
from graphmend_lsp.model.regions import NOT_IN_FORWARD
from graphmend_lsp.project.summary import Outline, Unit, word_hash

_MAX_UNITS = 150
"""How many functions are followed back from one before the search ends."""
_MAX_ROOTS = 24
_MAX_STEPS = 4
"""How long a way of calls may be."""
_COMMON = 60
"""A name that so many functions mention says little on the way back from one that calls the function asked for."""
_SAMPLE = 8
"""Of the functions that mention a common name so many are followed: a base class that all models share is meant."""
CALLED = ("forward", "__call__")
_AT_ONCE = 64
"""Files whose parts are read at once: often enough is found in the nearest."""
_MAX_ALIASES = 12
"""Re-exports that a name is followed through."""


class Parts(Protocol):
    """Gives the parts of files."""

    def of(self, path: str) -> tuple[Unit, ...]:
        """The parts of a file."""
        ...

    def prepare(self, paths: Iterable[str]) -> None:
        """Files whose parts are asked for next."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The callers of one function; ``asked`` are the names that were looked for on the way."""

    callers: tuple[Caller, ...]
    asked: frozenset[str]


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


def _sampled(mentions: Iterable[tuple[str, Unit, str]]) -> list[tuple[str, Unit, str]]:
    """All of them, or some of so many that the name says little."""
    found = list(mentions)
    return found[:: -(-len(found) // _SAMPLE)] if len(found) > _COMMON else found


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


class Graph:
    """One state of all files, with the imports between them."""

    def __init__(self, outlines: dict[str, Outline], parts: Parts) -> None:
        self._paths: dict[str, str] = {}
        for path, outline in outlines.items():
            self._paths.setdefault(outline.module, path)
        outlines = {path: self._beside(outline) for path, outline in outlines.items()}
        self._outlines = outlines
        self._parts = parts
        self._holders: dict[str, set[str]] = {}
        """For each name that was asked for the files that may mention it."""
        self._mentioned: dict[str, dict[str, tuple[Unit, ...]]] = {}
        """For each name that was asked for the parts of files that do, as far as files were looked at."""
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
        self._stars = {path for path, outline in outlines.items() if outline.stars}
        for path, outline in outlines.items():
            for name, bases in outline.bases:
                for base in bases.split():
                    self._made_from.setdefault(base, set()).add(name)
            for local, target in outline.imports:
                last = target.rpartition(".")[2]
                if local != last:
                    self._made_from.setdefault(last, set()).add(local)
                self._imported.setdefault(last, []).append((local, path))
                self._importing.setdefault(target, set()).add(path)
            for target in {*(t for _, t in outline.imports), *outline.stars}:
                source = self._paths.get(target) or self._paths.get(target.rpartition(".")[0])
                if source is not None and source != path:
                    self._users.setdefault(source, set()).add(path)
        self._dependents: dict[str, frozenset[str]] = {}

    def _beside(self, outline: Outline) -> Outline:
        """The outline with full names of the modules that a script imports from its own folder, which is no package."""
        folder = outline.module.rpartition(".")[0]
        if not folder or folder in self._paths:
            return outline

        def full(target: str) -> str:
            known = any(name in self._paths for name in _prefixes(target))
            near = f"{folder}.{target}"
            return (
                near if not known and any(name in self._paths for name in (near, near.rpartition(".")[0])) else target
            )

        imports = tuple((local, full(target)) for local, target in outline.imports)
        return replace(outline, imports=imports, stars=tuple(map(full, outline.stars)))

    def follow(self, path: str, outline: Outline) -> None:
        """Take over another outline of a file that differs in its parts, and what these mention, alone."""
        self._outlines[path] = self._beside(outline)
        for name, holders in self._holders.items():
            holders.discard(path)
            self._mentioned[name].pop(path, None)
            if outline.may_mention(word_hash(name)):
                holders.add(path)

    def compiling(self, path: str) -> Iterator[Caller]:
        """Files that may compile something of a file, as a whole."""
        for user in sorted(self._users.get(path, ())):
            if self._outlines[user].compiles:
                yield Caller(self._outlines[user].module, "")

    def callers(self, path: str, function: str, named: frozenset[str]) -> Answer:
        """Entries that may reach one function."""
        if path not in self._outlines:
            return Answer((), frozenset())
        self._asked = set()
        found = tuple(itertools.islice(self._roots(path, function, named), _MAX_ROOTS))
        return Answer(found, frozenset(self._asked))

    def _roots(self, path: str, function: str, named: frozenset[str]) -> Iterator[Caller]:
        """Entries in other files from which a function may be reached, the nearest first."""
        seen = {(path, function)}
        todo: deque[_Step] = deque([_Step(path, function, 0, None)])
        while todo and len(seen) < _MAX_UNITS:
            step = todo.popleft()
            if step.count >= _MAX_STEPS:
                break
            mentions = self._mentions(step.path, step.qualname)
            for place, unit, local in _sampled(mentions) if step.count else mentions:
                if (place, unit.qualname) in seen:
                    continue
                via = step.via
                if place != path and via is None:
                    if not self._may_mean(place, unit, local, path, step.qualname):
                        continue
                    via = Mention(self._outlines[place].module, unit.qualname, step.qualname, local)
                seen.add((place, unit.qualname))
                outline = self._outlines[place]
                root = self._root(place, unit)
                if root is None:
                    todo.append(_Step(place, unit.qualname, step.count + 1, via))
                    if outline.compiles or not named.isdisjoint((unit.qualname, unit.name)):
                        root = unit.qualname
                if root is not None and place != path:
                    yield Caller(outline.module, root, function, via, step.count + 1)

    def _root(self, path: str, unit: Unit) -> str | None:
        """The entry that a function is or sets up: ``forward``, also where it is mentioned in ``__init__``."""
        owner, _, name = unit.qualname.rpartition(".")
        if owner and name in CALLED:
            return unit.qualname if self._outlines[path].torch or name == "forward" else None
        cls = owner if name == "__init__" else unit.qualname
        if name == "__init__" or not owner:
            for called in CALLED:
                if any(u.qualname == f"{cls}.{called}" for u in self._parts.of(path)):
                    return f"{cls}.{called}"
        return None

    def _mentions(self, path: str, qualname: str) -> Iterator[tuple[str, Unit, str]]:
        """Units that may use a function, method or global, with their files and the name it has there."""
        owner, _, name = qualname.rpartition(".")
        if owner and name in CONSTRUCTORS:
            owner, _, name = owner.rpartition(".")  # who makes an object names its class
        if name.startswith("__") or name in NOT_IN_FORWARD or name in CALLED:
            return
        self._asked.add(name)
        own = self._parts.of(path)
        yield from ((path, unit, name) for unit in own if unit.qualname != qualname and unit.mentions(name))
        asked: dict[str, list[str]] = {}
        for local, places in self._names_of(path, owner, name):
            self._asked.add(local)
            for place in (self._holding(local) & places) - {path}:
                asked.setdefault(place, []).append(local)
        folder = os.path.dirname(path)
        near = sorted(asked, key=lambda place: (os.path.dirname(place) != folder, self._size(place), place))
        for start in range(0, len(near), _AT_ONCE):
            self._parts.prepare(near[start : start + _AT_ONCE])
            for place in near[start : start + _AT_ONCE]:
                found = {unit: local for local in asked[place] for unit in self._mentioning(place, local)}
                yield from ((place, unit, found[unit]) for unit in sorted(found, key=lambda unit: unit.qualname))

    def _mentioning(self, place: str, name: str) -> tuple[Unit, ...]:
        """The parts of a file that mention a name."""
        known = self._mentioned[name].get(place)
        if known is None:
            known = tuple(unit for unit in self._parts.of(place) if unit.mentions(name))
            self._mentioned[name][place] = known
        return known

    def _holding(self, name: str) -> set[str]:
        """The files that may mention a name."""
        known = self._holders.get(name)
        if known is None:
            word = word_hash(name)
            holders = (path for path, outline in self._outlines.items() if outline.may_mention(word))
            known = self._holders[name] = set(holders)
            self._mentioned[name] = {}
        return known

    def _names_of(self, path: str, owner: str, name: str) -> Iterator[tuple[str, AbstractSet[str]]]:
        """What a function may be called in other files, and in which."""
        dependents = self._dependents_of(path)
        if owner:
            yield name, dependents
            return
        module = self._outlines[path].module
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
        targets = [target for name, target in self._outlines[place].imports if name == local]
        return (not targets and not owner) or any(self._may_come_from(target, path) for target in targets)

    def _heirs_of(self, cls: str) -> frozenset[str]:
        """Names of the classes that may be made from one of this name, in any file."""
        known = self._heirs.get(cls)
        if known is None:
            known = self._heirs[cls] = frozenset(_reached(self._made_from, cls))
        return known

    def _may_come_from(self, dotted: str, path: str) -> bool:
        """Whether a dotted name may stand for something that ``path`` defines, through re-exports."""
        top = self._outlines[path].module.partition(".")[0]
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
            outline = self._outlines[place]
            todo += [target for local, target in outline.imports if local == last]
            todo += [f"{star}.{last}" for star in outline.stars]
        return False

    def _size(self, path: str) -> int:
        """Small files are cheap to analyse."""
        return self._outlines[path].count

    def _dependents_of(self, path: str) -> frozenset[str]:
        """Files that import a file, directly or through others."""
        known = self._dependents.get(path)
        if known is None:
            known = self._dependents[path] = frozenset(_reached(self._users, path) - {path})
        return known
