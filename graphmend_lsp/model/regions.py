"""Entries: the functions that are compiled themselves, as far as the source shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from graphmend_lsp.model.module import ClassInfo, FunctionInfo, FunctionNode, Module
from graphmend_lsp.model.walk import own_nodes, walk
from graphmend_lsp.parse import Chunk, Place
from graphmend_lsp.text import Span

EntryKind = Literal["compile", "export", "named", "implied"]
_COMPILE = frozenset({"torch.compile", "torch._dynamo.optimize", "torch.compiler.compile"})
_DISABLED = frozenset({"torch.compiler.disable", "torch._dynamo.disable", "torch._disable_dynamo"})
_FRAMEWORK = frozenset({"support_torch_compile"})
NOT_IN_FORWARD = frozenset(
    "_init_weights init_weights reset_parameters extra_repr train eval get_input_embeddings set_input_embeddings "
    "get_output_embeddings set_output_embeddings prepare_inputs_for_generation _reorder_cache tie_weights "
    "resize_token_embeddings get_encoder get_decoder set_decoder from_pretrained save_pretrained configure_optimizers "
    "training_step validation_step load_state_dict state_dict prune_heads _prune_heads".split()
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Resolver(Protocol):
    """What has to be known of classes and other files; the engine answers."""

    def is_module(self, cls: ClassInfo) -> bool:
        """Whether a class is an ``nn.Module``."""
        ...

    def method(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        """A method of a class, inherited or its own."""
        ...

    def definition(self, dotted: str) -> FunctionInfo | ClassInfo | None:
        """The function or class of the project that an absolute dotted name stands for."""
        ...


@dataclass(frozen=True, eq=False)
class Entry:
    """One entry: a function, how it became one, and where the source says so."""

    function: FunctionInfo
    kind: EntryKind
    place: Place | None
    path: str
    """The file of ``place``, in which the source says so."""
    message: str
    fullgraph: bool = False

    @property
    def explicit(self) -> bool:
        return self.kind != "implied"

    @property
    def name(self) -> str:
        receiver = self.function.receiver
        return self.function.qualname if receiver is None else f"{receiver.qualname}.{self.function.name}"


def entries(module: Module, named: tuple[str, ...], resolver: Resolver) -> list[Entry]:
    """All entries that a file makes: named by the user, compiled in the source, implied by ``nn.Module``."""
    found: dict[tuple[FunctionNode, ClassInfo | None], Entry] = {}

    def add(entry: Entry) -> None:
        key = (entry.function.node, entry.function.receiver)
        known = found.get(key)
        if known is None or (entry.explicit and not known.explicit) or (entry.fullgraph and not known.fullgraph):
            found[key] = entry

    for name in named:
        target = module.find(name)
        function = _forward_of(target, resolver) if isinstance(target, ClassInfo) else target
        if function is not None:
            add(Entry(function, "named", None, module.path, f"`{name}` is named as an entry"))
    for entry in _Finder(module, resolver).run():
        add(entry)
    for cls in module.classes:
        if not resolver.is_module(cls) or _is_kept_out(module, cls.node.decorator_list):
            continue
        function = cls.methods.get("forward")
        if function is None and _overrides(cls, resolver):
            function = _forward_of(cls, resolver)
        if function is not None and _is_kept_out(function.module, function.decorators):
            continue
        if function is not None and function.module is not module:
            message = f"`{cls.name}` is an nn.Module: its forward (inherited) may be compiled"
            add(Entry(function, "implied", Place(cls.chunk.id, header_span(cls.chunk, cls.node)), module.path, message))
        elif function is not None:
            span = _name_span(cls.chunk, function) if function.cls is cls else header_span(cls.chunk, cls.node)
            message = f"`{cls.name}` is an nn.Module: its forward may be compiled"
            add(Entry(function, "implied", Place(cls.chunk.id, span), module.path, message))
    return list(found.values())


def _is_kept_out(module: Module, decorators: list[ast.expr]) -> bool:
    """Whether a function or class is decorated so that it is never compiled."""
    targets = (node.func if isinstance(node, ast.Call) else node for node in decorators)
    return any(module.dotted(target) in _DISABLED for target in targets)


def _forward_of(cls: ClassInfo, resolver: Resolver) -> FunctionInfo | None:
    """What runs when an object of the class is called."""
    function = resolver.method(cls, "forward") or resolver.method(cls, "__call__")
    return None if function is None else function.inherited_by(cls)


def _overrides(cls: ClassInfo, resolver: Resolver) -> bool:
    """Whether the class changes what an inherited ``forward`` does: it overrides a method that may be called there.

    A ``forward`` that comes from a mixin is nobody's else.
    """
    inherited = resolver.method(cls, "forward")
    if inherited is None or inherited.cls is None:
        return False
    if not resolver.is_module(inherited.cls) and (cls.methods or inherited.module is cls.module):
        return True
    return any(
        name not in NOT_IN_FORWARD and not name.startswith("__") and resolver.method(inherited.cls, name) is not None
        for name in cls.methods
    )


def _name_span(chunk: Chunk, function: FunctionInfo) -> Span:
    node = function.node
    return chunk.span(node) if isinstance(node, ast.Lambda) else header_span(chunk, node)


def header_span(chunk: Chunk, node: ast.stmt) -> Span:
    """Raw range of ``def name`` / ``class name``."""
    text = chunk.raw_text(node.lineno).rstrip("\r\n")
    column = chunk.column(node.lineno, node.col_offset)
    return Span(node.lineno, column, node.lineno, max(len(text), column))


class _Finder:
    """``torch.compile`` in every spelling."""

    def __init__(self, module: Module, resolver: Resolver) -> None:
        self.module = module
        self.resolver = resolver
        self._local: dict[str, str] = {}
        """What is imported inside the statement at hand: local name and dotted target."""

    def run(self) -> Iterator[Entry]:
        for function in self.module.functions:
            yield from self._decorated(function, function.decorators, function.chunk)
        for cls in self.module.classes:
            forward = cls.methods.get("forward") or cls.methods.get("__call__")
            if forward is not None:
                yield from self._decorated(forward, cls.node.decorator_list, cls.chunk)
        for chunk in self.module.parsed.seen:
            if "compile" not in chunk.text and "export" not in chunk.text:
                continue
            for node in chunk.nodes:
                yield from self._calls(node, chunk)

    def _decorated(self, function: FunctionInfo, decorators: list[ast.expr], chunk: Chunk) -> Iterator[Entry]:
        for node in decorators:
            kind, keywords = self._compiler(node)
            if kind is not None:
                place = Place(chunk.id, chunk.span(node))
                path = self.module.path
                yield Entry(function, kind, place, path, "compiled by this decorator", _fullgraph(keywords))

    def _compiler(self, node: ast.expr) -> tuple[EntryKind | None, list[ast.keyword]]:
        """Whether an expression is ``torch.compile`` or a call/partial that returns it."""
        if isinstance(node, ast.Call):
            name = self.module.dotted(node.func)
            if name == "functools.partial" and node.args:
                kind, keywords = self._compiler(node.args[0])
                return kind, [*keywords, *node.keywords]
            if not node.args or name not in _COMPILE:
                kind, keywords = self._compiler(node.func)
                return kind, [*keywords, *node.keywords]
            return None, []
        name = self.module.dotted(node)
        if name in _COMPILE:
            keywords = self._partial_keywords(node)
            return "compile", keywords
        if name is not None and name.rpartition(".")[2] in _FRAMEWORK:
            return "compile", [ast.keyword("fullgraph", ast.Constant(True))]
        return None, []

    def _partial_keywords(self, node: ast.expr) -> list[ast.keyword]:
        """Keywords of ``fast = partial(torch.compile, fullgraph=True)`` where ``fast`` is used."""
        if not isinstance(node, ast.Name):
            return []
        for binding in self.module.bindings.get(node.id, ()):
            if isinstance(binding.value, ast.Call):
                return list(binding.value.keywords)
        return []

    def _calls(self, top: ast.stmt, chunk: Chunk) -> Iterator[Entry]:
        path = self.module.path
        nodes = list(walk(top))
        imports = (n for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)))
        self._local = {k: v for n in imports for k, v in self.module.imported(n)} if isinstance(top, _SCOPES) else {}
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            place = Place(chunk.id, chunk.span(node))
            name = self.module.dotted(node.func)
            if name in ("torch.export.export", "torch.export.export_for_training", "torch.export.draft_export"):
                if node.args:
                    for function in self._targets(node.args[0], top):
                        yield Entry(function, "export", place, path, "exported here")
                continue
            if isinstance(node.func, ast.Attribute) and node.func.attr == "compile" and name not in _COMPILE:
                for function in self._targets(node.func.value, top):
                    if function.name in ("forward", "__call__"):
                        yield Entry(function, "compile", place, path, "compiled here", _fullgraph(node.keywords))
                continue
            kind, keywords = self._compiler(node.func)
            if kind is None:
                continue
            target = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "model"), None)
            if target is not None:
                for function in self._targets(target, top):
                    fullgraph = _fullgraph([*keywords, *node.keywords])
                    yield Entry(function, kind, place, path, "compiled here", fullgraph)

    def _targets(self, node: ast.expr, top: ast.stmt) -> Iterator[FunctionInfo]:
        """Functions that ``torch.compile(node)`` compiles."""
        if isinstance(node, ast.Call):
            yield from self._of_class(node.func)
        elif isinstance(node, ast.Name):
            if node.id in self._local:
                yield from self._defined(self._imported(node))
            for binding in self.module.bindings.get(node.id, ()):
                if binding.function is not None:
                    yield binding.function
                elif binding.cls is not None:
                    yield from self._forward(binding.cls)
                elif binding.kind == "import":
                    yield from self._defined(self.resolver.definition(binding.target))
                elif isinstance(binding.value, ast.Call):
                    yield from self._of_class(binding.value.func)
            for target, value in _assigned(top):
                if isinstance(target, ast.Name) and target.id == node.id and isinstance(value, ast.Call):
                    yield from self._of_class(value.func)
        elif isinstance(node, ast.Attribute):
            yield from self._of_attribute(node, top)
        elif isinstance(node, (ast.IfExp,)):
            yield from self._targets(node.body, top)
            yield from self._targets(node.orelse, top)

    def _defined(self, found: FunctionInfo | ClassInfo | None) -> Iterator[FunctionInfo]:
        if isinstance(found, ClassInfo):
            yield from self._forward(found)
        elif found is not None:
            yield found

    def _imported(self, node: ast.expr) -> FunctionInfo | ClassInfo | None:
        """What a name or ``module.name`` of another file stands for."""
        attributes: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            attributes.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name) and root.id in self._local:
            return self.resolver.definition(".".join([self._local[root.id], *reversed(attributes)]))
        dotted = self.module.dotted(node)
        return None if dotted is None else self.resolver.definition(dotted)

    def _of_attribute(self, node: ast.Attribute, top: ast.stmt) -> Iterator[FunctionInfo]:
        if isinstance(node.value, ast.Name) and node.value.id == "self" and isinstance(top, ast.ClassDef):
            cls = self.module.find(top.name)
            if isinstance(cls, ClassInfo):
                if node.attr in cls.methods:
                    yield cls.methods[node.attr]
                for target, value in _assigned(top):
                    if isinstance(target, ast.Attribute) and target.attr == node.attr and isinstance(value, ast.Call):
                        yield from self._of_class(value.func)
            return
        for function in self._targets(node.value, top):
            if function.cls is not None:
                method = self.resolver.method(function.cls, node.attr)
                if method is not None:
                    yield method
        yield from self._defined(self._imported(node))
        for func in self._made_by(node.value, top):
            cls = self._named(func)
            method = self.resolver.method(cls, node.attr) if isinstance(cls, ClassInfo) else None
            if method is not None:
                yield method
        if isinstance(node.value, ast.Name):
            cls = self.module.find(node.value.id)
            if isinstance(cls, ClassInfo) and node.attr in cls.methods:
                yield cls.methods[node.attr]

    def _of_class(self, func: ast.expr) -> Iterator[FunctionInfo]:
        if isinstance(func, ast.Attribute) and func.attr in (
            "to",
            "cuda",
            "eval",
            "train",
            "half",
            "bfloat16",
            "float",
        ):
            if isinstance(func.value, ast.Call):
                yield from self._of_class(func.value.func)
            return
        made = self._named(func)
        if isinstance(made, ClassInfo):
            yield from self._forward(made)
        elif made is not None:
            yield from self._built(made)

    def _named(self, node: ast.expr) -> FunctionInfo | ClassInfo | None:
        """A function or class by name, of this file or another."""
        own = self.module.find(node.id) if isinstance(node, ast.Name) else None
        return own or self._imported(node)

    def _made_by(self, node: ast.expr, top: ast.stmt) -> Iterator[ast.expr]:
        """What is called to make an object: ``Net`` for ``Net()`` and for ``net`` after ``net = Net()``."""
        if isinstance(node, ast.Call):
            yield node.func
        elif isinstance(node, ast.Name):
            values = [b.value for b in self.module.bindings.get(node.id, ()) if b.value is not None]
            values += [v for t, v in _assigned(top) if isinstance(t, ast.Name) and t.id == node.id]
            yield from (value.func for value in values if isinstance(value, ast.Call))

    def _built(self, factory: FunctionInfo) -> Iterator[FunctionInfo]:
        """``forward`` of what a function makes and returns: ``return Net(...)``, ``net = Net(...); return net``."""
        nodes = list(own_nodes(factory.node))
        returned = {n.value.id for n in nodes if isinstance(n, ast.Return) and isinstance(n.value, ast.Name)}
        calls = [n.value.func for n in nodes if isinstance(n, ast.Return) and isinstance(n.value, ast.Call)]
        for target, value in _assigned(factory.node):
            if isinstance(target, ast.Name) and target.id in returned and isinstance(value, ast.Call):
                calls.append(value.func)
        for func in calls:
            found = factory.module.find(func.id) if isinstance(func, ast.Name) else None
            dotted = factory.module.dotted(func)
            found = found or (self.resolver.definition(dotted) if dotted is not None else None)
            if isinstance(found, ClassInfo):
                yield from self._forward(found)

    def _forward(self, cls: ClassInfo) -> Iterator[FunctionInfo]:
        function = _forward_of(cls, self.resolver)
        if function is not None:
            yield function


def _fullgraph(keywords: list[ast.keyword]) -> bool:
    return any(k.arg == "fullgraph" and isinstance(k.value, ast.Constant) and k.value.value is True for k in keywords)


def _assigned(top: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets of the assignments inside a statement, with their values."""
    for node in walk(top):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value
