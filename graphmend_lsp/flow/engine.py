"""Functions and classes across the program: what a name is, what a call returns.

A function is analysed once per *calling context* (the abstract arguments), on demand; its ``Facts`` are kept
and shared by all callers with the same context.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from graphmend_lsp.flow import host, parameters
from graphmend_lsp.flow.base import Base
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.interpret import Interpreter
from graphmend_lsp.flow.ops import module_fact
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.values import (
    MISSING,
    NONE,
    NO_ROOTS,
    PYTHON,
    UNKNOWN,
    Bound,
    Closure,
    Kind,
    Null,
    Root,
    Value,
    Why,
    all_roots,
    changed,
    container,
    join,
)
from graphmend_lsp.model.module import BUILTINS, Binding, ClassInfo, FunctionInfo, FunctionNode, Loader, Module
from graphmend_lsp.parse import Place

_MAX_DEPTH = 14
_MAX_CONTEXTS = 12
_MODULE_BASES = frozenset({"PreTrainedModel", "LightningModule", "ModelMixin", "MessagePassing", "XLAModule"})
_RECORD_BASES = frozenset({"NamedTuple", "ModelOutput", "BaseOutput", "TypedDict", "BaseModelOutput"})
_MODULE_METHODS = frozenset(
    "register_buffer register_parameter register_module add_module parameters buffers children modules named_parameters "
    "named_buffers named_children named_modules train eval to half float double cuda cpu apply requires_grad_ "
    "register_forward_hook register_forward_pre_hook state_dict load_state_dict zero_grad get_submodule "
    "get_parameter get_buffer type bfloat16 compile".split()
)
_REGISTERS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ModuleDict", "torch.nn.ParameterList"})


class Engine:
    """Answers the interpreter's questions about everything outside the function at hand."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self._globals: dict[tuple[int, str], Value] = {}
        self._members: dict[tuple[int, str], Value] = {}
        self._stores: dict[int, dict[str, Value]] = {}
        self._setter_index: dict[int, dict[str, list[FunctionInfo]]] = {}
        self._nested: dict[int, FunctionInfo] = {}
        self._decorated: dict[int, Value] = {}
        self._memo: dict[tuple[int, Any], Facts | None] = {}
        self._contexts: dict[int, int] = {}
        self._external: dict[str, Value] = {}
        self._is_module: dict[int, bool] = {}
        self._uses: dict[int, parameters.Uses] = {}
        self._guesses: dict[tuple[int, str], Value | None] = {}
        self.silent: set[str] = set()

    # -- names -----------------------------------------------------------------------------------

    def global_value(self, module: Module, name: str) -> Value:
        key = (id(module), name)
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
        function = FunctionInfo("<module>", "<module>", _lambda(binding.value), binding.chunk, module)
        interpreter = Interpreter(self, function, Facts(function, {}), State(), 1)
        value = interpreter.eval(binding.value)
        constant = only and name not in module.rebound
        return self._global_result(value, name, module, constant)

    def _global_result(self, value: Value, name: str, module: Module, constant: bool) -> Value:
        if value.kind is Kind.TENSOR:
            root = ("global", module.path, name)
            return changed(value, roots=frozenset({root}), dtype=("any", root), shape=value.shape if value.shape == () else root)
        if value.kind is Kind.CONTAINER:
            return changed(value, truth=None, roots=frozenset({("global", module.path, name)}))
        if value.kind is Kind.PYTHON and not constant:
            return changed(value, const=MISSING, truth=None, null=Null.MAYBE if value.null else value.null)
        return value

    def external(self, dotted: str) -> Value:
        """Value of an absolute dotted name: of the project, or of something outside it."""
        known = self._external.get(dotted)
        if known is not None:
            return known
        self._external[dotted] = Value(Kind.NAMESPACE, ref=dotted)
        value = self._resolve(dotted)
        self._external[dotted] = value
        return value

    def _resolve(self, dotted: str) -> Value:
        found = self.lookup(dotted)
        if found is not None:
            return found
        if dotted.endswith((".logger", ".LOGGER", ".log")) and not dotted.startswith("torch."):
            return Value(Kind.NAMESPACE, ref=dotted)
        return Value(Kind.NAMESPACE, ref=dotted)

    def lookup(self, dotted: str) -> Value | None:
        """A module of the project, or a name in one; None outside the project."""
        top = dotted.partition(".")[0]
        if top in _OUTSIDE or not dotted or dotted.startswith(("builtins.", ".")):
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

    def annotation(self, node: ast.expr, module: Module) -> Value | None:
        value = parameters.annotation(node, module, self._find_class)
        if value is not None and value.kind is Kind.CLASS:
            return self._instance(value.ref, value.null)
        return value

    def _find_class(self, dotted: str) -> ClassInfo | str | None:
        value = self.external(dotted)
        return value.ref if value.kind is Kind.CLASS else None

    def _instance(self, cls: ClassInfo, null: Null) -> Value:
        if self.is_module(cls):
            return Value(Kind.MODULE, ref=cls, null=null)
        if self.is_record(cls):
            keys = {name: self.annotation(node, cls.module) or UNKNOWN for name, node in cls.annotations.items()}
            return Value(Kind.CONTAINER, keys=keys or None, dtype="record", null=null)
        return Value(Kind.INSTANCE, ref=cls, null=null)

    def is_silent(self, name: str) -> bool:
        """Whether the user told Dynamo that this call does not break."""
        return name in self.silent

    # -- classes ---------------------------------------------------------------------------------

    def bases(self, cls: ClassInfo) -> Iterator[ClassInfo | str]:
        """Direct bases: classes of the project, else dotted names (or the bare name)."""
        for base in cls.node.bases:
            node = base.value if isinstance(base, ast.Subscript) else base
            local = cls.module.bindings.get(node.id) if isinstance(node, ast.Name) else None
            if local and local[0].cls is not None and local[0].cls is not cls:
                yield local[0].cls
                continue
            dotted = cls.module.dotted(node)
            if dotted is None:
                yield node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
                continue
            value = self.external(dotted)
            yield value.ref if value.kind is Kind.CLASS else dotted

    def mro(self, cls: ClassInfo) -> list[ClassInfo | str]:
        """The class and its bases, depth first (close enough to Python's order for single chains)."""
        result: list[ClassInfo | str] = []
        todo: list[ClassInfo | str] = [cls]
        while todo and len(result) < 40:
            item = todo.pop(0)
            if item in result:
                continue
            result.append(item)
            if isinstance(item, ClassInfo):
                todo[:0] = list(self.bases(item))
        return result

    def method(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        for item in self.mro(cls):
            if isinstance(item, ClassInfo) and name in item.methods:
                return item.methods[name]
        return None

    def method_above(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        for item in self.mro(cls)[1:]:
            if isinstance(item, ClassInfo) and name in item.methods:
                return item.methods[name]
        return None

    def is_module(self, cls: ClassInfo) -> bool:
        """Whether a class derives from ``torch.nn.Module``."""
        known = self._is_module.get(id(cls))
        if known is None:
            self._is_module[id(cls)] = False
            known = any(self._module_base(item) for item in self.mro(cls)[1:] if isinstance(item, str))
            self._is_module[id(cls)] = known
        return known

    def _module_base(self, name: str) -> bool:
        if name == "torch.nn.Module" or (name.startswith("torch.nn.") and module_fact(name) is not None):
            return True
        last = name.rpartition(".")[2]
        return last in _MODULE_BASES or (last.endswith("PreTrainedModel") and not last.startswith(("Flax", "TF")))

    def torch_base(self, cls: ClassInfo) -> str | None:
        """The ``torch.nn`` class whose forward a class without its own uses."""
        for item in self.mro(cls)[1:]:
            if isinstance(item, str) and item.startswith("torch.nn.") and item != "torch.nn.Module":
                return item
        return None

    def is_record(self, cls: ClassInfo) -> bool:
        """A dataclass, named tuple or ModelOutput: a container with named items."""
        names = [cls.module.dotted(d.func if isinstance(d, ast.Call) else d) or "" for d in cls.node.decorator_list]
        if any(n.rpartition(".")[2] == "dataclass" for n in names):
            return True
        return any(isinstance(i, str) and i.rpartition(".")[2] in _RECORD_BASES for i in self.mro(cls)[1:])

    def record_fields(self, cls: ClassInfo) -> list[str]:
        fields: list[str] = []
        for item in reversed(self.mro(cls)):
            if isinstance(item, ClassInfo):
                fields.extend(name for name in item.annotations if name not in fields)
        return fields

    def member(self, cls: ClassInfo, name: str, receiver: Value) -> Value:
        """An attribute of an instance that is not a method."""
        key = (id(cls), name)
        known = self._members.get(key)
        if known is None:
            self._members[key] = UNKNOWN
            known = self._member(cls, name)
            self._members[key] = known
        if known.kind is Kind.METHOD and known.ref is None:
            return Value(Kind.METHOD, ref=Bound(receiver, name, ast.Constant(None)))
        return known

    def _member(self, cls: ClassInfo, name: str) -> Value:
        if name == "training" and self.is_module(cls):
            return Value(Kind.PYTHON, dtype="bool")
        found: Value | None = None
        declared: Value | None = None
        for item in self.mro(cls):
            if not isinstance(item, ClassInfo):
                continue
            for value in self._member_values(item, name):
                found = value if found is None else join(found, value)
            if name in item.annotations and declared is None:
                declared = self.annotation(item.annotations[name], item.module)
        if declared is not None and (found is None or found.kind in (Kind.UNKNOWN, Kind.PYTHON)):
            if found is None or declared.kind is not Kind.PYTHON:
                found = declared
        if found is None:
            if name in _MODULE_METHODS and self.is_module(cls):
                return Value(Kind.METHOD)
            return Value(Kind.UNKNOWN, null=Null.MAYBE)
        return self._owned(found, name)

    def _owned(self, value: Value, name: str) -> Value:
        """A value read from an attribute: it may have been set to another of its kind since."""
        root = ("attr", name)
        if value.kind is Kind.TENSOR:
            floating = isinstance(value.dtype, tuple) and value.dtype[:1] == ("floating",) or value.dtype in _FLOATS
            dtype = value.dtype if value.dtype in ("int64", "bool", "int32") else ("floating" if floating else "any", root)
            shape = () if value.shape == () else root
            return changed(value, roots=frozenset({root}), dtype=dtype, shape=shape, device=root)
        if value.kind is Kind.CONTAINER:
            return changed(value, truth=None, elements=None, keys=None, roots=frozenset({root}))
        if value.kind is Kind.PYTHON:
            return changed(value, const=MISSING, truth=None, null=Null.MAYBE if value.null else value.null)
        return value

    def _member_values(self, cls: ClassInfo, name: str) -> Iterator[Value]:
        if name in cls.attributes:
            function = FunctionInfo("<class>", cls.qualname, _lambda(cls.attributes[name]), cls.chunk, cls.module, cls)
            yield Interpreter(self, function, Facts(function, {}), State(), 2).eval(cls.attributes[name])
        if name in cls.inner:
            yield Value(Kind.CLASS, ref=cls.inner[name])
        for method in self._setters(cls).get(name, ()):
            stores = self._stores_of(method)
            if name in stores:
                yield stores[name]

    def _setters(self, cls: ClassInfo) -> dict[str, list[FunctionInfo]]:
        """For each attribute of ``self``, the methods of the class that set it."""
        known = self._setter_index.get(id(cls))
        if known is None:
            known = {}
            for method in cls.methods.values():
                for name in _sets_on_self(method):
                    known.setdefault(name, []).append(method)
            self._setter_index[id(cls)] = known
        return known

    def _stores_of(self, method: FunctionInfo) -> dict[str, Value]:
        """What a method sets on ``self``, learned by running it once."""
        known = self._stores.get(id(method.node))
        if known is not None:
            return known
        self._stores[id(method.node)] = {}
        args = self.default_params(method, constructor=method.name in ("__init__", "__post_init__"))
        interpreter = Interpreter(self, method, Facts(method, args), State(dict(args)), _MAX_DEPTH - 3)
        interpreter.self_stores = {}
        interpreter.run()
        self._stores[id(method.node)] = interpreter.self_stores
        return interpreter.self_stores

    def torch_module(self, name: str, values: list[Value], keywords: dict[str, Value], *, exact: bool = True) -> Value:
        """An instance of a class of ``torch.nn``; its constructor's arguments become its keys.

        Positional ones are ``"#0"``, ``"#1"``...; ``"**"`` stands for what ``*`` or ``**`` may hide.
        """
        if name in _CONTAINERS:
            items = values
            if name != "torch.nn.Sequential" and values:
                first = values[0]
                items = list(first.elements) if first.elements is not None else []
                if first.element is not None and first.elements is None:
                    return Value(Kind.MODULE, ref=name, element=first.element)
            element: Value | None = None
            for item in items:
                element = item if element is None else join(element, item)
            exact = name == "torch.nn.Sequential" and all(v.kind is Kind.MODULE for v in items)
            return Value(Kind.MODULE, ref=name, element=element, elements=tuple(items) if exact else None)
        keys = {f"#{index}": value for index, value in enumerate(values)} | keywords
        if not exact:
            keys["**"] = PYTHON
        return Value(Kind.MODULE, ref=name, keys=keys)

    # -- functions -------------------------------------------------------------------------------

    def nested(self, parent: FunctionInfo, node: FunctionNode, name: str) -> FunctionInfo:
        known = self._nested.get(id(node))
        if known is None:
            qualname = f"{parent.qualname}.<locals>.{name}"
            known = FunctionInfo(name, qualname, node, parent.chunk, parent.module, None, parent)
            self._nested[id(node)] = known
        return known

    def decorated(self, closure: Closure, caller: Base | None) -> Value:
        """A function as its decorators leave it."""
        function = closure.function
        plain = Value(Kind.FUNCTION, ref=closure)
        if not function.decorators:
            return plain
        if closure.env is None and id(function) in self._decorated:
            made = self._decorated[id(function)]
        else:
            self._decorated[id(function)] = Value(Kind.FUNCTION, ref=Closure(function, None, closure.env))
            made = self._decorate(Closure(function, None, closure.env), caller)
            self._decorated[id(function)] = made
        if made.kind is not Kind.FUNCTION or not isinstance(made.ref, Closure):
            return plain
        inner = made.ref
        if inner.function is function:
            return plain
        return Value(Kind.FUNCTION, ref=Closure(inner.function, closure.bound, inner.env))

    def _decorate(self, closure: Closure, caller: Base | None) -> Value:
        function = closure.function
        value = Value(Kind.FUNCTION, ref=closure)
        evaluator = caller if isinstance(caller, Interpreter) else None
        for decorator in reversed(function.decorators):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            dotted = function.module.dotted(target)
            if dotted is not None and dotted.partition(".")[0] in _OUTSIDE:
                continue
            if evaluator is None or evaluator.module is not function.module:
                fake = FunctionInfo("<decorator>", function.qualname, _lambda(decorator), function.chunk, function.module)
                evaluator = Interpreter(self, fake, Facts(fake, {}), State(), 4)
            wrap = evaluator.eval(decorator)
            if wrap.kind is Kind.FUNCTION and isinstance(wrap.ref, Closure):
                result = self.invoke(wrap.ref, [value], {}, decorator, evaluator)
                if result.kind is Kind.FUNCTION:
                    value = result
        return value

    def is_disabled(self, function: FunctionInfo) -> bool:
        return any(name in host.DISABLED for name in function.decorator_names())

    def is_effect(self, function: FunctionInfo) -> bool:
        """A helper that mending made: one operator of the graph, which is not traced into."""
        return any(host.is_runtime(name, "graph_effect") for name in function.decorator_names())

    def invoke(
        self,
        closure: Closure,
        values: list[Value],
        keywords: dict[str, Value],
        node: ast.expr,
        caller: Base,
        *,
        exact: bool = True,
    ) -> Value:
        """Call a function of the project; its effects become the caller's."""
        function = closure.function
        if self.is_effect(function):
            caller.facts.effects = True
            return NONE
        if self.is_disabled(function):
            for value in (*values, *keywords.values()):
                caller.flow("call", value, node)
            declared = self._declared_return(function)
            return declared if declared is not None else UNKNOWN
        params = self.bind_params(function, closure.bound, values, keywords, exact)
        params = {name: self._argument(name, value, function, caller, node) for name, value in params.items()}
        facts = self.analyse(function, params, closure.env, caller.depth + 1)
        if facts is None:
            for value in (*values, *keywords.values()):
                caller.flow("call", value, node)
            return self._declared_return(function) or UNKNOWN
        return self._returned(facts, params, node, caller)

    def _declared_return(self, function: FunctionInfo) -> Value | None:
        returns = None if isinstance(function.node, ast.Lambda) else function.node.returns
        if returns is None:
            return None
        value = self.annotation(returns, function.module)
        if value is None or value.kind is not Kind.TENSOR:
            return value
        return changed(value, roots=frozenset({("unknown", function.qualname)}))

    def _argument(self, name: str, value: Value, function: FunctionInfo, caller: Base, node: ast.expr) -> Value:
        """An argument as the callee sees it: the parameter is its root."""
        if value.kind is Kind.TENSOR:
            root = ("param", name)
            why = self._param_why(function, name, value.why, caller, node)
            kind = "floating" if isinstance(value.dtype, tuple) and value.dtype[:1] == ("floating",) else "any"
            dtype = value.dtype if isinstance(value.dtype, str) else (kind, root)
            shape = () if value.shape == () else root
            return changed(value, roots=frozenset({root}), dtype=dtype, shape=shape, device=root, why=why, unbound=False)
        if value.kind is Kind.CONTAINER and all_roots(value):
            return _rooted(value, ("param", name))
        if value.kind is Kind.UNKNOWN and value.dtype != "module-output":
            guess = self._guess(function, name)
            if guess is not None:
                return changed(guess, null=Null.MAYBE)
        return value if not value.unbound else changed(value, unbound=False)

    def _param_why(self, function: FunctionInfo, name: str, parent: Why | None, caller: Base, node: ast.expr) -> Why | None:
        arg = _arg(function, name)
        if arg is None:
            return parent
        passed = caller.why(node, f"passed to `{function.name}` here", parent)
        place = Place(function.chunk.id, function.chunk.span(arg))
        return Why(place, function.module.path, f"`{name}` is a parameter of `{function.qualname}`", passed)

    def _returned(self, facts: Facts, params: dict[str, Value], node: ast.expr, caller: Base) -> Value:
        caller.facts.callees.append(facts)
        caller.facts.calls[id(node)] = facts
        caller.facts.effects = caller.facts.effects or facts.effects
        caller.facts.random = caller.facts.random or facts.random
        caller.facts.raises = caller.facts.raises or facts.raises
        for name in facts.mutates:
            if name in params:
                caller.write(_original(params[name], caller, node, name), node, f"`{facts.function.name}` writes `{name}` in place")
        if facts.writes is not None and not (facts.mutates and facts.writes.message.endswith("in place")):
            if caller.state.written is None:
                caller.state.written = facts.writes
            if caller.facts.writes is None:
                caller.facts.writes = facts.writes
        arguments = _call_arguments(node, caller, facts.function)
        for root, flows in facts.flows.items():
            if root[0] == "param" and str(root[1]) in arguments:
                for kind in {f.kind for f in flows} - {"return"}:
                    caller.flow(kind, arguments[str(root[1])], node)
        value = facts.returns or UNKNOWN
        return _rebased(value, arguments, ("op", id(node)))

    # -- contexts --------------------------------------------------------------------------------

    def analyse(self, function: FunctionInfo, params: dict[str, Value], env: Any, depth: int) -> Facts | None:
        """Facts of a function for these parameters; None on recursion and past the depth limit."""
        if depth > _MAX_DEPTH:
            return None
        key = (id(function.node), _signature_of(params) if env is None else ("closure", id(env), _signature_of(params)))
        if key in self._memo:
            return self._memo[key]
        count = self._contexts.get(id(function.node), 0)
        if count >= _MAX_CONTEXTS and env is None:
            generic = self.generic(function)
            return generic
        self._contexts[id(function.node)] = count + 1
        self._memo[key] = None
        facts = self._run(function, params, env, depth)
        self._memo[key] = facts
        return facts

    def _run(self, function: FunctionInfo, params: dict[str, Value], env: Any, depth: int) -> Facts:
        facts = Facts(function, params)
        state = State({**(env or {}), **params})
        interpreter = Interpreter(self, function, facts, state, depth)
        return interpreter.run()

    def generic(self, function: FunctionInfo) -> Facts | None:
        """Facts for parameters of which nobody shows a call (an entry)."""
        key = (id(function.node), "generic")
        if key not in self._memo:
            self._memo[key] = None
            self._memo[key] = self._run(function, self.entry_params(function), None, 1)
        return self._memo[key]

    def entry_params(self, function: FunctionInfo) -> dict[str, Value]:
        """As ``default_params``; what a compiled function takes first is a tensor unless its uses deny it."""
        values = self.default_params(function)
        args = function.node.args
        positional = [*args.posonlyargs, *args.args]
        required = positional[: len(positional) - len(args.defaults)]
        for arg in required:
            value = values.get(arg.arg)
            if value is None or value.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS):
                continue
            if value.kind is Kind.UNKNOWN and arg.annotation is None and not parameters.used_as_python(self._uses_of(function), arg.arg):
                tensor = self._root_param(function, arg, Value(Kind.TENSOR), "the first of a compiled function")
                values[arg.arg] = changed(tensor, null=Null.MAYBE)
            break
        return values

    def default_params(self, function: FunctionInfo, *, constructor: bool = False) -> dict[str, Value]:
        """Parameter values from annotations, defaults and uses."""
        node = function.node
        args = node.args
        values: dict[str, Value] = {}
        positional = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        pairs = [*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        names = function.decorator_names()
        for index, (arg, default) in enumerate(pairs):
            if index == 0 and function.cls is not None and "builtins.staticmethod" not in names:
                values[arg.arg] = self._receiver(function, names)
                continue
            values[arg.arg] = self._default_param(function, arg, default, constructor)
        if args.vararg is not None:
            values[args.vararg.arg] = container(type_name="tuple")
        if args.kwarg is not None:
            values[args.kwarg.arg] = Value(Kind.CONTAINER, dtype="dict")
        return values

    def _receiver(self, function: FunctionInfo, names: list[str]) -> Value:
        cls = function.cls
        if cls is None:
            return UNKNOWN
        if "builtins.classmethod" in names:
            return Value(Kind.CLASS, ref=cls)
        return Value(Kind.MODULE if self.is_module(cls) else Kind.INSTANCE, ref=cls)

    def _default_param(self, function: FunctionInfo, arg: ast.arg, default: ast.expr | None, constructor: bool) -> Value:
        declared = self.annotation(arg.annotation, function.module) if arg.annotation is not None else None
        fallback = _default_value(default)
        if declared is not None:
            if fallback is not None and fallback.null is Null.ALWAYS:
                declared = changed(declared, null=Null.MAYBE)
            return self._root_param(function, arg, declared, "annotated as a tensor")
        if not constructor and (fallback is None or fallback.null is Null.ALWAYS) and arg.annotation is None:
            guess = self._guess(function, arg.arg)
            if guess is not None:
                return guess
        if fallback is not None and fallback.null is Null.NEVER and arg.annotation is None:
            return changed(fallback, const=MISSING, truth=None)
        if constructor:
            return Value(Kind.PYTHON, null=Null.MAYBE)
        return Value(Kind.UNKNOWN, null=Null.MAYBE, roots=frozenset({("param", arg.arg)}))

    def _uses_of(self, function: FunctionInfo) -> parameters.Uses:
        known = self._uses.get(id(function.node))
        if known is None:
            known = self._uses[id(function.node)] = parameters.Uses(function)
        return known

    def _guess(self, function: FunctionInfo, name: str) -> Value | None:
        """A parameter's value by its uses, if they tell; the same in every context."""
        key = (id(function.node), name)
        if key not in self._guesses:
            self._guesses[key] = None
            self._guesses[key] = self._guessed(function, name)
        return self._guesses[key]

    def _guessed(self, function: FunctionInfo, name: str) -> Value | None:
        arg = _arg(function, name)
        if arg is None:
            return None

        def torch_module(node: ast.expr) -> bool:
            cls = function.cls
            if cls is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                return False
            if node.value.id != "self":
                return False
            value = self.member(cls, node.attr, UNKNOWN)
            return value.kind is Kind.MODULE and isinstance(value.ref, str) and module_fact(value.ref) is not None

        use = parameters.used_as_tensor(self._uses_of(function), name, torch_module)
        if use is None:
            return self._guess_list(function, name, torch_module)
        node, words = use
        place = Place(function.chunk.id, function.chunk.span(node))
        why = Why(place, function.module.path, f"`{name}` is used as a tensor: {words}")
        value = self._root_param(function, arg, Value(Kind.TENSOR, why=why), f"used as a tensor ({words})")
        return changed(value, null=Null.MAYBE)

    def _guess_list(
        self, function: FunctionInfo, name: str, torch_module: Callable[[ast.expr], bool]
    ) -> Value | None:
        use = parameters.iterated_as_tensors(self._uses_of(function), name, torch_module)
        if use is None:
            return None
        node, words = use
        place = Place(function.chunk.id, function.chunk.span(node))
        why = Why(place, function.module.path, f"the elements of `{name}` are used as tensors: {words}")
        return _rooted(container(element=Value(Kind.TENSOR, why=why), type_name="list"), ("param", name))

    def _root_param(self, function: FunctionInfo, arg: ast.arg, value: Value, how: str) -> Value:
        root = ("param", arg.arg)
        if value.kind is not Kind.TENSOR:
            return _rooted(value, root) if value.kind is Kind.CONTAINER else value
        place = Place(function.chunk.id, function.chunk.span(arg))
        why = Why(place, function.module.path, f"`{arg.arg}` is a parameter, {how}")
        return changed(
            value, roots=frozenset({root}), dtype=value.dtype or ("any", root), shape=root, device=root, why=why
        )

    def bind_params(
        self,
        function: FunctionInfo,
        bound: Value | None,
        values: list[Value],
        keywords: dict[str, Value],
        exact: bool,
    ) -> dict[str, Value]:
        """Parameter values of a call."""
        args = function.node.args
        given = [bound, *values] if bound is not None else list(values)
        result: dict[str, Value] = {}
        positional = [*args.posonlyargs, *args.args]
        for arg, value in zip(positional, given, strict=False):
            result[arg.arg] = value
        rest = given[len(positional) :]
        extra: dict[str, Value] = {}
        names = {a.arg for a in (*positional, *args.kwonlyargs)}
        for name, value in keywords.items():
            (result if name in names else extra)[name] = value
        if args.vararg is not None:
            result[args.vararg.arg] = container(tuple(rest), type_name="tuple") if exact else container(type_name="tuple")
        if args.kwarg is not None:
            keys = extra if exact else None
            result[args.kwarg.arg] = Value(Kind.CONTAINER, keys=keys, element=container(tuple(extra.values())).element, dtype="dict")
        defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        for arg, default in (*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)):
            if arg.arg in result:
                continue
            value = _default_value(default)
            if value is None or not exact:
                value = self._default_param(function, arg, default, False)
            result[arg.arg] = value
        return result


_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_OUTSIDE = frozenset(
    "torch numpy os sys math typing collections functools itertools contextlib dataclasses warnings logging re json "
    "time abc enum copy inspect random string threading pathlib builtins operator datetime einops typing_extensions "
    "__future__ importlib packaging numbers traceback types weakref io struct hashlib uuid gc pprint".split()
)


def _lambda(body: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
    return ast.copy_location(ast.Lambda(empty, body), body)


def _arg(function: FunctionInfo, name: str) -> ast.arg | None:
    args = function.node.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.arg == name:
            return arg
    return None


def _default_value(node: ast.expr | None) -> Value | None:
    """Value of a parameter's default, if it is a literal."""
    from graphmend_lsp.flow.values import constant

    if node is None:
        return None
    if isinstance(node, ast.Constant):
        return constant(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return Value(Kind.PYTHON, dtype=type(node.operand.value).__name__)
    if isinstance(node, (ast.Tuple, ast.List)):
        return container(element=PYTHON, type_name="tuple" if isinstance(node, ast.Tuple) else "list")
    if isinstance(node, ast.Dict):
        return Value(Kind.CONTAINER, dtype="dict", element=PYTHON)
    return PYTHON


def _sets_on_self(method: FunctionInfo) -> set[str]:
    """Names of attributes a method sets on ``self``, ``register_buffer("name", ...)`` included."""
    found: set[str] = set()
    for node in ast.walk(method.node):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.value.id != "self":
            if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
                name = node.args[0]
                if node.func.attr in _REGISTERS and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    found.add(name.value)
            continue
        if isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def _rooted(value: Value, root: Root, depth: int = 0) -> Value:
    """Everything inside a container belongs to one root."""
    if depth > 4:
        return value
    if value.kind is Kind.TENSOR:
        return changed(value, roots=frozenset({root}), dtype=("any", root, depth), shape=None)
    if value.kind is not Kind.CONTAINER:
        return value
    return changed(
        value,
        roots=frozenset({root}),
        elements=None if value.elements is None else tuple(_rooted(v, root, depth + 1) for v in value.elements),
        keys=None if value.keys is None else {k: _rooted(v, root, depth + 1) for k, v in value.keys.items()},
        element=None if value.element is None else _rooted(value.element, root, depth + 1),
    )


def _call_arguments(node: ast.expr, caller: Base, function: FunctionInfo) -> dict[str, Value]:
    """The caller's values for the callee's parameters, as far as the call names them one by one."""
    if not isinstance(node, ast.Call):
        return {}
    args = function.node.args
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    if function.cls is not None and names[:1] == ["self"]:
        names = names[1:]
    result: dict[str, Value] = {}
    for name, item in zip(names, node.args, strict=False):
        if isinstance(item, ast.Starred):
            break
        value = caller.facts.values.get(id(item))
        if value is not None:
            result[name] = value
    for keyword in node.keywords:
        value = caller.facts.values.get(id(keyword.value))
        if keyword.arg is not None and value is not None:
            result[keyword.arg] = value
    return result


def _original(value: Value, caller: Base, node: ast.expr, name: str) -> Value | None:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == name:
                return caller.facts.values.get(id(keyword.value))
        for item in node.args:
            found = caller.facts.values.get(id(item))
            if found is not None and found.kind is value.kind and value.roots == frozenset({("param", name)}):
                return found
    return None


def _rebased(value: Value, arguments: dict[str, Value], site: Root, depth: int = 0) -> Value:
    """A callee's value in the caller's terms: parameters become arguments, other storages new ones."""
    if depth > 4:
        return value
    roots: frozenset[Root] = NO_ROOTS
    for root in value.roots:
        if root[0] == "param":
            argument = arguments.get(str(root[1]))
            roots |= all_roots(argument) if argument is not None else frozenset({("unknown", *site)})
        elif root[0] in ("attr", "global", "unknown"):
            roots |= {root}
        else:
            roots |= {(*site, root[1] if len(root) > 1 else 0)}
    return changed(
        value,
        roots=roots,
        dtype=_rebased_token(value.dtype, arguments, site, "dtype") if value.kind is Kind.TENSOR else value.dtype,
        shape=_rebased_token(value.shape, arguments, site, "shape") if value.kind is Kind.TENSOR else value.shape,
        device=_rebased_token(value.device, arguments, site, "device") if value.kind is Kind.TENSOR else value.device,
        elements=None
        if value.elements is None
        else tuple(_rebased(v, arguments, site, depth + 1) for v in value.elements),
        keys=None if value.keys is None else {k: _rebased(v, arguments, site, depth + 1) for k, v in value.keys.items()},
        element=None if value.element is None else _rebased(value.element, arguments, site, depth + 1),
    )


def _rebased_token(token: Any, arguments: dict[str, Value], site: Root, field: str) -> Any:
    if token is None or isinstance(token, str) or token == ():
        return token
    root = token[1] if token[:1] in (("any",), ("floating",)) and len(token) > 1 else token
    if isinstance(root, tuple) and root[:1] == ("param",) and len(root) == 2:
        argument = arguments.get(str(root[1]))
        if argument is None or argument.kind is not Kind.TENSOR:
            return None
        return getattr(argument, field)
    if isinstance(root, tuple) and root[:1] in (("attr",), ("global",)):
        return token
    if token[:1] == ("floating",):
        return ("floating", (*site, token))
    return (*site, token)


def _signature_of(params: dict[str, Value]) -> Any:
    return tuple((name, _signature(value)) for name, value in params.items())


def _signature(value: Value, depth: int = 0) -> Any:
    """What of a value decides how a function behaves (evidence left out)."""
    if depth > 3:
        return value.kind
    const = value.const if isinstance(value.const, (int, float, str, bool, type(None))) else MISSING
    ref = value.ref
    if isinstance(ref, Closure):
        ref = ("closure", id(ref.function.node), id(ref.env))
    elif isinstance(ref, Bound):
        ref = ("bound", ref.name, ref.receiver.kind)
    elif not isinstance(ref, str):
        ref = id(ref)
    return (
        value.kind,
        value.null,
        (type(const).__name__, const),
        ref,
        value.truth,
        value.mixed,
        value.array,
        value.dtype if isinstance(value.dtype, str) else (value.dtype or (None,))[0],
        value.shape == (),
        None if value.elements is None else tuple(_signature(v, depth + 1) for v in value.elements),
        None if value.keys is None else tuple((k, _signature(v, depth + 1)) for k, v in value.keys.items()),
        None if value.element is None else _signature(value.element, depth + 1),
    )


