"""What one file's compiled code is: its entries, those of other files that reach it, and the facts of both.

Facts are used again from check to check as long as nothing that an entry can look at has changed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from graphmend_lsp.callers import Search
from graphmend_lsp.finding import Internal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.library import Library, Shared, library_for
from graphmend_lsp.model.closure import Closures
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, Module
from graphmend_lsp.model.program import ProgramView
from graphmend_lsp.model.regions import Entry, entries
from graphmend_lsp.parse import Parsed
from graphmend_lsp.settings import Settings

_MAX_ENGINES = 6
"""After so many partial analyses everything is analysed anew, so that old ones do not pile up in memory."""


@dataclass(frozen=True, eq=False)
class Region:
    """An entry with all that it reaches.

    ``facts`` are those of every function called, each calling context once; ``direct`` the ids of those that no
    other entry of the check lies before: a break there is this entry's cost.
    """

    entry: Entry
    engine: Shared
    facts: tuple[Facts, ...]
    direct: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Reused:
    """Facts of an entry, with the chunks they may depend on and the engine that found them.

    Facts that an earlier entry has found are taken over with that entry's evidence (where a value was seen to be a
    tensor), so they hold only as long as those chunks (``evidence``) are there, too.
    """

    closure: frozenset[int]
    evidence: frozenset[int]
    wide: bool
    """Whether code of other files leads back to this one, so that what their names stand for here counts, too."""
    facts: Facts
    engine: Shared


@dataclass(frozen=True, eq=False)
class Kept:
    """What one check leaves to the next: the facts of each entry, by the entry's node and receiver."""

    entries: dict[tuple[ast.AST, str], _Reused]
    silent: frozenset[str]

    @property
    def engines(self) -> set[Shared]:
        return {kept.engine for kept in self.entries.values()}

    @property
    def _libraries(self) -> set[Library]:
        return {engine.library for engine in self.engines if engine.library is not None}

    def holds(self, program: ProgramView, silent: frozenset[str], library: Library | None = None) -> bool:
        """Whether nothing outside the file has changed, and not too much has piled up."""
        return (
            self.silent == silent
            # the library at hand has just been compared with the files
            and all(known.is_true(program) if library is None else known is library for known in self._libraries)
            and len(self.engines) <= _MAX_ENGINES
            and all(engine.loader.unchanged(program) for engine in self.engines)
        )


class Superseded(BaseException):
    """Nobody wants the result of a check any more: not an error, so nothing that isolates errors of ours catches it."""


