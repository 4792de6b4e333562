"""Calls of Python's builtins and of libraries outside the project."""

from __future__ import annotations

import ast

from graphmend_lsp.flow import growth, host, tensors
from graphmend_lsp.flow.call_base import Arguments, short
from graphmend_lsp.flow.expressions import BOOL, INT, STR
from graphmend_lsp.flow.methods import OBJECTS, Methods
from graphmend_lsp.flow.narrowing import type_nodes
from graphmend_lsp.flow.values import (
    COMPUTED_LIST,
    FALSE,
    MISSING,
    NONE,
    PYTHON,
    TRUE,
    UNKNOWN,
    Bound,
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
from graphmend_lsp.model.attributes import ANY, name_pattern
from graphmend_lsp.model.module import ClassInfo
from graphmend_lsp.model.walk import own_nodes

_PLAIN = {f"builtins.{kind.__name__}": kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict)}
"""Classes for which ``isinstance`` of a constant is known."""


class Builtins(Methods):
    """Evaluates calls of functions known by their dotted name."""

    def any_all(self, node: ast.Call) -> Value:
        """``any(...)`` or ``all(...)``."""
        argument = node.args[0]
        value = self.eval(argument)
        element = self.element_of(value)
        if value.kind is Kind.TENSOR or element.kind is Kind.TENSOR:
            shown = argument.elt if isinstance(argument, (ast.GeneratorExp, ast.ListComp)) else argument
            self.datum("any", node, element, shown)
            return Value(Kind.SCALAR, why=element.why)
        return BOOL

    def _builtin(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        values = arguments.values
        first = values[0] if values else None
        if name == "print":
            return self.effect("print", "builtins.print", arguments, node)
        if name in ("int", "float", "str", "repr") and first is not None:
            self.text_used(node, first)
        if name in ("int", "float", "bool", "complex"):
            return self._convert(name, first, node)
        if name in ("str", "repr", "ascii"):
            if first is not None and holds_tensor(first):
                self.emit("text", node, name=name, value=first)
            return STR
        if name == "staticmethod" and first is not None:
            return first
        if name == "len":
            self.text_used(node, *values)
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
            self.sorted_by(node, first, arguments.keywords.get("key"))
            return container(element=self.element_of(first), type_name="list")
        if name in ("abs", "round", "pow", "divmod") and first is not None:
            return (
                changed(
                    first,
                    const=MISSING,
                    truth=None,
                    roots=frozenset({("op", id(node))}),
                    dtype=None if tensors.is_known_float(first) else first.dtype,
                )
                if first.kind is Kind.TENSOR
                else PYTHON
            )
        if name == "getattr" and len(values) >= 2:
            return self._getattr(values, node)
        if name == "dict":
            return self._dict_of(arguments)
        if name == "type":
            if first is None or len(values) != 1 or first.kind not in (Kind.MODULE, Kind.INSTANCE):
                return UNKNOWN
            return Value(Kind.CLASS, ref=first.ref) if isinstance(first.ref, ClassInfo) else UNKNOWN
        if name == "open":
            return Value(Kind.PYTHON, dtype="builtins.open")
        if name in ("input", "breakpoint", "exec", "eval", "compile", "__import__"):
            return UNKNOWN
        if name == "setattr":
            if self.self_stores is not None and len(node.args) == 3 and isinstance(node.args[0], ast.Name):
                if node.args[0].id == "self":
                    self.set_on_self(name_pattern(node.args[1]), values[2])
                    return NONE
            self.write(None, node, f"`{short(self.source(node))}` sets an attribute")
            return NONE
        return PYTHON

    def _convert(self, name: str, first: Value | None, node: ast.Call) -> Value:
        if first is None:
            return constant({"int": 0, "float": 0.0, "bool": False}.get(name, 0))
        if first.kind is Kind.TENSOR and first.null is not Null.ALWAYS:
            if (first.array and self.eager) or self.known_float(first):
                return number(name)
            self.host_read("extract", node, name, first)
            return self.read_from(first, name)
        if first.kind is Kind.SCALAR:
            return changed(first, dtype=name)
        return number(name)

    def _dict_of(self, arguments: Arguments) -> Value:
        """``dict(...)`` and ``OrderedDict(...)``."""
        known = arguments.exact and all(v.keys is not None for v in arguments.values)
        keys: dict[str, Value] = {}
        for value in arguments.values:
            keys.update(value.keys or {})
        keys.update(arguments.keywords)
        inside = (*(v.element or UNKNOWN for v in arguments.values), *arguments.keywords.values())
        return Value(Kind.CONTAINER, keys=keys if known else None, element=join_all(inside), dtype="dict")

    def _isinstance(self, name: str, first: Value | None, node: ast.Call) -> Value:
        if name != "isinstance" or len(node.args) != 2 or first is None or first.null is not Null.NEVER:
            return BOOL
        if first.const is not MISSING:
            kinds = [_PLAIN.get(self.module.dotted(item) or "") for item in type_nodes(node.args[1])]
            if any(kind is not None and isinstance(first.const, kind) for kind in kinds):
                return TRUE
            return FALSE if all(kinds) else BOOL
        tensor = [self.is_tensor_class(item) for item in type_nodes(node.args[1])]
        if first.kind is Kind.TENSOR and not first.mixed and not first.array:
            return TRUE if any(t is True for t in tensor) else FALSE if all(t is False for t in tensor) else BOOL
        if first.kind is Kind.CONTAINER and all(t is True for t in tensor):
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
        key = arguments.keywords.get("key")
        if key is not None and key.null is not Null.ALWAYS and arguments.values:
            compared = arguments.values[0] if len(arguments.values) == 1 else container(tuple(arguments.values))
            self.sorted_by(node, compared, key)
            found = self.element_of(compared)
            if len(arguments.values) == 1 and name != "sum" and ("sort", id(node)) not in self.events:
                if holds_tensor(found) or _is_view(node.args[0]):  # plain numbers and strings are folded
                    self.host_call("builtins.max key", node)
            return found
        if name == "sum" and arguments.values:
            items = [self.element_of(arguments.values[0]), *arguments.values[1:]]
        found = next((v for v in items if v.kind is Kind.TENSOR), None)
        if found is not None:
            made = self.fresh(node, found)
            return made if name == "sum" else changed(made, roots=made.roots.union(*(v.roots for v in items)))
        if any(v.kind is Kind.SCALAR for v in items):
            return Value(Kind.SCALAR)
        if items and all(v.kind is Kind.PYTHON for v in items):
            return PYTHON if len({v.dtype for v in items}) > 1 else changed(items[0], const=MISSING, truth=None)
        return UNKNOWN

    def _getattr(self, values: list[Value], node: ast.Call) -> Value:
        name = values[1].const
        if not isinstance(name, str) and len(node.args) > 1:
            name = name_pattern(node.args[1])
        if not isinstance(name, str) or not name.strip(ANY):
            return UNKNOWN
        if ANY in name and not isinstance(values[0].ref, ClassInfo):
            return UNKNOWN
        found = self.attribute(values[0], name, node)
        return join(found, values[2]) if len(values) > 2 else found

    # -- named functions -------------------------------------------------------------------------

    def named_call(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        """The result of calling something outside the project by its dotted name."""
        measured = _measured_as(name, arguments)
        if (
            measured == "copy.copy object"
            and arguments.values[0].kind is Kind.UNKNOWN
            and self._used_as_container(node)
        ):
            measured = "copy.copy"
        self.host_call(measured, node)
        if name.startswith("builtins."):
            return self._builtin(name[9:], arguments, node)
        if name in host.COMPILING:
            return TRUE if host.COMPILING[name] else FALSE
        if name.startswith("torch."):
            return self.torch_call(name, arguments, node)
        return self._library(name, arguments, node)

    def _used_as_container(self, node: ast.Call) -> bool:
        """Whether what is copied, or its copy, is used like a list, dict or set in this function."""
        names = {node.args[0].id} if node.args and isinstance(node.args[0], ast.Name) else set[str]()
        if isinstance(self.stmt, ast.Assign) and self.stmt.value is node:
            names |= {target.id for target in self.stmt.targets if isinstance(target, ast.Name)}
        for found in own_nodes(self.function.node):
            if isinstance(found, (ast.Attribute, ast.Subscript)) and isinstance(found.value, ast.Name):
                if found.value.id in names and (isinstance(found, ast.Subscript) or found.attr in _CONTAINER_METHODS):
                    return True
        return False

    def _places(self, arguments: Arguments, node: ast.Call) -> Value:
        """Where a tensor is not zero, as ``torch.nonzero`` says it, but in the graph: how many there are is data."""
        first = arguments.values[0] if arguments.values else UNKNOWN
        if first.kind is not Kind.TENSOR:
            return UNKNOWN
        self.engine.sized_by_data[id(node)] = "nonzero"
        root = ("op", id(node))
        rows = tensor(why=first.why, dtype="int64", shape=root, device=first.device, roots=frozenset({root}))
        given = arguments.keywords.get("as_tuple")
        if given is None:
            return rows
        return container(element=changed(rows, shape=("item", id(node))), type_name="tuple")

    def _library(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        head, _, last = name.rpartition(".")
        if host.is_runtime(name, "select") and len(arguments.values) == 3:
            return self._selected(arguments.values[1], arguments.values[2], node)
        if host.is_runtime(name, "graph_int") or host.is_runtime(name, "graph_list"):
            first = arguments.values[0] if arguments.values else UNKNOWN
            if first.kind is not Kind.TENSOR:
                return first
            return self.read_from(first, "int") if last == "graph_int" else self.read_from(first, None, COMPUTED_LIST)
        if host.is_runtime(name, "graph_nonzero"):
            return self._places(arguments, node)
        if host.is_runtime(name, "graph_each"):
            return container(element=INT, type_name="list")
        if name in host.PRINTS:
            return self.effect("print", name, arguments, node)
        if name in host.WARNS:
            return self.effect("warn", name, arguments, node)
        if last in host.GET_LOGGER:
            self.emit("log", node, name=name)
            return Value(Kind.LOGGER)
        if name == "logging.LoggerAdapter":
            return Value(Kind.LOGGER)
        if head in host.LOG_MODULES and last in host.LOG_CALLS:
            return self.effect("log", name, arguments, node)
        if last in host.COMPILING_NAMES and not arguments.values:
            known = host.COMPILING_NAMES[last]
            return BOOL if known is None else TRUE if known else FALSE
        if head.rpartition(".")[2] in host.LOGGER_NAMES and last in host.LOG_CALLS:
            return self.effect("log", name, arguments, node)
        if head == "math" or head == "operator" or head == "cmath":
            return self._math(name, arguments, node)
        if name in OBJECTS:
            for value in arguments.all():
                self.flow("call", value, node)
            return Value(Kind.PYTHON, dtype=name)
        if name.startswith("numpy."):
            return self._numpy(name, arguments, node)
        if head == "collections" or name.startswith("typing."):
            return self._collection(last, arguments)
        if name == "functools.partial" and arguments.values:
            return self._partial(arguments, node)
        if name == "dataclasses.replace" and arguments.values:
            return self.replaced(arguments.values[0], arguments)
        if name == "copy.copy" or name == "copy.deepcopy":
            first = arguments.values[0] if arguments.values else UNKNOWN
            return changed(first, roots=frozenset({("op", id(node))})) if first.kind is Kind.TENSOR else first
        if name.startswith("einops."):
            first = arguments.values[0] if arguments.values else UNKNOWN
            return self.fresh(node, first) if holds_tensor(first) else UNKNOWN
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
            return Value(Kind.CONTAINER, keys=keys, element=join_all(tuple(arguments.all())), dtype="record")
        self.may_write(node)
        return UNKNOWN

    def _collection(self, name: str, arguments: Arguments) -> Value:
        """Calls of ``collections`` and ``typing``."""
        first = arguments.values[0] if arguments.values else None
        if name == "OrderedDict":
            return self._dict_of(arguments)
        if name == "defaultdict":
            made = _EMPTY.get(first.ref) if first is not None and first.kind is Kind.NAMESPACE else None
            element = container(type_name=made) if made is not None else None
            if first is not None and first.kind is Kind.NAMESPACE and first.ref == "builtins.int":
                element = INT
            return Value(Kind.CONTAINER, element=element, dtype="dict")
        if name == "deque":
            made, most = self._copy("list", first), arguments.get(1, "maxlen")
            if most is None or most.null is Null.ALWAYS:
                return made
            if isinstance(most.const, int) and most.const > growth.LIMIT:
                return made
            return changed(made, dtype="deque")  # it soon stays as long as it is
        if name == "Counter":
            return Value(Kind.CONTAINER, element=INT, dtype="dict")
        if name in ("namedtuple", "NamedTuple") and len(arguments.values) > 1:
            fields = _field_names(arguments.values[1])
            if fields:
                keys = dict.fromkeys(fields, UNKNOWN)
                return Value(Kind.METHOD, ref=Bound(UNKNOWN, "<record>", ast.Constant(None)), keys=keys)
        if name == "cast" and len(arguments.values) > 1:
            return arguments.values[1]
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
        if inner.kind is Kind.CLASS or not (rest or arguments.keywords):
            return inner
        if inner.kind in (Kind.NAMESPACE, Kind.FUNCTION, Kind.METHOD, Kind.MODULE) or inner.options:
            bound = Bound(inner, "<partial>", ast.Constant(None))
            return Value(Kind.METHOD, ref=bound, elements=tuple(rest), keys=arguments.keywords)
        return UNKNOWN

    def _math(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        first = next((v for v in arguments.values if v.kind is Kind.TENSOR), None)
        if first is not None:
            if name.startswith("operator.") and name.rpartition(".")[2] != "index":
                return self.fresh(node, first)
            self.host_read("extract", node, name, first)
            return Value(Kind.SCALAR, why=first.why, dtype="float")
        if any(v.kind is Kind.SCALAR for v in arguments.values):
            return Value(Kind.SCALAR)
        return PYTHON

    def _numpy(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        arrays = [v for v in arguments.all() if v.kind is Kind.TENSOR]
        last = name.rpartition(".")[2]
        if not arrays:
            made = last in host.ARRAY_MAKERS or last in host.ARRAY_FUNCTIONS
            if self.learns:
                why = self.why(node, f"`{short(self.source(node))}` is a numpy array") if made else None
                return Value(Kind.PYTHON, dtype="ndarray", why=why) if made else PYTHON
            if not made:
                return PYTHON
            self.note_made(node, ())
        why = arrays[0].why if arrays else self.why(node, f"`{short(self.source(node))}` is traced as a tensor")
        dtype = tensors.NUMPY_FLOAT if _makes_known_float(last, arguments) else None
        return Value(Kind.TENSOR, why=why, roots=frozenset({("op", id(node))}), array=True, dtype=dtype)


def _makes_known_float(function: str, arguments: Arguments) -> bool:
    """Whether a function of numpy gets numbers only and gives a float, as far as is known."""
    given = arguments.all()
    if not given or not all(
        tensors.is_known_float(v) or (v.kind is Kind.PYTHON and v.dtype not in ("ndarray", "size")) for v in given
    ):
        return False
    if function in host.FLOAT_FUNCTIONS:
        return True
    return function in host.NUMBER_FUNCTIONS and any(v.dtype not in ("int", "bool") for v in given)


def _measured_as(name: str, arguments: Arguments) -> str:
    """The name of a call in the table of those that are not traced."""
    if name in ("copy.copy", "copy.deepcopy") and arguments.values:
        first = arguments.values[0]
        if first.kind is Kind.TENSOR:
            return f"Tensor.__{name.rpartition('.')[2]}__"
        if name == "copy.copy" and not (first.kind is Kind.CONTAINER and first.dtype in ("list", "dict", "set")):
            return "copy.copy module" if first.kind is Kind.MODULE else "copy.copy object"
    if name.startswith("torch.use_deterministic_algorithms") and "warn_only" in arguments.keywords:
        return f"{name} warn_only"
    if name in _PARAMETER and (data := arguments.get(0, "data")) is not None and _made_here(data):
        return "torch.nn.Parameter computed"
    if name in _AFFINE and _without_parameters(arguments, *_AFFINE[name]):
        return f"{name} plain"
    return name


_PARAMETER = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_AFFINE = {
    "torch.nn.LayerNorm": (2, "elementwise_affine"),
    "torch.nn.RMSNorm": (2, "elementwise_affine"),
    "torch.nn.GroupNorm": (3, "affine"),
    "torch.nn.BatchNorm1d": (3, "affine"),
    "torch.nn.BatchNorm2d": (3, "affine"),
    "torch.nn.BatchNorm3d": (3, "affine"),
}
"""Layers that have no parameters if they are told so: by which argument, and where it stands."""


def _made_here(value: Value) -> bool:
    """Whether a tensor is certainly the result of an operator: TorchDynamo takes one that was passed in, or is kept."""
    return (
        value.kind is Kind.TENSOR and not value.mixed and bool(value.roots) and all(r[0] == "op" for r in value.roots)
    )


def _without_parameters(arguments: Arguments, position: int, name: str) -> bool:
    given = arguments.get(position, name)
    return given is not None and given.const is False


def _is_view(node: ast.expr) -> bool:
    """``d.items()``, ``zip(...)``: iterated over without a list of it."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr in ("items", "values") and not node.args
    return isinstance(called, ast.Name) and called.id in ("zip", "enumerate")


_CONTAINER_METHODS = frozenset(
    "append extend insert remove pop popitem setdefault update items keys values add".split()
)
_EMPTY = {"builtins.list": "list", "builtins.dict": "dict", "builtins.set": "set"}


def _field_names(value: Value) -> list[str]:
    """Fields of a named tuple: ``"a b"``, ``["a", "b"]``, ``[("a", T), ("b", T)]``."""
    if isinstance(value.const, str):
        return value.const.replace(",", " ").split()
    names = [v.elements[0].const if v.elements else v.const for v in value.elements or ()]
    return [name for name in names if isinstance(name, str)] if all(isinstance(n, str) for n in names) else []


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
