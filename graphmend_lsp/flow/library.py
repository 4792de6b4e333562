"""What other files' code does, for every file that calls it: analysed once, not once for each check.

A ``Library`` is an engine that never sees the file at hand.  The engine of a check (``Shared``) asks it about code of
other files whose arguments, too, come from nowhere else, and adds the evidence of its own call to the answer.  Whatever
would have to look into the file at hand is left to the engine of the check, which then does as if there were no
library.

An answer depends on what is asked alone, not on who asked before: what was found out while something that it depends on
was being found out itself is kept for the one question only, and a limit that is met ends the library.
"""

from __future__ import annotations

import ast
import threading
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from graphmend_lsp.flow.base import Base
from graphmend_lsp.flow.classes import MAX_DEPTH
from graphmend_lsp.flow.contexts import NotShared, from_anywhere, full_signature
from graphmend_lsp.flow.engine import MAX_CONTEXTS, Engine, parameter_of
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.interpret import Interpreter
from graphmend_lsp.flow.names import OUTSIDE
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.untraceable import Release
from graphmend_lsp.flow.values import UNKNOWN, Bound, Closure, Null, Value, Why
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, FunctionNode, Loader, Module
from graphmend_lsp.model.program import ProgramView
from graphmend_lsp.parse import Chunk, Place
from graphmend_lsp.text import Span

_T = TypeVar("_T")
_CONTEXTS = 20 * MAX_CONTEXTS
_MAX_MODULES = 160
_MAX_FACTS = 12_000


class _Table(dict[Any, Any]):
    """Answers, with a journal of what they were, so that those to a question that led out of the library can go."""

    def __init__(self, journal: list[tuple[_Table, Any, Any]]) -> None:
        super().__init__()
        self._journal = journal

    def __setitem__(self, key: Any, value: Any) -> None:
        self._journal.append((self, key, self.get(key, _ABSENT)))
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        self._journal.append((self, key, self.get(key, _ABSENT)))
        super().__delitem__(key)

    def undo(self, key: Any, before: Any) -> None:
        """As it was, without a note in the journal."""
        if before is _ABSENT:
            super().__delitem__(key)
        else:
            super().__setitem__(key, before)


_ABSENT = object()


@dataclass(frozen=True)
class _Asker:
    """A check that asks: the program around its file, the file's path and the name of its module."""

    program: ProgramView
    path: str
    name: str


class _Shelf(Loader):
    """The modules of a library; the file that is at hand for who asks is not part of it."""

    def __init__(self, asker: _Asker) -> None:
        super().__init__(asker.program)
        self.asker = asker
        self.modules: set[Module] = set()
        self.paths: set[str] = set()

    def has_read(self, asker: _Asker) -> bool:
        """Whether the file at hand is among the modules, so that nothing can be asked for it."""
        return asker.path in self.paths or (bool(asker.name) and self._modules.get(asker.name) is not None)

    def load(self, name: str) -> Module | None:
        if name and name == self.asker.name:
            raise NotShared
        return super().load(name)

    def _read(self, name: str) -> Module | None:
        found = self.program.source(name)
        if found is not None and found[0] == self.asker.path:
            raise NotShared
        module = super()._read(name)
        if module is not None:
            self.modules.add(module)
            self.paths.add(module.path)
        return module