class Reach:
    """The regions of one file, for one check; ``wanted`` is asked before each entry whether anybody waits for it.

    Raises:
        Superseded: from ``regions``, where ``wanted`` said no.
    """

    def __init__(
        self,
        path: str,
        parsed: Parsed,
        program: ProgramView,
        settings: Settings,
        before: Kept | None,
        wanted: Callable[[], bool] | None = None,
    ) -> None:
        self.path = path
        self.program = program
        self.settings = settings
        self.engine = Shared(program, settings.torch_version)
        self.module: Module = self.engine.loader.module(path, parsed)
        self.callers: dict[ast.AST, list[Facts]] = {}
        self._before = before
        self._wanted = wanted
        self._kept: dict[tuple[ast.AST, str], _Reused] = {}
        self._closures = Closures(self.module)
        self._present = frozenset(parsed.seen_by_id)
        self._found_for: dict[int, frozenset[int]] = {}
        """For each of the new facts, by id, the closure of the entry that they were found for."""
        self._outer: dict[Shared, frozenset[int]] = {}
        self._new: dict[tuple[ast.AST, str], FunctionInfo] = {}
        """The entries that this check has analysed."""
        self._failures: list[Internal] = []

    @property
    def internal(self) -> list[Internal]:
        """Errors of our own: what they were met in is treated as unknown, or left out."""
        return [*self._failures, *(failure for failure in map(self._of_engine, self.engine.failures) if failure)]

    def _of_engine(self, failure: tuple[str, str]) -> Internal | None:
        function, trace = failure
        error = trace.rstrip().rpartition("\n")[2]
        if error.startswith("RecursionError"):
            return None  # code nested too deeply, which is no mistake
        return Internal(self.path, None, f"the analysis of `{function}`", error, trace)

    def regions(self, silent: frozenset[str]) -> tuple[list[Region], Kept]:
        """All regions, those of explicit entries first; ``silent`` are functions whose calls never break."""
        self.engine.silent |= silent
        name = self.engine.loader.own
        library = library_for(self.program, self.path, name, self.engine.release, silent)
        self.engine.use(library, self.path)
        before = self._before
        self._before = before if before is not None and before.holds(self.program, silent, library) else None
        for engine in self._before.engines if self._before is not None else ():
            self.engine.loader.adopt(engine.loader)
        own = entries(self.module, self.settings.entries, self.engine)
        nodes = {entry.function.node for entry in own}
        found = [(entry, kept) for entry in own if (kept := self._facts(entry)) is not None]
        try:
            for pair in self._outside(found.copy()):
                found.append(pair)
        except Exception as error:  # what was found so far is good
            self._failures.append(Internal.of(self.path, None, "the search for callers", error))
        self._settle()
        nodes |= {entry.function.node for entry, _ in found}
        found.sort(key=lambda pair: not pair[0].explicit)
        regions = [self._region(entry, kept, nodes) for entry, kept in found]
        self._before = self._wanted = None  # of no use any more
        return regions, Kept(self._kept, silent)

    def _facts(self, entry: Entry) -> _Reused | None:
        """Facts of an entry: those of the last check where nothing they can see has changed, else new ones."""
        function = entry.function
        key = _key(entry)
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        kept = self._before.entries.get(key) if self._before is not None else None
        if (
            kept is None
            or kept.closure != self._closure(function, kept.engine, kept.wide)
            or not kept.evidence <= self._present
        ):
            if self._wanted is not None and not self._wanted():
                raise Superseded
            try:
                facts = self.engine.generic(function)
            except Exception as error:
                place = f"the analysis of `{function.qualname}`"
                self._failures.append(Internal.of(self.path, None, place, error))
                facts = None
            if facts is None:
                return None
            wide = self.engine.loader.led_back
            closure = self._closure(function, self.engine, wide)
            kept = _Reused(closure, self._evidence(facts, closure), wide, facts, self.engine)
            self._new[key] = function
        self._kept[key] = kept
        return kept

    def _settle(self) -> None:
        """Give new facts that depend on other files the closures that follow from all files that were read."""
        self._outer.pop(self.engine, None)
        for key, function in self._new.items():
            kept = self._kept[key]
            if kept.wide or self._is_outer(function):
                closure = self._closure(function, kept.engine, kept.wide)
                here = closure & self._present
                self._kept[key] = replace(kept, closure=closure, evidence=kept.evidence | here)

    def _evidence(self, start: Facts, closure: frozenset[int]) -> frozenset[int]:
        """The chunks of this file that the evidence in an entry's facts may stand in."""
        found = here = closure & self._present
        for facts in _all(start):
            found |= self._found_for.setdefault(id(facts), here)
        return found

    def _closure(self, function: FunctionInfo, engine: Shared, wide: bool) -> frozenset[int]:
        """The chunks of this file that an entry can look at."""
        closure = self._closures.of(function.chunk.id)
        if function.receiver is not None:
            closure |= self._closures.of(function.receiver.chunk.id)
        if wide or self._is_outer(function):
            if engine not in self._outer:
                self._outer[engine] = self._closures.of_texts(engine.loader.other_texts())
            closure |= self._outer[engine]
        return closure

    def _is_outer(self, function: FunctionInfo) -> bool:
        """Whether an entry is all of another file."""
        receiver = function.receiver
        return function.module is not self.module and (receiver is None or receiver.module is not self.module)

    def _region(self, entry: Entry, kept: _Reused, nodes: AbstractSet[ast.AST]) -> Region:
        """Everything an entry reaches; the calls are noted in ``callers``."""
        found = _all(kept.facts)
        for facts in found:
            for callee in facts.callees:
                self.callers.setdefault(callee.function.node, []).append(facts)
        direct: set[int] = set()
        todo = [kept.facts]
        while todo:
            facts = todo.pop()
            if id(facts) not in direct:
                direct.add(id(facts))
                todo += [callee for callee in facts.callees if callee.function.node not in nodes]
        return Region(entry, kept.engine, tuple(found), frozenset(direct))

    # -- other files -----------------------------------------------------------------------------

    def _outside(self, own: list[tuple[Entry, _Reused]]) -> Iterator[tuple[Entry, _Reused]]:
        """Entries of other files that compile or reach functions of this one, as far as the search finds them."""
        inside = {name for _, kept in own for name in self._reached(kept.facts)}
        search = Search(self.module, self.engine, self.program, self.settings.entries, inside)
        explicit = {_key(entry): entry.explicit for entry, _ in own}
        for entry in search.run():
            key = _key(entry)
            if key in explicit and (explicit[key] or not entry.explicit):
                continue
            implied_here = key in explicit
            explicit[key] = entry.explicit
            kept = self._facts(entry)
            if kept is None:
                continue
            reached = self._reached(kept.facts)
            search.note(reached)
            if reached or implied_here:
                yield entry, kept

    def _reached(self, start: Facts) -> set[str]:
        """Functions of this file that an entry reaches, by qualified name; of a nested one its outermost function."""
        found: set[str] = set()
        for facts in _all(start):
            function = facts.function
            if function.module.path == self.path:  # facts of an earlier check have its module
                while function.parent is not None:
                    function = function.parent
                found.add(function.qualname)
        return found


def _all(start: Facts) -> list[Facts]:
    """Facts and those of everything that is called, each once."""
    found: dict[int, Facts] = {}
    todo = [start]
    while todo:
        facts = todo.pop()
        if id(facts) not in found:
            found[id(facts)] = facts
            todo += () if facts.shared else facts.callees
    return list(found.values())


def _key(entry: Entry) -> tuple[ast.AST, str]:
    receiver: ClassInfo | None = entry.function.receiver
    return entry.function.node, receiver.qualname if receiver is not None else ""
