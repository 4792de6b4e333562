"""Calls: torch operators, modules, functions of the project, builtins, host effects."""

from __future__ import annotations

import ast
from typing import Any

from graphmend_lsp.flow import host, tensors
from graphmend_lsp.flow.expressions import BOOL, INT, STR, Expressions
from graphmend_lsp.flow.ops import ARRAY_METHODS, TENSOR_ONLY_METHODS, OpFact, function_fact, method_fact, module_fact
from graphmend_lsp.flow.values import (
    FALSE,
    MISSING,
    NONE,
    PYTHON,
    TRUE,
    UNKNOWN,
    Bound,
    Closure,
    Kind,
    Null,
    Value,
    changed,
    constant,
    container,
    holds_tensor,
    join,
    join_all,
    number,
    tensor,
)
from graphmend_lsp.model.module import ClassInfo

_NUMERIC_METHODS = frozenset({"sum", "mean", "max", "min", "abs", "float", "std", "var", "norm", "any", "all"})
_INPLACE_CONTAINER = frozenset(
    "append extend insert add update pop popitem remove discard clear setdefault sort reverse appendleft popleft".split()
)
_DICT_VIEWS = {"values": 0, "items": 1, "keys": 2}


class Arguments:
    """Evaluated arguments of a call; ``exact`` is False if ``*``/``**`` hide some."""

    def __init__(self, values: list[Value], keywords: dict[str, Value], exact: bool) -> None:
        self.values = values
        self.keywords = keywords
        self.exact = exact

    def all(self) -> list[Value]:
        return [*self.values, *self.keywords.values()]

    def get(self, position: int, name: str) -> Value | None:
        if name in self.keywords:
            return self.keywords[name]
        return self.values[position] if position < len(self.values) else None


