"""Which entries of other files to analyse for a file: a bounded choice among those that the index suggests.

A helper that hundreds of models call is judged by some of them: the nearest first, and every form of call (how many
arguments, which are None or constants), since what breaks often depends on an argument being there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.flow import host
from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.suspects import may_break
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, Module
from graphmend_lsp.model.program import Caller, Mention, ProgramView
from graphmend_lsp.model.regions import Entry, entries
from graphmend_lsp.model.walk import last_name, walk

_MAX_ENTRIES = 32
"""Entries of other files that one check analyses."""
_MAX_LOOKS = 12
"""Callers of one function whose files are read to see how they call it."""
_TRIES = 4
"""Entries that are tried for one function and form of call; names may have misled."""
_FORMS = 8
"""Forms of call that are told apart for one function."""
_ENOUGH = {False: 3, True: 1}
"""Entries that must reach a function before it counts as seen, by whether one of its own file does."""
_Form = frozenset[tuple[str, ...]]


class Search:
    """One search: ``run`` suggests entries, ``note`` tells it what the last one reached.

    ``named`` are the entries that the user names, ``inside`` the functions that entries of the file itself reach.
    """

    def __init__(
        self, module: Module, engine: Engine, program: ProgramView, named: tuple[str, ...], inside: set[str]
    ) -> None:
        self._module = module
        self._engine = engine
        self._program = program
        self._named = named
        self._inside = inside
        self._seen: dict[str, int] = {}
        self._forms: dict[str, dict[_Form, int]] = {}
        self._entries: dict[str, list[Entry]] = {}

    def note(self, reached: set[str]) -> None:
        """The functions that the entry suggested last reaches."""
        for name in reached:
            self._seen[name] = self._seen.get(name, 0) + 1

    def run(self) -> Iterator[Entry]:
        """Entries worth an analysis, those that compile something of the file first."""
        functions = tuple(f.qualname for f in self._module.functions if may_break(f.node) and not self._is_setup(f))
        callers = self._program.callers(self._module.path, functions, self._named)
        total = 0
        looks: dict[str, int] = {}
        for caller in sorted(callers, key=lambda c: (bool(c.function), c.function in self._inside, c.steps)):
            looks[caller.function] = looks.get(caller.function, 0) + 1
            if caller.function and looks[caller.function] > _MAX_LOOKS:
                continue
            forms = self._forms.setdefault(caller.function, {})
            form = self._form(caller)
            if form is None or (caller.function and not self._wanted(caller.function, forms, form)):
                continue
            for entry in self._matching(caller):
                if total >= _MAX_ENTRIES:
                    return
                total += 1
                forms[form] = forms.get(form, 0) + 1
                yield entry

    def _is_setup(self, function: FunctionInfo) -> bool:
        """Whether it sets up modules, which hardly any compiled code makes, or exceptions."""
        cls = function.cls if function.name in host.CONSTRUCTORS else None
        return cls is not None and (self._engine.is_module(cls) or self._engine.is_exception(cls))

    def _wanted(self, function: str, forms: dict[_Form, int], form: _Form) -> bool:
        tried = forms.get(form, 0)
        if tried == 0:
            return len(forms) < _FORMS
        return tried < _TRIES and self._seen.get(function, 0) < _ENOUGH[function in self._inside]

    def _matching(self, caller: Caller) -> Iterator[Entry]:
        """The entries that a suggestion of the index may mean."""
        if caller.module not in self._entries:
            module = self._engine.loader.load(caller.module)
            self._entries[caller.module] = [] if module is None else entries(module, self._named, self._engine)
        for entry in self._entries[caller.module]:
            if caller.qualname in (entry.function.qualname, entry.name):
                yield entry
            elif not caller.qualname and entry.explicit and entry.function.module is self._module:
                yield entry

    def _form(self, caller: Caller) -> _Form | None:
        """How a function of the file is called where the way leaves it; None if the name means something else."""
        via = caller.via
        target = self._module.find(via.target) if via is not None else None
        if via is None or not isinstance(target, FunctionInfo):
            return frozenset()
        module = self._engine.loader.load(via.module)
        if module is None or not self._means(module, via, target):
            return None
        user = module.find(via.qualname)
        calls = (node for node in walk(user.node) if isinstance(node, ast.Call)) if user is not None else ()
        return frozenset(_signature(call) for call in calls if last_name(call.func) == via.name)

    def _means(self, module: Module, via: Mention, target: FunctionInfo) -> bool:
        """Whether a name in another file is this file's function, as far as imports and bases tell."""
        if target.cls is not None:
            owner = module.find(via.qualname.rpartition(".")[0] or via.qualname)
            inherits = isinstance(owner, ClassInfo) and self._engine.method(owner, target.name) is target
            return inherits or self._imports(module, target.cls.name, target.cls)
        imports = [b.target for b in module.bindings.get(via.name, ()) if b.kind == "import"]
        return not imports or self._imports(module, via.name, target)

    def _imports(self, module: Module, name: str, wanted: FunctionInfo | ClassInfo) -> bool:
        """Whether a name in another file is imported and leads to what is wanted."""
        imports = [b.target for b in module.bindings.get(name, ()) if b.kind == "import"]
        return any(self._engine.loader.origin(dotted) is wanted for dotted in imports)


def _signature(call: ast.Call) -> tuple[str, ...]:
    """A call by its arguments: constants as they are, anything else as "_"."""
    named = [(k.arg or "**", k.value) for k in call.keywords]
    values = [("", argument) for argument in call.args] + sorted(named, key=lambda pair: pair[0])
    return tuple(f"{name}={repr(v.value) if isinstance(v, ast.Constant) else '_'}" for name, v in values)
