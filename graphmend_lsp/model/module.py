"""One file as names: what each module-level name is bound to, its classes and its functions."""

from __future__ import annotations

import ast
import builtins
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from graphmend_lsp.model.attributes import attributes_set
from graphmend_lsp.model.program import ProgramView
from graphmend_lsp.model.walk import own_nodes
from graphmend_lsp.parse import Chunk, Parsed, Place, parse
from graphmend_lsp.text import Span

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False)
class FunctionInfo:
    """A function, method, nested function or lambda of the project."""

    name: str
    qualname: str
    node: FunctionNode
    chunk: Chunk
    module: Module
    cls: ClassInfo | None = None
    parent: FunctionInfo | None = None
    receiver: ClassInfo | None = None
    """The class of ``self`` where it is a subclass that inherits the method."""

    def inherited_by(self, cls: ClassInfo) -> FunctionInfo:
        """The same method, called on an object of a subclass."""
        return self if cls is self.cls else replace(self, receiver=cls)

    @property
    def decorators(self) -> list[ast.expr]:
        return [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list

    @cached_property
    def body(self) -> list[ast.stmt]:
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body

    @cached_property
    def is_generator(self) -> bool:
        if isinstance(self.node, ast.Lambda) or "yield" not in self.chunk.text:
            return False
        return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own_nodes(self.node))

    @cached_property
    def sets_on_self(self) -> frozenset[str]:
        """Names of attributes the method sets on ``self`` or adds to, ``register_buffer("name", ...)`` included."""
        return attributes_set(self.node)

    @cached_property
    def stores(self) -> frozenset[str]:
        """Names the function binds itself (parameters excluded)."""
        return frozenset(stored_names(self.node))

    def decorator_names(self) -> list[str]:
        """Dotted names of the decorators that have one; of a call its callee's."""
        return self._decorator_names if self.decorators else []

    @cached_property
    def _decorator_names(self) -> list[str]:
        names: list[str] = []
        for node in self.decorators:
            target = node.func if isinstance(node, ast.Call) else node
            name = self.module.dotted(target)
            if name:
                names.append(name)
        return names


@dataclass(eq=False)
class ClassInfo:
    """A class of the project."""

    name: str
    qualname: str
    node: ast.ClassDef
    chunk: Chunk
    module: Module
    methods: dict[str, FunctionInfo] = field(default_factory=dict[str, FunctionInfo])
    attributes: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    annotations: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    inner: dict[str, ClassInfo] = field(default_factory=dict[str, "ClassInfo"])


@dataclass(frozen=True)
class Binding:
    """One way a module-level name gets its value."""

    kind: str  # "import" | "function" | "class" | "value" | "annotation" | "other"
    target: str = ""  # dotted, for imports
    function: FunctionInfo | None = None
    cls: ClassInfo | None = None
    value: ast.expr | None = None
    chunk: Chunk | None = None


