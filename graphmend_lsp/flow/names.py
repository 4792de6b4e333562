"""What a name outside the function at hand is: globals, imports, annotations, defaults."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from graphmend_lsp.flow import host, parameters
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.values import (
    MISSING,
    PYTHON,
    UNKNOWN,
    Closure,
    Kind,
    Null,
    Root,
    Value,
    changed,
    constant,
    container,
    join,
    number,
)
from graphmend_lsp.model.module import BUILTINS, Binding, ClassInfo, FunctionInfo, Loader, Module
from graphmend_lsp.parse import Chunk

if TYPE_CHECKING:
    from graphmend_lsp.flow.base import Base
    from graphmend_lsp.flow.interpret import Interpreter

OUTSIDE = frozenset(
    "torch numpy os sys math typing collections functools itertools contextlib dataclasses warnings logging re json "
    "time abc enum copy inspect random string threading pathlib builtins operator datetime einops typing_extensions "
    "__future__ importlib packaging numbers traceback types weakref io struct hashlib uuid gc pprint".split()
)
"""Packages that are never part of the project."""
_CALLABLE = frozenset({Kind.NAMESPACE, Kind.CLASS, Kind.FUNCTION, Kind.METHOD, Kind.MODULE})


class Names:
    """Resolves names; every question is asked of the program once."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.silent: set[str] = set()
        self.failures: list[tuple[str, str]] = []
        """Internal errors: the function's name and the traceback.  What failed is treated as unknown."""
        self._globals: dict[tuple[Module, str], Value] = self.table()
        self._external: dict[str, Value] = self.table()
        self._defaults: dict[ast.expr, Value] = self.table()
        self._walrus: dict[Chunk, bool] = self.table()
        self._annotations: dict[ast.expr, Value | None] = self.table()

    def table(self) -> dict[Any, Any]:
        """Where answers are kept."""
        return {}

    # -- what the other parts of the engine provide ---------------------------------------------------

    def decorated(self, closure: Closure, caller: Base | None) -> Value:
        """A function as its decorators leave it."""
        raise NotImplementedError

    def instance(self, cls: ClassInfo, null: Null = Null.NEVER) -> Value:
        """Any object of a class of the project."""
        raise NotImplementedError

    def _interpreter(self, function: FunctionInfo, facts: Facts, state: State, depth: int) -> Interpreter:
        raise NotImplementedError

    def has_walrus(self, chunk: Chunk) -> bool:
        """Whether there is a ``:=`` in a chunk at all."""
        known = self._walrus.get(chunk)
        if known is None:
            known = self._walrus[chunk] = ":=" in chunk.text
        return known

    # -- globals --------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, chunk: Chunk, module: Module, cls: ClassInfo | None = None) -> Value:
        """An expression at the level of a module or class, which runs once and outside the compiled code."""
        function = FunctionInfo("<module>", "<module>", as_lambda(node), chunk, module, cls)
        interpreter = self._interpreter(function, Facts(function, {}), State(), 2)
        interpreter.eager = True
        try:
            return interpreter.eval(node)
        except RecursionError:
            self.failed(function)
            return UNKNOWN

    def failed(self, function: FunctionInfo) -> None:
        """Record the exception that is being handled."""
        import traceback

        self.failures.append((function.qualname, traceback.format_exc(limit=-8)))

    def global_value(self, module: Module, name: str) -> Value:
        key = (module, name)
        known = self._globals.get(key)
        if known is not None:
            return known
        self._globals[key] = UNKNOWN  # a definition in terms of itself
        value = self._global(module, name)
        self._globals[key] = value
        return value

    def _global(self, module: Module, name: str) -> Value:
        bindings = module.bindings.get(name)
        if bindings is None:
            if name in BUILTINS:
                return Value(Kind.NAMESPACE, ref=f"builtins.{name}")
            return self._star_import(module, name)
        values = [self._binding(module, name, b, len(bindings) == 1) for b in bindings]
        if len(values) > 1:
            known = [v for v in values if not (v.kind is Kind.NAMESPACE and isinstance(v.ref, str))]
            values = known or values[:1]
        result = values[0]
        for value in values[1:]:
            result = join(result, value)
        return result

    def module_attribute(self, module: Module, name: str) -> Value:
        """``module.name``: a global of the module, or a module of the package."""
        if name not in module.bindings and module.name and self.loader.load(f"{module.name}.{name}") is not None:
            return self.external(f"{module.name}.{name}")
        return self.global_value(module, name)

    def _star_import(self, module: Module, name: str) -> Value:
        for base in module.star_imports:
            other = self.loader.load(base)
            if other is not None and (name in other.bindings or other.star_imports):
                return self.global_value(other, name)
        return UNKNOWN

    def _binding(self, module: Module, name: str, binding: Binding, only: bool) -> Value:
        if binding.kind == "import":
            return self.external(binding.target)
        if binding.function is not None:
            return self.decorated(Closure(binding.function), None)
        if binding.cls is not None:
            return Value(Kind.CLASS, ref=binding.cls)
        if binding.value is None or binding.chunk is None:
            return UNKNOWN
        value = self.evaluate(binding.value, binding.chunk, module)
        return self._global_result(value, name, module, only and name not in module.rebound)

    def _global_result(self, value: Value, name: str, module: Module, constant: bool) -> Value:
        if value.kind is Kind.TENSOR:
            root = ("global", module.path, name)
            shape = value.shape if value.shape == () else root
            return changed(value, roots=frozenset({root}), dtype=("any", root), shape=shape)
        if value.kind is Kind.CONTAINER:
            return changed(value, truth=None, roots=frozenset({("global", module.path, name)}))
        if value.kind is Kind.PYTHON and value.dtype == "ndarray":
            return as_array(value, ("global", module.path, name))
        if value.kind is Kind.PYTHON and not constant:
            return changed(value, const=MISSING, truth=None, null=Null.MAYBE if value.null else value.null)
        return value

    # -- imports --------------------------------------------------------------------------------------

    def external(self, dotted: str) -> Value:
        """Value of an absolute dotted name: of the project, or of something outside it."""
        known = self._external.get(dotted)
        if known is not None:
            return known
        if dotted in host.CONSTANTS:
            return number("float")
        self._external[dotted] = outside = Value(Kind.NAMESPACE, ref=dotted)
        value = self.lookup(dotted) or outside
        self._external[dotted] = value
        return value

    def lookup(self, dotted: str) -> Value | None:
        """A module of the project, or a name in one; None outside the project."""
        top = dotted.partition(".")[0]
        if top in OUTSIDE or not dotted or dotted.startswith(("builtins.", ".")):
            return None
        head, _, last = dotted.rpartition(".")
        if head:
            parent = self.loader.load(head)
            if parent is not None and (last in parent.bindings or parent.star_imports):
                value = self.global_value(parent, last)
                if value.kind is not Kind.NAMESPACE or value.ref != dotted:
                    return value
        module = self.loader.load(dotted)
        return None if module is None else Value(Kind.NAMESPACE, ref=module)

    def definition(self, dotted: str) -> FunctionInfo | ClassInfo | None:
        """The function or class of the project that an absolute dotted name stands for."""
        ref = self.external(dotted).ref
        if isinstance(ref, Closure):
            return ref.function
        return ref if isinstance(ref, ClassInfo) else None

    # -- annotations and defaults ---------------------------------------------------------------------

    def annotation(self, node: ast.expr, module: Module) -> Value | None:
        """Value that an annotation stands for; None where it says nothing."""
        if node not in self._annotations:
            self._annotations[node] = None
            self._annotations[node] = parameters.annotation(node, module, self._named_type)
        return self._annotations[node]

    def _named_type(self, node: ast.expr, module: Module) -> Value | tuple[ast.expr, Module] | None:
        """What a name in an annotation is: objects of a class, or another annotation (an alias)."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        if isinstance(node, ast.Name):
            bindings = module.bindings.get(node.id)
            if bindings is None:
                cls = module.find(node.id)
                return self.instance(cls) if isinstance(cls, ClassInfo) else None
            if bindings[0].kind != "import":
                return self._bound_type(module, bindings)
        dotted = module.dotted(node)
        if dotted is None:
            cls = module.find(node.attr if isinstance(node, ast.Attribute) else node.id)
            return self.instance(cls) if isinstance(cls, ClassInfo) else None
        for _ in range(6):
            head, _, last = dotted.rpartition(".")
            if not head or dotted.partition(".")[0] in OUTSIDE:
                return None
            other = self.loader.load(head)
            bindings = other.bindings.get(last) if other is not None else None
            if other is None or not bindings:
                break
            if bindings[0].kind != "import":
                return self._bound_type(other, bindings)
            dotted = bindings[0].target
        value = self.external(dotted)
        return self.instance(value.ref) if value.kind is Kind.CLASS and isinstance(value.ref, ClassInfo) else None

    def _bound_type(self, module: Module, bindings: list[Binding]) -> Value | tuple[ast.expr, Module] | None:
        cls = next((b.cls for b in bindings if b.cls is not None), None)
        if cls is not None:
            return self.instance(cls)
        value = bindings[0].value
        if value is None or len(bindings) > 1:
            return None
        if isinstance(value, ast.Call):
            name = module.dotted(value.func) or ""
            return (value.args[1], module) if name == "typing.NewType" and len(value.args) > 1 else None
        return value, module

    def default_value(self, node: ast.expr | None, chunk: Chunk, module: Module) -> Value | None:
        """Value of a parameter's default; what may be replaced by something else has an unknown option."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            return constant(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            return number(type(node.operand.value).__name__)
        if isinstance(node, (ast.Tuple, ast.List)):
            return container(element=PYTHON, type_name="tuple" if isinstance(node, ast.Tuple) else "list")
        if isinstance(node, ast.Dict):
            return Value(Kind.CONTAINER, dtype="dict", element=PYTHON)
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Lambda)):
            return PYTHON
        known = self._defaults.get(node)
        if known is None:
            self._defaults[node] = PYTHON
            value = self.evaluate(node, chunk, module)
            known = self._defaults[node] = value if value.kind in _CALLABLE else PYTHON
        return known


def open_default(value: Value) -> Value:
    """A default in a function whose callers may pass something else."""
    if value.kind in _CALLABLE:
        return join(value, UNKNOWN)
    return changed(value, const=MISSING, truth=None)


def as_array(value: Value, root: Root) -> Value:
    """A numpy array made outside the compiled code, as that code sees it: TorchDynamo traces it as a tensor."""
    return Value(Kind.TENSOR, roots=frozenset({root}), why=value.why, array=True)


def as_lambda(body: ast.expr) -> ast.Lambda:
    """An expression as a function without parameters."""
    empty = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
    return ast.copy_location(ast.Lambda(empty, body), body)