class Calls(Expressions):
    """Evaluates calls."""

    def call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and _is_super(node.func.value):
            return self._super_call(node, node.func.attr)
        callee = self.eval(node.func)
        if callee.kind is Kind.NAMESPACE and callee.ref in ("builtins.any", "builtins.all") and len(node.args) == 1:
            return self._any_all(node)
        arguments = self.arguments(node)
        return self.apply(callee, arguments, node)

    def arguments(self, node: ast.Call) -> Arguments:
        values: list[Value] = []
        exact = True
        for item in node.args:
            if isinstance(item, ast.Starred):
                inner = self.eval(item.value)
                if inner.elements is not None:
                    values.extend(inner.elements)
                else:
                    exact = False
                    values.append(self.element_of(inner))
            else:
                values.append(self.eval(item))
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif value.keys is not None:
                keywords.update(value.keys)
            else:
                exact = False
        return Arguments(values, keywords, exact)

    def apply(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        kind = callee.kind
        if kind is Kind.NAMESPACE and isinstance(callee.ref, str):
            return self._named_call(callee.ref, arguments, node)
        if kind is Kind.METHOD or (kind is Kind.PYTHON and isinstance(callee.ref, Bound)):
            bound: Bound = callee.ref
            return self._method_call(bound.receiver, bound.name, arguments, node)
        if kind is Kind.FUNCTION and isinstance(callee.ref, Closure):
            return self._project_call(callee.ref, arguments, node)
        if kind is Kind.CLASS and isinstance(callee.ref, ClassInfo):
            return self._construct(callee.ref, arguments, node)
        if kind is Kind.MODULE:
            return self._module_call(callee, arguments, node)
        if kind is Kind.INSTANCE and isinstance(callee.ref, ClassInfo):
            method = self.engine.method(callee.ref, "__call__")
            if method is not None:
                return self._project_call(Closure(method, callee), arguments, node)
        if kind is Kind.LOGGER:
            return UNKNOWN
        return self._unknown_call(arguments, node)

    # -- code that is not known ------------------------------------------------------------------

    def _unknown_call(self, arguments: Arguments, node: ast.Call) -> Value:
        for value in arguments.all():
            self.flow("call", value, node)
        return UNKNOWN

    def _module_output(self, arguments: Arguments, node: ast.Call, path: str = "") -> Value:
        del path
        for value in arguments.all():
            self.flow("call", value, node)
        roots = frozenset({("unknown", id(node))})
        return Value(Kind.UNKNOWN, dtype="module-output", roots=roots)

    # -- project code ----------------------------------------------------------------------------

    def _project_call(self, closure: Closure, arguments: Arguments, node: ast.Call) -> Value:
        return self.engine.invoke(closure, arguments.values, arguments.keywords, node, self, exact=arguments.exact)

    def _super_call(self, node: ast.Call, name: str) -> Value:
        arguments = self.arguments(node)
        cls = self.function.cls
        method = self.engine.method_above(cls, name) if cls is not None else None
        if method is not None:
            names = method.decorator_names()
            receiver = self.state.env.get("self")
            return self._project_call(Closure(method, None if "builtins.staticmethod" in names else receiver), arguments, node)
        if name in ("__init__", "train", "eval", "apply", "to"):
            return PYTHON
        if name == "forward":
            return self._module_output(arguments, node)
        return self._unknown_call(arguments, node)

    def _construct(self, cls: ClassInfo, arguments: Arguments, node: ast.Call) -> Value:
        for value in arguments.all():
            self.flow("call" if not self.engine.is_record(cls) else "none", value, node)
        if self.engine.is_module(cls):
            return Value(Kind.MODULE, ref=cls)
        if self.engine.is_record(cls):
            fields = self.engine.record_fields(cls)
            keys = dict(zip(fields, arguments.values, strict=False)) | arguments.keywords
            if not fields:
                return container(element=join_all(tuple(arguments.all())), type_name="record")
            keys |= {name: NONE for name in fields if name not in keys and arguments.exact}
            return Value(Kind.CONTAINER, keys=keys, element=join_all(tuple(keys.values())), dtype="record")
        return Value(Kind.INSTANCE, ref=cls)

    def _module_call(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        ref = callee.ref
        if isinstance(ref, ClassInfo):
            method = self.engine.method(ref, "forward")
            if method is not None:
                return self._project_call(Closure(method, callee), arguments, node)
            base = self.engine.torch_base(ref)
            if base is None:
                return self._module_output(arguments, node)
            ref = base
        if ref == "torch.nn.Sequential":
            return self._sequential(callee, arguments, node)
        fact = module_fact(ref) if isinstance(ref, str) else None
        if fact is None or fact.container:
            return self._module_output(arguments, node)
        first = arguments.values[0] if arguments.values else None
        self._first_was_used(node)
        if fact.random:
            self.facts.random = True
        if fact.returns == "tensors":
            return container(element=self._fresh(node, first), type_name="tuple")
        if fact.returns == "python":
            return self._module_output(arguments, node)
        result = self._fresh(node, first, floating=fact.heavy and ref != "torch.nn.Embedding" or ref == "torch.nn.Embedding")
        if not fact.heavy and first is not None and first.kind is Kind.TENSOR:
            result = changed(result, dtype=first.dtype)
            inplace = _inplace(ref, callee) if isinstance(ref, str) else False
            if inplace is not False:
                self.write(first, node, f"`{_short(self.source(node))}` writes in place")
            if inplace is True:
                return changed(result, roots=first.roots, shape=first.shape)
            if fact.alias and (inplace is None or ref not in _INPLACE):
                result = changed(result, roots=result.roots | first.roots)
        return result

    def _first_was_used(self, node: ast.Call) -> None:
        """What an operator takes first is a tensor, not None, or it raises."""
        if node.args:
            value = self.facts.values.get(id(node.args[0]))
            if value is not None:
                self._was_used(node.args[0], value)

    def _sequential(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        value = arguments.values[0] if arguments.values else UNKNOWN
        self._first_was_used(node)
        if callee.elements is None:
            return self._fresh(node, value) if callee.element is not None else self._module_output(arguments, node)
        for item in callee.elements:
            value = self._module_call(item, Arguments([value], {}, True), node) if item.kind is Kind.MODULE else UNKNOWN
        return value

    def _fresh(self, node: ast.expr, like: Value | None, *, floating: bool = False) -> Value:
        root = ("op", id(node))
        why = like.why if like is not None and like.kind is Kind.TENSOR else None
        return tensor(
            why=why or self.why(node, f"`{_short(self.source(node))}` is a tensor"),
            dtype=("floating", root) if floating else None,
            shape=root,
            device=like.device if like is not None and like.kind is Kind.TENSOR else None,
            roots=frozenset({root}),
        )

    # -- named functions -------------------------------------------------------------------------

    def _named_call(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name.startswith("builtins."):
            return self._builtin(name[9:], arguments, node)
        if name in host.COMPILING:
            return TRUE if host.COMPILING[name] else FALSE
        if name.startswith("torch."):
            return self._torch(name, arguments, node)
        return self._library(name, arguments, node)

    def _library(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        head, _, last = name.rpartition(".")
        if host.is_runtime(name, "select") and len(arguments.values) == 3:
            return self._selected(arguments.values[1], arguments.values[2], node)
        if name in host.PRINTS:
            return self._effect("print", name, arguments, node)
        if name in host.WARNS:
            return self._effect("warn", name, arguments, node)
        if last in host.GET_LOGGER:
            self.emit("log", node, name=name)
            return Value(Kind.LOGGER)
        if head in host.LOG_MODULES and last in host.LOG_CALLS:
            return self._effect("log", name, arguments, node)
        if last in host.COMPILING_NAMES and not arguments.values:
            known = host.COMPILING_NAMES[last]
            return BOOL if known is None else TRUE if known else FALSE
        if head.rpartition(".")[2] in host.LOGGER_NAMES and last in host.LOG_CALLS:
            return self._effect("log", name, arguments, node)
        if head == "math" or head == "operator" or head == "cmath":
            return self._math(name, arguments, node)
        if name.startswith("numpy."):
            return self._numpy(name, arguments, node)
        if name == "functools.partial" and arguments.values:
            return self._partial(arguments, node)
        if name == "copy.copy" or name == "copy.deepcopy":
            first = arguments.values[0] if arguments.values else UNKNOWN
            return changed(first, roots=frozenset({("op", id(node))})) if first.kind is Kind.TENSOR else first
        if name.startswith("einops."):
            first = arguments.values[0] if arguments.values else UNKNOWN
            return self._fresh(node, first) if holds_tensor(first) else UNKNOWN
        if name.startswith("random.") and last in ("random", "uniform", "gauss", "randint", "randrange", "choice"):
            self.facts.random = True
            return number("float" if last in ("random", "uniform", "gauss") else "int")
        if name.startswith(_HOST_PREFIXES):
            return PYTHON
        for value in arguments.all():
            self.flow("call", value, node)
        if last[:1].isupper() and (holds_tensor(join_all(tuple(arguments.all()))) or arguments.keywords):
            # A class of another project built from tensors: a ModelOutput, a dataclass, a named tuple.
            keys = arguments.keywords if not arguments.values else None
            return Value(
                Kind.CONTAINER, keys=keys, element=join_all(tuple(arguments.all())), dtype="record"
            )
        return UNKNOWN

    def _selected(self, new: Value, old: Value, node: ast.Call) -> Value:
        """``select`` of the runtime: one of two values, compiled into a new tensor."""
        result = join(new, old)
        if result.kind is Kind.TENSOR:
            result = changed(result, roots=frozenset({("op", id(node))}))
        return result

    def _partial(self, arguments: Arguments, node: ast.Call) -> Value:
        inner, rest = arguments.values[0], arguments.values[1:]
        del node
        if inner.kind is Kind.NAMESPACE or (inner.kind is Kind.FUNCTION and (rest or arguments.keywords)):
            return Value(Kind.METHOD, ref=Bound(inner, "<partial>", ast.Constant(None)), elements=tuple(rest), keys=arguments.keywords)
        return inner

    def _effect(self, kind: Any, name: str, arguments: Arguments, node: ast.Call) -> Value:
        del arguments
        if not self.engine.is_silent(name):
            self.emit(kind, node, name=name)
            self.facts.effects = True
        return NONE if not name.endswith((".write", "isEnabledFor")) else PYTHON

    def _math(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        first = next((v for v in arguments.values if v.kind is Kind.TENSOR), None)
        if first is not None:
            if name.startswith("operator.") and name.rpartition(".")[2] != "index":
                return self._fresh(node, first)
            self.host_read("extract", node, name, first)
            return Value(Kind.SCALAR, why=first.why, dtype="float")
        if any(v.kind is Kind.SCALAR for v in arguments.values):
            return Value(Kind.SCALAR)
        return PYTHON

    def _numpy(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        arrays = [v for v in arguments.all() if v.kind is Kind.TENSOR]
        if arrays:
            return Value(Kind.TENSOR, why=arrays[0].why, roots=frozenset({("op", id(node))}), array=True)
        del name
        return PYTHON

    # -- torch -----------------------------------------------------------------------------------

    def _torch(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name in host.CHECKS or name == "torch._assert":
            return self._check(name, arguments, node)
        if name == "torch.compile" and arguments.values:
            return arguments.values[0]
        if name in ("torch.utils.checkpoint.checkpoint", "torch.cond", "torch.autograd.graph.save_on_cpu"):
            return self._higher_order(name, arguments, node)
        if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional."):
            return self._torch_module(name, arguments, node)
        if name in ("torch.Size",):
            return Value(Kind.PYTHON, dtype="size", element=INT)
        fact = function_fact(name)
        if fact is None:
            return self._unknown_torch(name, arguments, node)
        fact = tensors.decided(fact, arguments.values, arguments.keywords)
        first = arguments.values[0] if arguments.values else next(iter(arguments.keywords.values()), None)
        if fact.returns in ("tensor", "tensors") and name not in ("torch.tensor", "torch.as_tensor"):
            self._first_was_used(node)
        return self._op(fact, name, first, arguments, node, method=False)

    def _unknown_torch(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name.startswith(("torch._dynamo.", "torch.compiler.", "torch.cuda.", "torch.distributed.", "torch.backends.")):
            return PYTHON
        if name.endswith(".apply"):
            return self._fresh(node, next((v for v in arguments.values if v.kind is Kind.TENSOR), None))
        return self._unknown_call(arguments, node)

    def _higher_order(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name == "torch.utils.checkpoint.checkpoint" and arguments.values:
            keywords = {k: v for k, v in arguments.keywords.items() if k not in _CHECKPOINT_OPTIONS}
            return self.apply(arguments.values[0], Arguments(arguments.values[1:], keywords, arguments.exact), node)
        return self._module_output(arguments, node)

    def _torch_module(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        """Construction of a torch.nn class."""
        if name == "torch.nn.Parameter" or name == "torch.nn.parameter.Parameter":
            return changed(self._fresh(node, arguments.values[0] if arguments.values else None), dtype=None)
        if name.startswith(("torch.nn.utils.", "torch.nn.init.", "torch.nn.parallel.", "torch.nn.attention.")):
            return UNKNOWN
        return self.engine.torch_module(name, arguments.values, arguments.keywords, exact=arguments.exact)

    def _op(
        self, fact: OpFact, name: str, first: Value | None, arguments: Arguments, node: ast.Call, *, method: bool
    ) -> Value:
        """The result of one operator; reports reads and dynamic shapes."""
        values = arguments.all()
        operands = ([first] if method and first is not None else []) + [
            v for v in values if v.kind in (Kind.TENSOR, Kind.PYTHON, Kind.SCALAR)
        ]
        inside = [first, *values] if first is not None else values
        mutated = [m for m in fact.mutates if m != "out" or "out" in arguments.keywords]
        for target in mutated:
            victim = arguments.keywords.get(target) if target in arguments.keywords else first
            if victim is not None:
                self.write(victim, node, f"`{_short(self.source(node))}` writes in place")
        if fact.random:
            self.facts.random = True
        reads_tensor = holds_tensor(join_all(tuple(v for v in inside if v is not None)))
        if fact.dynamic and (reads_tensor or method):
            self.host_read("dynamic", node, name, first or UNKNOWN)
        if fact.host_read:
            if not reads_tensor and not method:
                return PYTHON
            self.host_read("extract", node, name, first or UNKNOWN)
            return Value(Kind.SCALAR, why=first.why if first is not None else None, dtype=_scalar_type(fact))
        return self._result(fact, name, first, operands, arguments, node)

    def _result(
        self,
        fact: OpFact,
        name: str,
        first: Value | None,
        operands: list[Value],
        arguments: Arguments,
        node: ast.Call,
    ) -> Value:
        if fact.returns in ("bool", "int", "float", "str"):
            return number(fact.returns)
        if fact.returns in ("dtype", "device", "size"):
            return Value(Kind.PYTHON, dtype="size" if fact.returns == "size" else f"torch.{fact.returns}", element=INT)
        if fact.returns == "none":
            return NONE
        if fact.returns == "python":
            if name.endswith("size"):
                return Value(Kind.PYTHON, dtype="size", element=INT)
            return PYTHON
        result = self._tensor_result(fact, name, first, operands, arguments, node)
        if fact.returns == "tensors":
            item = changed(result, shape=("item", id(node)))
            if fact.count:
                items = tuple(changed(item, roots=item.roots | {("op", id(node), i)}) for i in range(fact.count))
                return container(items, type_name="tuple")
            return container(element=item, type_name="tuple")
        if fact.returns == "ndarray":
            return changed(result, array=True, dtype=None)
        return result

    def _tensor_result(
        self,
        fact: OpFact,
        name: str,
        first: Value | None,
        operands: list[Value],
        arguments: Arguments,
        node: ast.Call,
    ) -> Value:
        root = ("op", id(node))
        tensors_in = [v for v in operands if v.kind is Kind.TENSOR]
        source = first if first is not None and first.kind is Kind.TENSOR else (tensors_in[0] if tensors_in else None)
        last = name.rpartition(".")[2]
        shape = self._shape(fact, last, source, tensors_in, arguments, root)
        dtype = self._dtype(fact, last, source, operands, arguments)
        roots = frozenset({root})
        if fact.alias != "no" and source is not None:
            roots = source.roots if fact.alias == "yes" else source.roots | roots
        elif fact.alias != "no" and first is not None and first.kind is not Kind.PYTHON:
            roots = roots | {("unknown", id(node))}
        why = source.why if source is not None else None
        if why is None:
            inner = next((v.element for v in arguments.all() if v.kind is Kind.CONTAINER and v.element), None)
            why = inner.why if inner is not None and inner.kind is Kind.TENSOR else None
        device = tensors.device_of(tensors_in) if tensors_in else None
        if last in ("to", "cuda", "cpu", "type") and not _only_dtype(arguments):
            device = None
        return Value(
            Kind.TENSOR,
            null=Null.MAYBE if fact.nullable else Null.NEVER,
            dtype=dtype,
            shape=shape,
            device=device,
            roots=roots,
            why=why or self.why(node, f"`{_short(self.source(node))}` is a tensor"),
            mixed=any(v.mixed for v in tensors_in),
            array=any(v.array for v in tensors_in) and not name.startswith("torch."),
        )

    def _shape(
        self, fact: OpFact, last: str, source: Value | None, operands: list[Value], arguments: Arguments, root: Any
    ) -> Any:
        if last in ("zeros", "ones", "full", "empty", "rand", "randn") and arguments.values:
            size = arguments.values[0]
            return () if size.elements == () else root
        if last in ("tensor", "as_tensor", "scalar_tensor") and arguments.values:
            data = arguments.values[0]
            if data.kind is Kind.PYTHON and data.dtype in ("int", "float", "bool"):
                return ()
        if last.startswith("new_") and not last.endswith("_like"):
            return root
        if fact.shape == "scalar":
            reduces = any(k in arguments.keywords for k in ("dim", "axis", "keepdim"))
            positional = len(arguments.values) - (0 if source is None or source not in arguments.values else 1)
            return root if reduces or positional > 0 else ()
        if fact.shape == "same" or last in ("clamp", "clip", "clamp_min", "clamp_max", "zeros_like", "ones_like"):
            return tensors.shape_of(operands, root) if operands else root
        return root

    def _dtype(
        self, fact: OpFact, last: str, source: Value | None, operands: list[Value], arguments: Arguments
    ) -> Any:
        given = arguments.keywords.get("dtype")
        if last == "to" and given is None:
            given = next((v for v in arguments.values if v.dtype == "torch.dtype" or _dtype_ref(v)), None)
            if given is None and arguments.values and arguments.values[0].kind is Kind.TENSOR:
                return arguments.values[-1].dtype
            if given is None:
                moved = all(v.dtype in ("str", "torch.device") for v in arguments.values) and not arguments.keywords
                return source.dtype if source is not None and moved else None
        if last == "type_as" and arguments.values:
            return arguments.values[-1].dtype
        if given is not None and (fact.dtype_argument or last == "to"):
            return _dtype_of(given)
        if last in tensors.CASTS and source is not None and last not in ("type",):
            return tensors.CASTS[last]
        if last in ("any", "all"):
            return "bool"  # uint8 in gives uint8 out: assumed not to be used as a mask type
        if last in ("clamp", "clip", "clamp_min", "clamp_max"):
            return tensors.promote(operands)
        return tensors.result_dtype(fact.result_dtype, source, operands)

    def _check(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        condition = arguments.get(0, "condition" if name == "torch._assert" else "cond")
        read = condition is not None and condition.kind is Kind.SCALAR
        if condition is not None and (condition.kind is Kind.TENSOR or (read and self._reads_inside(node))):
            self.emit("check", node, name=name, value=condition)
        elif name == "torch._check_tensor_all" and condition is not None and condition.kind is not Kind.PYTHON:
            self.emit("check", node, name=name, value=condition)
        self.facts.raises = True
        return NONE

    def _reads_inside(self, node: ast.Call) -> bool:
        inside = {id(n) for n in ast.walk(node)}
        return any(kind == "extract" and at in inside for kind, at in self.events)

    # -- methods ---------------------------------------------------------------------------------

    def _method_call(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        kind = receiver.kind
        if name == "<partial>":
            return self._partial_call(node, arguments)
        if kind is Kind.TENSOR:
            return self._tensor_method(receiver, name, arguments, node)
        if kind is Kind.LOGGER:
            if name in host.LOG_METHODS:
                return self._effect("log", f"Logger.{name}", arguments, node)
            return UNKNOWN
        if kind is Kind.CONTAINER:
            return self._container_method(receiver, name, arguments, node)
        if kind is Kind.MODULE:
            return self._torch_module_method(receiver, name, arguments, node)
        if kind is Kind.SCALAR:
            return receiver
        if kind is Kind.PYTHON:
            return self._python_method(receiver, name, arguments, node)
        if kind is Kind.UNKNOWN:
            return self._method_of_unknown(receiver, name, arguments, node)
        if kind is Kind.METHOD:
            return self._method_of_unknown(UNKNOWN, name, arguments, node)
        return self._unknown_call(arguments, node)

    def _partial_call(self, node: ast.Call, arguments: Arguments) -> Value:
        callee = self.facts.values[id(node.func)]
        inner: Value = callee.ref.receiver
        values = [*(callee.elements or ()), *arguments.values]
        return self.apply(inner, Arguments(values, {**(callee.keys or {}), **arguments.keywords}, arguments.exact), node)

    def _method_of_unknown(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        module_output = receiver.dtype == "module-output"
        if name in TENSOR_ONLY_METHODS or (module_output and (name in ARRAY_METHODS or name in _NUMERIC_METHODS)):
            source = self.source(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            why = self.why(node, f"`{_short(source)}` is used as a tensor (`.{name}()`)")
            roots = receiver.roots or frozenset({("unknown", id(node))})
            guess = tensor(why=why, dtype=None, shape=None, roots=roots)
            if isinstance(node.func, ast.Attribute):
                self.facts.values[id(node.func.value)] = guess
            return self._tensor_method(guess, name, arguments, node)
        if name in host.LOG_CALLS and isinstance(node.func, ast.Attribute):
            target = node.func.value
            last = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
            if last in host.LOGGER_NAMES and name != "log":
                return self._effect("log", f"{last}.{name}", arguments, node)
        for value in arguments.all():
            self.flow("call", value, node)
        self.flow("call", receiver, node)
        fact = method_fact(name)
        if fact is not None and fact.metadata and module_output:
            return PYTHON
        return UNKNOWN

    def _tensor_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        fact = method_fact(name)
        if fact is None:
            return UNKNOWN
        if fact.kind == "attribute":
            return UNKNOWN
        fact = tensors.decided(fact, arguments.values, arguments.keywords)
        if receiver.array and name in ("item", "tolist"):
            return PYTHON
        if fact.metadata:
            return self._result(fact, name, receiver, [receiver], arguments, node)
        return self._op(fact, name, receiver, arguments, node, method=True)

    def _container_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        element = receiver.element or UNKNOWN
        if name in _INPLACE_CONTAINER:
            if name == "sort":
                self._sort(node, receiver, arguments)
            self._mutate_container(receiver, name, arguments, node)
            if name in ("pop", "popleft", "setdefault", "popitem"):
                return element
            return NONE
        if name in _DICT_VIEWS:
            if name == "keys":
                return container(element=STR, type_name="list")
            if name == "values":
                return container(tuple(receiver.keys.values()) if receiver.keys else None, element=element, type_name="list")
            return container(element=container((STR, element), type_name="tuple"), type_name="list")
        if name == "get":
            key = arguments.values[0].const if arguments.values else MISSING
            if receiver.keys is not None and isinstance(key, str):
                if key in receiver.keys:
                    return receiver.keys[key]
                return arguments.values[1] if len(arguments.values) > 1 else NONE
            default = arguments.values[1] if len(arguments.values) > 1 else NONE
            return join(element, default)
        if name in ("index", "count"):
            return INT
        if name == "copy":
            return receiver
        return UNKNOWN

    def _mutate_container(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> None:
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        added = join_all(tuple(arguments.values))
        local = isinstance(target, ast.Name) and target.id in self.state.env and not receiver.roots
        if not local:
            self.write(None, node, f"`{_short(self.source(node))}` changes a container")
            self.flow("store", added, node)
        if added is not None and name in ("append", "add", "insert", "appendleft", "extend", "update"):
            if name in ("extend", "update"):
                added = self.element_of(added) if receiver.dtype != "dict" else added.element
            element = receiver.element if added is None else added if receiver.element is None else join(receiver.element, added)
            if isinstance(target, ast.Name) and target.id in self.state.env:
                elements = None
                if name == "append" and receiver.elements is not None and not self.context.loops and added is not None:
                    elements = (*receiver.elements, added)
                self.state.env[target.id] = changed(
                    receiver, elements=elements, element=element, truth=True if name == "append" else None, keys=None
                )

    def _sort(self, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
        key = arguments.keywords.get("key")
        self._sorted_by(node, receiver, key)

    def _sorted_by(self, node: ast.Call, iterable: Value, key: Value | None) -> None:
        item = self.element_of(iterable)
        sorted_on = item
        if key is not None and key.null is not Null.ALWAYS:
            sorted_on = self.apply(key, Arguments([item], {}, True), node)
        if sorted_on.kind is Kind.CONTAINER and sorted_on.elements:
            sorted_on = sorted_on.elements[0]
        if sorted_on.kind is Kind.TENSOR:
            self.datum("sort", node, sorted_on)

    def _torch_module_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name == "forward":
            return self._module_call(receiver, arguments, node)
        if name in ("append", "extend", "insert", "train", "eval", "to", "requires_grad_", *_REGISTER):
            if name in _REGISTER and self.self_stores is not None:
                self._register(arguments)
            elif name in _REGISTER or name in ("append", "extend", "insert"):
                self.write(None, node, f"`{_short(self.source(node))}` changes a module")
            return PYTHON
        if name in ("parameters", "buffers"):
            return container(element=tensor(roots=frozenset({("attr", name)})), type_name="generator")
        if name in ("values", "children", "modules"):
            return container(element=receiver.element or Value(Kind.MODULE), type_name="generator")
        if name == "items":
            return container(element=container((STR, receiver.element or Value(Kind.MODULE)), type_name="tuple"))
        return self._method_of_unknown(UNKNOWN, name, arguments, node)

    def _python_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if receiver.dtype == "str" or name in ("format", "join", "split", "strip", "lower", "upper", "startswith"):
            return STR if name not in ("startswith", "endswith", "isdigit") else BOOL
        if name in ("numel", "__len__", "count", "index"):
            return INT
        if name in TENSOR_ONLY_METHODS:
            return self._method_of_unknown(UNKNOWN, name, arguments, node)
        if name in host.LOG_CALLS:
            return self._method_of_unknown(UNKNOWN, name, arguments, node)
        for value in arguments.all():
            self.flow("call", value, node)
        if holds_tensor(join_all(tuple(arguments.all()))):
            return UNKNOWN  # an attribute that holds a callable
        return Value(Kind.PYTHON, null=Null.MAYBE) if receiver.ref is None and receiver.dtype else UNKNOWN

    def _register(self, arguments: Arguments) -> None:
        """``self.register_buffer("name", value)`` in a constructor."""
        name = arguments.get(0, "name")
        value = arguments.get(1, "tensor") or arguments.get(1, "param") or arguments.get(1, "module") or NONE
        if name is not None and isinstance(name.const, str) and self.self_stores is not None:
            known = self.self_stores.get(name.const)
            self.self_stores[name.const] = value if known is None else join(known, value)

    # -- builtins --------------------------------------------------------------------------------

    def _any_all(self, node: ast.Call) -> Value:
        argument = node.args[0]
        value = self.eval(argument)
        element = self.element_of(value) if value.kind is not Kind.TENSOR else self.element_of(value)
        if value.kind is Kind.TENSOR or element.kind is Kind.TENSOR:
            shown = argument.elt if isinstance(argument, (ast.GeneratorExp, ast.ListComp)) else argument
            self.datum("any", node, element, shown)
            return Value(Kind.SCALAR, why=element.why)
        return BOOL

    def _builtin(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        values = arguments.values
        first = values[0] if values else None
        if name == "print":
            return self._effect("print", "builtins.print", arguments, node)
        if name in ("int", "float", "bool", "complex"):
            return self._convert(name, first, node)
        if name in ("str", "repr", "ascii"):
            if first is not None and holds_tensor(first):
                self.emit("text", node, name=name, value=first)
            return STR
        if name == "len":
            if first is not None and first.kind is Kind.CONTAINER and first.elements is not None and not self.context.loops:
                return INT
            return INT
        if name in ("isinstance", "issubclass", "hasattr", "callable"):
            return self._isinstance(name, first, node)
        if name == "range":
            return self._range(arguments, node)
        if name in ("list", "tuple", "set", "frozenset", "iter", "reversed", "next"):
            return self._copy(name, first)
        if name in ("zip", "enumerate", "map", "filter"):
            return self._lazily(name, arguments, node)
        if name in ("max", "min", "sum"):
            return self._reduce(name, arguments, node)
        if name == "sorted" and first is not None:
            self._sorted_by(node, first, arguments.keywords.get("key"))
            return container(element=self.element_of(first), type_name="list")
        if name in ("abs", "round", "pow", "divmod") and first is not None:
            return changed(first, const=MISSING, truth=None, roots=frozenset({("op", id(node))})) if first.kind is Kind.TENSOR else PYTHON
        if name == "getattr" and len(values) >= 2:
            return self._getattr(values, node)
        if name == "dict":
            return Value(
                Kind.CONTAINER, keys=arguments.keywords or None, element=join_all(tuple(arguments.all())), dtype="dict"
            )
        if name == "type":
            return UNKNOWN
        if name in ("open", "input", "breakpoint", "exec", "eval", "compile", "__import__"):
            return UNKNOWN
        if name == "setattr":
            self.write(None, node, f"`{_short(self.source(node))}` sets an attribute")
            return NONE
        return PYTHON

    def _convert(self, name: str, first: Value | None, node: ast.Call) -> Value:
        if first is None:
            return constant({"int": 0, "float": 0.0, "bool": False}.get(name, 0))
        if first.kind is Kind.TENSOR and first.null is not Null.ALWAYS:
            self.host_read("extract", node, name, first)
            return Value(Kind.SCALAR, why=first.why, dtype=name)
        if first.kind is Kind.SCALAR:
            return changed(first, dtype=name)
        return number(name)

    def _isinstance(self, name: str, first: Value | None, node: ast.Call) -> Value:
        if name == "isinstance" and len(node.args) == 2 and first is not None and first.null is Null.NEVER:
            target = self.module.dotted(node.args[1])
            if target == "torch.Tensor" and first.kind is Kind.TENSOR and not first.mixed and not first.array:
                return TRUE
            if target == "torch.Tensor" and first.kind is Kind.CONTAINER:
                return FALSE
            if target in ("builtins.list", "builtins.tuple", "builtins.dict", "builtins.int", "builtins.float"):
                if first.kind is Kind.TENSOR and not first.mixed:
                    return FALSE
        return BOOL

    def _range(self, arguments: Arguments, node: ast.Call) -> Value:
        bad = next((v for v in arguments.values if v.kind is Kind.TENSOR), None)
        if bad is not None:
            self.host_read("index", node, "range", bad)
        return container(element=INT, type_name="range")

    def _copy(self, name: str, first: Value | None) -> Value:
        if first is None:
            return container((), type_name=name, truth=False)
        if name == "next":
            return self.element_of(first)
        if first.kind is Kind.CONTAINER:
            return changed(first, dtype="list" if name in ("reversed", "iter") else name, keys=None, roots=frozenset())
        return container(element=self.element_of(first), type_name="list" if name in ("reversed", "iter") else name)

    def _lazily(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        values = arguments.values
        if name == "enumerate" and values:
            return container(element=container((INT, self.element_of(values[0])), type_name="tuple"), type_name="list")
        if name == "zip":
            items = tuple(self.element_of(v) for v in values)
            return container(element=container(items, type_name="tuple") if arguments.exact else None, type_name="list")
        if len(values) >= 2:
            items = [self.element_of(v) for v in values[1:]]
            result = self.apply(values[0], Arguments(items, {}, True), node)
            if name == "filter":
                if result.kind is Kind.TENSOR:
                    self.datum("filter", node, result)
                return container(element=items[0], type_name="list")
            return container(element=result, type_name="list")
        return UNKNOWN

    def _reduce(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        values = [v for k, v in arguments.keywords.items() if k in ("start", "default")] + list(arguments.values)
        items = [self.element_of(v) if len(arguments.values) == 1 or v.kind is Kind.CONTAINER else v for v in values]
        if name == "sum" and arguments.values:
            items = [self.element_of(arguments.values[0]), *arguments.values[1:]]
        found = next((v for v in items if v.kind is Kind.TENSOR), None)
        if found is not None:
            return self._fresh(node, found)
        if any(v.kind is Kind.SCALAR for v in items):
            return Value(Kind.SCALAR)
        if items and all(v.kind is Kind.PYTHON for v in items):
            return PYTHON if len({v.dtype for v in items}) > 1 else changed(items[0], const=MISSING, truth=None)
        return UNKNOWN

    def _getattr(self, values: list[Value], node: ast.Call) -> Value:
        name = values[1].const
        if not isinstance(name, str):
            return UNKNOWN
        found = self.attribute(values[0], name, node)
        return join(found, values[2]) if len(values) > 2 else found


_REGISTER = ("register_buffer", "register_parameter", "register_module", "add_module")
_CHECKPOINT_OPTIONS = frozenset({"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"})
_HOST_PREFIXES = (
    "os.",
    "time.",
    "datetime.",
    "json.",
    "re.",
    "pathlib.",
    "uuid.",
    "hashlib.",
    "inspect.",
    "gc.",
    "traceback.",
    "threading.",
    "itertools.",
    "contextlib.",
    "warnings.",
    "logging.",
    "sys.",
    "string.",
    "importlib.",
    "enum.",
    "struct.",
)


_INPLACE = {
    f"torch.nn.{name}": position
    for position, names in enumerate(
        (
            "ReLU ReLU6 SELU Hardswish Hardsigmoid SiLU Mish",
            "ELU CELU LeakyReLU Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
            "Hardtanh RReLU Threshold",
        )
    )
    for name in names.split()
}
"""Layers that take ``inplace``, and at which position of their constructor."""


def _inplace(name: str, module: Value) -> bool | None:
    """Whether a layer writes into its argument; None if it may."""
    position = _INPLACE.get(name)
    if position is None:
        return False
    if module.keys is None:
        return None
    given = module.keys.get("inplace", module.keys.get(f"#{position}"))
    if given is None:
        return None if "**" in module.keys else False
    return given.const if isinstance(given.const, bool) else None


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _short(source: str, limit: int = 60) -> str:
    text = " ".join(source.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _scalar_type(fact: OpFact) -> str | None:
    return fact.returns if fact.returns in ("bool", "int", "float") else None


def _only_dtype(arguments: Arguments) -> bool:
    return all(v.dtype == "torch.dtype" or _dtype_ref(v) for v in arguments.values) and all(
        k in ("dtype", "copy", "non_blocking", "memory_format") for k in arguments.keywords
    )


def _dtype_ref(value: Value) -> bool:
    return value.kind is Kind.NAMESPACE and isinstance(value.ref, str) and tensors.dtype_name(value.ref) is not None


def _dtype_of(value: Value) -> Any:
    if value.kind is Kind.NAMESPACE and isinstance(value.ref, str):
        return tensors.dtype_name(value.ref)
    if value.dtype == "torch.dtype" and isinstance(value.shape, tuple):
        return value.shape[1]
    return None