class Module:
    """The names of one parsed file; other files are reached through ``Loader``."""

    def __init__(self, path: str, parsed: Parsed, name: str, is_package: bool) -> None:
        self.path = path
        self.parsed = parsed
        self.name = name
        self.package = name if is_package else name.rpartition(".")[0]
        self.bindings: dict[str, list[Binding]] = {}
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        self.rebound: set[str] = set()
        self.star_imports: list[str] = []
        for chunk in parsed.seen:
            for node in chunk.nodes:
                self._bind(node, chunk)

    # -- building --------------------------------------------------------------------------------

    def _add(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)

    def _bind(self, top: ast.stmt, chunk: Chunk) -> None:
        todo: list[ast.stmt] = [top]
        while todo:
            node = todo.pop(0)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = self._function(node, chunk, None, None, "")
                self._add(node.name, Binding("function", function=function, chunk=chunk))
            elif isinstance(node, ast.ClassDef):
                self._add(node.name, Binding("class", cls=self._class(node, chunk, ""), chunk=chunk))
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for local, target in self.imported(node):
                    if local == "*":
                        self.star_imports.append(target.removesuffix(".*"))
                    else:
                        self._add(local, Binding("import", target, chunk=chunk))
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._bind_target(target, node.value, chunk)
            elif isinstance(node, ast.AnnAssign):
                if isinstance(node.target, ast.Name) and node.value is not None:
                    self._bind_target(node.target, node.value, chunk)
            elif isinstance(node, ast.AugAssign):
                if isinstance(node.target, ast.Name):
                    self._add(node.target.id, Binding("other", chunk=chunk))
            else:
                todo[:0] = list(child_statements(node))
                for name in _header_names(node):
                    self._add(name, Binding("other", chunk=chunk))

    def _bind_target(self, target: ast.expr, value: ast.expr, chunk: Chunk) -> None:
        if isinstance(target, ast.Name):
            self._add(target.id, Binding("value", value=value, chunk=chunk))
        else:
            for name in target_names(target):
                self._add(name, Binding("other", chunk=chunk))

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        chunk: Chunk,
        cls: ClassInfo | None,
        parent: FunctionInfo | None,
        prefix: str,
    ) -> FunctionInfo:
        function = FunctionInfo(node.name, prefix + node.name, node, chunk, self, cls, parent)
        self.functions.append(function)
        if "global " in chunk.text:
            for inner in own_nodes(node):
                if isinstance(inner, ast.Global):
                    self.rebound.update(inner.names)
        return function

    def _class(self, node: ast.ClassDef, chunk: Chunk, prefix: str) -> ClassInfo:
        cls = ClassInfo(node.name, prefix + node.name, node, chunk, self)
        self.classes.append(cls)
        todo: list[ast.stmt] = list(node.body)
        while todo:
            item = todo.pop(0)
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                method = self._function(item, chunk, cls, None, f"{cls.qualname}.")
                if not _sets_property(item):
                    cls.methods[item.name] = method
            elif isinstance(item, ast.ClassDef):
                cls.inner[item.name] = self._class(item, chunk, f"{cls.qualname}.")
            elif isinstance(item, ast.Assign):
                for target in item.targets:
                    if isinstance(target, ast.Name):
                        cls.attributes[target.id] = item.value
            elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                cls.annotations[item.target.id] = item.annotation
                if item.value is not None:
                    cls.attributes[item.target.id] = item.value
            else:
                todo[:0] = list(child_statements(item))
        return cls

    # -- questions -------------------------------------------------------------------------------

    def imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        """What an import binds: the local name ("*" for all) and the absolute dotted target."""
        if isinstance(node, ast.ImportFrom):
            base = self.absolute(node)
            yield from ((alias.asname or alias.name, f"{base}.{alias.name}") for alias in node.names)
            return
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or target, target

    def absolute(self, node: ast.ImportFrom) -> str:
        """Absolute dotted name of the module an import names."""
        if not node.level:
            return node.module or ""
        parts = self.package.split(".") if self.package else []
        parts = parts[: len(parts) - (node.level - 1)] if node.level > 1 else parts
        prefix = "." * node.level if not parts else ".".join(parts)
        if not node.module:
            return prefix
        return f"{prefix}.{node.module}" if parts else prefix + node.module

    def dotted(self, node: ast.expr, depth: int = 0) -> str | None:
        """Dotted name of something imported (``th.isinf`` -> ``torch.isinf``) or of a builtin."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        bindings = self.bindings.get(node.id)
        if bindings is None:
            base = f"builtins.{node.id}" if node.id in BUILTINS else None
        else:
            base = next((b.target for b in bindings if b.kind == "import"), None)
            value = bindings[0].value if len(bindings) == 1 and depth < _MAX_ALIASES else None
            if base is None and value is not None:
                if isinstance(value, (ast.Name, ast.Attribute)):
                    base = self.dotted(value, depth + 1)
                elif isinstance(value, ast.Call) and value.args:
                    if self.dotted(value.func, depth + 1) == "functools.partial":
                        base = self.dotted(value.args[0], depth + 1)
        if base is None:
            return None
        return canonical(".".join([base, *reversed(attributes)]))

    def find(self, name: str) -> FunctionInfo | ClassInfo | None:
        """A function or class by (qualified) name: ``fn``, ``Class``, ``Class.method``."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, FunctionInfo | ClassInfo]:
        known: dict[str, FunctionInfo | ClassInfo] = {}
        for item in (*self.classes, *self.functions):
            known.setdefault(item.qualname, item)
        return known


_MAX_ALIASES = 12