class Library(Engine):
    """Answers about the code of other files; ``loader`` holds those that it has read."""

    def __init__(self, asker: _Asker, release: Release, silent: frozenset[str]) -> None:
        self._journal: list[tuple[_Table, Any, Any]] = []
        self._shelf = _Shelf(asker)
        super().__init__(self._shelf, release)
        self.silent |= silent
        self.asked_for = (release, silent, asker.program.scope())
        self._lock = threading.RLock()
        self._led_out: dict[str, set[Any]] = {}
        """Questions that led out of the library, by the path of the file that was at hand."""
        self._whole: dict[Any, Any] = {}
        """Answers to questions that hold for them alone, not as a part of others."""
        self._open: set[Any] = set()
        """Names, attributes and decorators that are being found out."""
        self._asked: list[Any] = []
        """The question at hand and the analyses under way for it."""
        self._cut = 0
        """How often a call was not followed since it was too deep: what depends on it holds for that depth only."""
        self._arguments: dict[tuple[FunctionNode, str], Why] = {}
        self._closed_over: dict[int, dict[str, Value]] = {}
        self.worn = False
        """A limit was met: it serves no other check."""

    def table(self) -> dict[Any, Any]:
        return _Table(self._journal)

    def closed_over(self, env: dict[str, Value]) -> dict[str, Value]:
        self._closed_over[id(env)] = env
        return env

    # -- questions that lead back to themselves ----------------------------------------------------------

    def global_value(self, module: Module, name: str) -> Value:
        return self._once(("global", module, name), (module, name) in self._globals, super().global_value, module, name)

    def member(self, cls: ClassInfo, name: str, receiver: Value) -> Value:
        known = (cls, name) in self._members
        return self._once(("member", cls, name), known, super().member, cls, name, receiver)

    def external(self, dotted: str) -> Value:
        return self._once(("external", dotted), dotted in self._external, super().external, dotted)

    def decorated(self, closure: Closure, caller: Base | None) -> Value:
        known = closure.function in self._decorated
        return self._once(("decorated", closure.function), known, super().decorated, closure, caller)

    def _once(self, key: Any, known: bool, find: Callable[..., _T], *about: Any) -> _T:
        """An answer, with a note where it is being found out just now and a placeholder is all that there is."""
        if known:
            self._running += key in self._open
            return find(*about)
        self._open.add(key)
        try:
            return find(*about)
        finally:
            self._open.discard(key)

    # -- whose it is ------------------------------------------------------------------------------------

    def serves(self, asker: _Asker) -> bool:
        """Whether it can be asked in a check of a file."""
        with self._lock:
            return not self.worn and not self._shelf.has_read(asker) and self.is_true(asker.program)

    def is_true(self, program: ProgramView) -> bool:
        """Whether the files that it has read are what they were."""
        with self._lock:
            return self._shelf.unchanged(program)

    def has(self, function: FunctionInfo) -> bool:
        """Whether a function and all that it is part of are code of the library."""
        modules = self._shelf.modules
        inside: FunctionInfo | None = function
        while inside is not None:
            if inside.module not in modules or (inside.receiver or inside.cls or inside).module not in modules:
                return False
            inside = inside.parent
        return True

    def has_module(self, module: Module) -> bool:
        return module in self._shelf.modules

    def _knows(self, value: Value) -> bool:
        """Whether what a value refers to is code of the library, or no code."""
        ref = value.ref
        if isinstance(ref, Closure):
            return self.has(ref.function) and (ref.env is None or id(ref.env) in self._closed_over)
        if isinstance(ref, ClassInfo):
            return self.has_module(ref.module)
        if isinstance(ref, FunctionInfo):
            return self.has(ref)
        return isinstance(ref, Bound) or (isinstance(ref, Module) and self.has_module(ref))

    # -- questions --------------------------------------------------------------------------------------

    def attribute(self, cls: ClassInfo, name: str) -> Value | None:
        """``member``, of no object in particular."""
        self.member(cls, name, UNKNOWN)
        return self._members.get((cls, name))

    def answer(self, asker: _Asker, key: Any, question: Callable[[], _T]) -> _T | None:
        """What the library says; None where it says nothing, or would have to look into the file at hand."""
        with self._lock:
            led_out = self._led_out.setdefault(asker.path, set())
            if key in led_out or self._shelf.has_read(asker):
                return None
            if key in self._whole:
                return self._whole[key]
            self._shelf.asker, self._shelf.program = asker, asker.program
            self._journal.clear()
            running = self._running
            self._asked.append(key)
            try:
                found = question()
                if self._running != running:
                    # On the way something was asked for that was being found out just then: what was answered
                    # meanwhile is true for this question only.
                    self._undo(running)
                    self._whole[key] = found
                return found
            except NotShared:
                led_out.update(self._asked)
                self._undo(running)
            except Exception:
                led_out.add(key)  # the engine of the check meets it again, and reports it
                self._undo(running)
            except BaseException:
                self._undo(running)
                raise
            finally:
                self._asked.clear()
            return None

    def _undo(self, running: int) -> None:
        """Forget all that was found out for the question at hand."""
        self._running = running
        for table, key, before in reversed(self._journal):
            table.undo(key, before)

    def facts(
        self, asker: _Asker, function: FunctionInfo, params: dict[str, Value], env: Any, depth: int, learn: bool
    ) -> tuple[Facts | None] | None:
        """Facts for a call from outside, in a tuple; None where the library has none for it."""
        if not self.has(function) or not (env is None or id(env) in self._closed_over):
            return None
        with self._lock:
            try:
                params = self._from_anywhere(function, params)
                key = self._key(function, params, env, learn)
            except NotShared:
                return None
            return self.answer(asker, key, lambda: (self._facts(key, function, params, env, depth, learn),))

    def _from_anywhere(self, function: FunctionInfo, params: dict[str, Value]) -> dict[str, Value]:
        return {
            name: from_anywhere(value, name, self._argument_of(function, name), self._knows)
            for name, value in params.items()
        }

    def _argument_of(self, function: FunctionInfo, name: str) -> Why:
        """What stands for the evidence of an argument."""
        known = self._arguments.get((function.node, name))
        if known is None:
            place = Place(function.chunk.id, function.chunk.span(parameter_of(function, name) or function.node))
            message = f"`{name}` is a parameter of `{function.qualname}`"
            argument = (function.node, name)
            known = self._arguments[argument] = Why(place, function.module.path, message, argument=argument)
        return known

    @staticmethod
    def _key(function: FunctionInfo, params: dict[str, Value], env: Any, learn: bool) -> Any:
        return (function.node, (learn, None if env is None else id(env), full_signature(params)))

    def analyse(
        self,
        function: FunctionInfo,
        params: dict[str, Value],
        env: Any,
        depth: int,
        *,
        learn: bool = False,
        explain: Callable[[], dict[str, Value]] | None = None,
    ) -> Facts | None:
        del explain
        if depth > MAX_DEPTH:
            self._cut += 1
            return None
        params = self._from_anywhere(function, params)
        return self._facts(self._key(function, params, env, learn), function, params, env, depth, learn)

    def _facts(
        self, key: Any, function: FunctionInfo, params: dict[str, Value], env: Any, depth: int, learn: bool
    ) -> Facts | None:
        if key in self._memo:
            self._running += self._memo[key] is None and key in self._asked
            return self._memo[key]
        here = (key, depth)
        if here in self._memo:
            self._cut += 1
            return self._memo[here]
        count = self._contexts[function.node, learn] = self._contexts.get((function.node, learn), 0) + 1
        self.worn = self.worn or count > _CONTEXTS
        cut = self._cut
        facts = self._kept(key, function, params, env, depth, learn=learn)
        if cut != self._cut:
            del self._memo[key]
            self._memo[here] = facts
        return facts

    def _kept(
        self,
        key: Any,
        function: FunctionInfo,
        params: dict[str, Value],
        env: Any,
        depth: int,
        *,
        learn: bool = False,
    ) -> Facts | None:
        if key in self._led_out.get(self._shelf.asker.path, ()):
            raise NotShared
        self._asked.append(key)
        facts = super()._kept(key, function, params, env, depth, learn=learn)
        self._asked.pop()
        if facts is not None:
            facts.shared = True
            _join_settled(facts)
        self.worn = self.worn or len(self._memo) > _MAX_FACTS or len(self._shelf.modules) > _MAX_MODULES
        return facts

    def generic(self, function: FunctionInfo) -> Facts | None:
        facts = super().generic(function)
        if facts is not None:
            _join_settled(facts)  # of a wrapper, too
        return facts

    def made_otherwise(self, node: ast.AST) -> None:
        self.made_of_numbers.discard(id(node))
        self.known_numbers.discard(id(node))

    def failed(self, function: FunctionInfo) -> None:
        """Leave an error of ours, and code that is nested too deeply for who asks, to the engine of the check."""
        raise NotShared