class Loader:
    """Parsed modules of the project by dotted name, each once."""

    def __init__(self, program: ProgramView) -> None:
        self.program = program
        self._modules: dict[str, Module | None] = {}
        self.own = ""
        self._own: Module | None = None
        self.led_back = False
        """Whether other code has asked for the module under analysis."""

    def module(self, path: str, parsed: Parsed) -> Module:
        """The module under analysis itself."""
        name, is_package = self.program.module_name(path)
        module = Module(path, parsed, name, is_package)
        self.own = name
        self._own = module
        if name:
            self._modules[name] = module
        return module

    def is_own(self, module: Module) -> bool:
        """Whether it is the module under analysis."""
        return module is self._own

    def adopt(self, other: Loader) -> None:
        """Take the other files that ``other`` has read; the caller knows that they are unchanged."""
        for name, module in other._modules.items():
            if name != self.own and module is not None and module is not other._own:
                self._modules.setdefault(name, module)

    def note(self, module: Module) -> None:
        """A module that was not asked for here is looked at all the same."""
        self._modules.setdefault(module.name, module)

    def other_texts(self) -> list[str]:
        """Texts of the other files that were read."""
        return [m.parsed.text for m in self._modules.values() if m is not None and m is not self._own]

    def resolve(self, place: Place, path: str) -> Span | None:
        """Range of a place in another file that was loaded."""
        for module in self._modules.values():
            if module is not None and module.path == path:
                return module.parsed.resolve(place)
        return None

    def unchanged(self, program: ProgramView) -> bool:
        """Whether the other files that were read are what they were, as ``program`` sees them now."""
        for name, module in self._modules.items():
            found = program.source(name) if name != self.own else None
            if name == self.own:
                continue
            if (found is None) != (module is None):
                return False
            if found is not None and module is not None and module is not self._own:
                if found[0] != module.path or (found[1] is not module.parsed.text and found[1] != module.parsed.text):
                    return False
        return True

    def load(self, name: str) -> Module | None:
        """The module of a dotted name; None outside the project, and in an import cycle."""
        self.led_back = self.led_back or (bool(name) and name == self.own)
        if name not in self._modules:
            self._modules[name] = None  # an import cycle sees nothing rather than recursing
            try:
                self._modules[name] = self._read(name)
            except BaseException:
                del self._modules[name]
                raise
        return self._modules[name]

    def origin(self, dotted: str) -> FunctionInfo | ClassInfo | None:
        """The function or class that a dotted name stands for, through re-exports; decorators left aside."""
        todo = [dotted]
        seen: set[str] = set()
        while todo and len(seen) < _MAX_ALIASES:
            dotted = todo.pop(0)
            head, _, last = dotted.rpartition(".")
            module = self.load(head) if head and dotted not in seen else None
            seen.add(dotted)
            if module is None:
                continue
            found = module.find(last)
            if found is not None:
                return found
            todo += [b.target for b in module.bindings.get(last, ()) if b.kind == "import"]
            todo += [f"{star}.{last}" for star in module.star_imports]
        return None

    def _read(self, name: str) -> Module | None:
        found = self.program.source(name)
        if found is None:
            return None
        path, text = found
        if self._own is not None and path == self._own.path:
            self.led_back = True
            return self._own  # under another name
        known = _CACHE.get(path)
        if known is not None and known[0] == text and known[1].name == name:
            return known[1]
        _, is_package = self.program.module_name(path)
        module = Module(path, parse(text), name, is_package)
        with _CACHE_LOCK:  # the language server mends in a thread beside that of the analysis
            while len(_CACHE) >= _CACHE_LIMIT:
                _CACHE.pop(next(iter(_CACHE)))
            _CACHE[path] = (text, module)
        return module


_CACHE: dict[str, tuple[str, Module]] = {}
"""Modules of other files by path, a few at a time: neighbours in a run share most of their imports."""
_CACHE_LIMIT = 96
_CACHE_LOCK = threading.Lock()


# -- names -------------------------------------------------------------------------------------------

BUILTINS = frozenset(dir(builtins))

_CANONICAL = (
    ("torch.functional.", "torch."),
    ("torch._C._nn.", "torch.nn.functional."),
    ("torch.nn.modules.", "torch.nn."),
    ("torch._tensor.Tensor", "torch.Tensor"),
)


def canonical(name: str) -> str:
    """The usual spelling of a dotted torch name."""
    if not name.startswith("torch."):
        return name
    for start, usual in _CANONICAL:
        if name.startswith(start):
            rest = name[len(start) :]
            return usual + (rest.rpartition(".")[2] if usual == "torch.nn." else rest)
    return name


def _sets_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """``@name.setter`` and ``@name.deleter`` leave the getter what it is."""
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)


def child_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Statements directly inside a compound statement (not those of functions and classes)."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield from (item for item in block if isinstance(item, ast.stmt))  # pyright: ignore[reportUnknownVariableType]
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


def target_names(target: ast.AST) -> Iterator[str]:
    """Names an assignment target binds."""
    todo: list[ast.AST] = [target]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Name):
            yield item.id
        elif isinstance(item, (ast.Tuple, ast.List)):
            todo.extend(item.elts)
        elif isinstance(item, ast.Starred):
            todo.append(item.value)


def _header_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        yield from target_names(node.target)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield from target_names(item.optional_vars)


def stored_names(function: ast.AST) -> Iterator[str]:
    """Names a function (or block) binds, comprehension variables excluded."""
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