def _join_settled(facts: Facts) -> None:
    """What it calls is not looked at any more."""
    for callee in facts.callees:
        facts.settled |= callee.settled


@dataclass(frozen=True)
class _Desk:
    """Where a check asks: a library and who asks it."""

    library: Library
    asker: _Asker

    def ask(self, key: Any, question: Callable[[], _T]) -> _T | None:
        return self.library.answer(self.asker, key, question)


class _Reader(Loader):
    """The modules that a check reads: those of the library are the same objects."""

    def __init__(self, program: ProgramView) -> None:
        super().__init__(program)
        self.desk: _Desk | None = None

    @property
    def library(self) -> Library | None:
        return None if self.desk is None else self.desk.library

    def _read(self, name: str) -> Module | None:
        desk = self.desk
        found = None if desk is None else desk.ask(("module", name), lambda: (desk.library.loader.load(name),))
        return super()._read(name) if found is None else found[0]

    def resolve(self, place: Place, path: str) -> Span | None:
        span = super().resolve(place, path)
        return span if span is not None or self.library is None else self.library.loader.resolve(place, path)


class Shared(Engine):
    """The engine of a check: what its library has no answer to, it finds out itself."""

    def __init__(self, program: ProgramView, release: Release) -> None:
        self._reader = _Reader(program)
        super().__init__(self._reader, release)

    @property
    def library(self) -> Library | None:
        return self._reader.library

    def _interpreter(self, function: FunctionInfo, facts: Facts, state: State, depth: int) -> Interpreter:
        self._reader.note(function.module)
        return super()._interpreter(function, facts, state, depth)

    def use(self, library: Library, path: str) -> None:
        """Ask a library from now on; it serves the check of this file."""
        self._reader.desk = _Desk(library, _Asker(self.loader.program, path, self.loader.own))
        self.made_of_numbers.beyond = library.made_of_numbers
        self.known_numbers.beyond = library.known_numbers
        self.sized_by_data = ChainMap(self.sized_by_data, library.sized_by_data)

    def _ask(self, key: Any, question: Callable[[Library], _T]) -> _T | None:
        desk = self._reader.desk
        return None if desk is None else desk.ask(key, lambda: question(desk.library))

    def _of_library(self, module: Module) -> bool:
        return self.library is not None and self.library.has_module(module)

    # -- names ------------------------------------------------------------------------------------------

    def global_value(self, module: Module, name: str) -> Value:
        if (module, name) not in self._globals and self._of_library(module):
            found = self._ask(("global", module, name), lambda library: library.global_value(module, name))
            if found is not None:
                self._globals[module, name] = found
        return super().global_value(module, name)

    def external(self, dotted: str) -> Value:
        if dotted not in self._external and dotted.partition(".")[0] not in OUTSIDE:
            found = self._ask(("external", dotted), lambda library: library.external(dotted))
            if found is not None:
                self._external[dotted] = found
        return super().external(dotted)

    def annotation(self, node: ast.expr, module: Module) -> Value | None:
        if node not in self._annotations and self._of_library(module):
            found = self._ask(("annotation", node), lambda library: (library.annotation(node, module),))
            if found is not None:
                self._annotations[node] = found[0]
        return super().annotation(node, module)

    def default_value(self, node: ast.expr | None, chunk: Chunk, module: Module) -> Value | None:
        if node is not None and node not in self._defaults and self._of_library(module):
            found = self._ask(("default", node), lambda library: (library.default_value(node, chunk, module),))
            if found is not None:
                return found[0]
        return super().default_value(node, chunk, module)

    # -- classes ----------------------------------------------------------------------------------------

    def mro(self, cls: ClassInfo) -> list[ClassInfo | str]:
        if cls not in self._mro and self._of_library(cls.module):
            found = self._ask(("mro", cls), lambda library: library.mro(cls))
            if found is not None:
                self._mro[cls] = found
        return super().mro(cls)

    def instance(self, cls: ClassInfo, null: Null = Null.NEVER) -> Value:
        if cls not in self._instances and self._of_library(cls.module):
            found = self._ask(("instance", cls), lambda library: library.instance(cls))
            if found is not None:
                self._instances[cls] = found
        return super().instance(cls, null)

    def member(self, cls: ClassInfo, name: str, receiver: Value) -> Value:
        if (cls, name) not in self._members and self._of_library(cls.module):
            found = self._ask(("member", cls, name), lambda library: library.attribute(cls, name))
            if found is not None:
                self._members[cls, name] = found
        return super().member(cls, name, receiver)

    def stores_of(self, method: FunctionInfo) -> dict[str, Value]:
        library = self.library
        if method not in self._stores and library is not None and library.has(method):
            found = self._ask(("stores", method), lambda library: library.stores_of(method))
            if found is not None:
                self._stores[method] = found
        return super().stores_of(method)

    # -- functions --------------------------------------------------------------------------------------

    def nested(self, parent: FunctionInfo, node: FunctionNode, name: str) -> FunctionInfo:
        library = self.library
        if node not in self._nested and library is not None and library.has(parent):
            found = self._ask(("nested", node), lambda library: library.nested(parent, node, name))
            if found is not None:
                self._nested[node] = found
        return super().nested(parent, node, name)

    def decorated(self, closure: Closure, caller: Base | None) -> Value:
        function, library = closure.function, self.library
        if closure.env is None and function.decorators and function not in self._decorated:
            if library is not None and library.has(function):
                plain = Closure(function)
                found = self._ask(("decorated", function), lambda library: library.decorated(plain, None))
                if found is not None:
                    self._decorated[function] = found
        return super().decorated(closure, caller)

    def guess(self, function: FunctionInfo, name: str) -> Value | None:
        library, key = self.library, (function.node, name)
        if key not in self._guesses and library is not None and library.has(function):
            found = self._ask(("guess", *key), lambda library: (library.guess(function, name),))
            if found is not None:
                self._guesses[key] = found[0]
        return super().guess(function, name)

    def generic(self, function: FunctionInfo) -> Facts | None:
        library = self.library
        if library is not None and library.has(function):
            key = ("generic", function.node, function.receiver)
            found = self._ask(key, lambda library: (library.generic(function),))
            if found is not None:
                return found[0]
        return super().generic(function)

    def analyse(
        self,
        function: FunctionInfo,
        params: dict[str, Value],
        env: Any,
        depth: int,
        *,
        learn: bool = False,
        explain: Callable[[], dict[str, Value]] | None = None,
    ) -> Facts | None:
        desk = self._reader.desk
        if desk is not None:
            found = desk.library.facts(desk.asker, function, params, env, depth, learn)
            if found is not None:
                return found[0]
        return super().analyse(function, params, env, depth, learn=learn, explain=explain)


# -- libraries that there are ------------------------------------------------------------------------------

_MAX_LIBRARIES = 2
_libraries: list[Library] = []
_lock = threading.Lock()


def library_for(program: ProgramView, path: str, name: str, release: Release, silent: frozenset[str]) -> Library:
    """A library for a check of one file: one that there is, if it is still true and has never read that file."""
    asker = _Asker(program, path, name)
    asked_for = (release, silent, program.scope())
    with _lock:
        for library in _libraries:
            if library.asked_for == asked_for and library.serves(asker):
                _libraries.remove(library)
                _libraries.insert(0, library)
                return library
        made = Library(asker, release, silent)
        _libraries.insert(0, made)
        del _libraries[_MAX_LIBRARIES:]
        return made
