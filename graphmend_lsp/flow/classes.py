"""Classes of the project: their order of bases, their methods, and what their attributes hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from graphmend_lsp.flow import host, tensors
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.names import Names, as_array
from graphmend_lsp.flow.ops import module_fact
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.values import (
    MISSING,
    NONE,
    PYTHON,
    UNKNOWN,
    Bound,
    Kind,
    Null,
    Value,
    changed,
    join,
    tensor,
)
from graphmend_lsp.model.attributes import ANY, gives_its_base, may_be
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, Loader

MAX_DEPTH = 14
_MODULE_BASES = frozenset({"PreTrainedModel", "LightningModule", "ModelMixin", "MessagePassing", "XLAModule"})
_RECORD_BASES = frozenset({"NamedTuple", "ModelOutput", "BaseOutput", "TypedDict", "BaseModelOutput"})
_MODULE_METHODS = frozenset(
    "register_buffer register_parameter register_module add_module parameters buffers children modules "
    "named_parameters named_buffers named_children named_modules train eval to half float double cuda cpu apply "
    "requires_grad_ "
    "register_forward_hook register_forward_pre_hook state_dict load_state_dict zero_grad get_submodule "
    "get_parameter get_buffer type bfloat16 compile".split()
)
_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ModuleDict"})
_MAX_BASES = 40


class Classes(Names):
    """Answers questions about classes and the attributes of their objects."""

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader)
        self._members: dict[tuple[ClassInfo, str], Value] = self.table()
        self._stores: dict[FunctionInfo, dict[str, Value] | None] = self.table()
        self._setter_index: dict[ClassInfo, dict[str, list[FunctionInfo]]] = self.table()
        self._is_module: dict[ClassInfo, bool] = self.table()
        self._is_record: dict[ClassInfo, bool] = self.table()
        self._mro: dict[ClassInfo, list[ClassInfo | str]] = self.table()
        self._instances: dict[ClassInfo, Value] = self.table()
        self._methods: dict[tuple[ClassInfo, str], FunctionInfo | None] = self.table()
        self._base_calls: dict[FunctionInfo, frozenset[tuple[FunctionInfo, str]]] = self.table()
        """Of constructors that give their base's more than configuration: that one, and what it sets for that."""
        self._running = 0
        """How often a method that is being run was asked for what it sets: what follows from that is not kept."""

    def default_params(self, function: FunctionInfo, *, constructor: bool = False) -> dict[str, Value]:
        """Parameter values from annotations, defaults and uses."""
        raise NotImplementedError

    # -- bases ----------------------------------------------------------------------------------------

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
            yield value.ref if value.kind is Kind.CLASS and isinstance(value.ref, ClassInfo) else dotted

    def mro(self, cls: ClassInfo) -> list[ClassInfo | str]:
        """The class and its bases in Python's order; depth first where there is none."""
        known = self._mro.get(cls)
        if known is None:
            self._mro[cls] = [cls]  # a class that is its own base
            direct = list(self.bases(cls))
            orders: list[list[ClassInfo | str]] = [
                list(self.mro(b)) if isinstance(b, ClassInfo) else [b] for b in direct
            ]
            known = self._mro[cls] = [cls, *_merged([*orders, direct])][:_MAX_BASES]
        return known

    def method(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        """The method that an object of the class has under a name."""
        key = (cls, name)
        if key not in self._methods:
            owners = (item for item in self.mro(cls) if isinstance(item, ClassInfo) and name in item.methods)
            owner = next(owners, None)
            self._methods[key] = owner.methods[name] if owner is not None else None
        return self._methods[key]

    def after(self, cls: ClassInfo, start: ClassInfo) -> list[ClassInfo | str]:
        """What ``super()`` in a method of ``start`` looks through, for an object of ``cls``."""
        order = self.mro(cls)
        if start not in order:
            order = self.mro(start)
        return order[order.index(start) + 1 :]

    def is_module(self, cls: ClassInfo) -> bool:
        """Whether a class derives from ``torch.nn.Module``."""
        known = self._is_module.get(cls)
        if known is None:
            known = any(_module_base(item) for item in self.mro(cls)[1:] if isinstance(item, str))
            self._is_module[cls] = known
        return known

    def is_exception(self, cls: ClassInfo) -> bool:
        """Whether a class derives from an exception of Python."""
        last = self.mro(cls)[-1]
        return isinstance(last, str) and last.endswith(("Exception", "Error", "Warning", "Interrupt", "Exit"))

    def is_autograd(self, cls: ClassInfo) -> bool:
        """Whether a class is a ``torch.autograd.Function``."""
        return any(item in _AUTOGRAD for item in self.mro(cls))

    def is_traced(self, cls: ClassInfo) -> bool:
        """Whether everything of a class is in the project, but for bases that only say what it is."""
        return all(isinstance(item, ClassInfo) or item in _PLAIN_BASES for item in self.mro(cls))

    def torch_base(self, cls: ClassInfo) -> str | None:
        """The ``torch.nn`` class whose forward a class without its own uses."""
        for item in self.mro(cls)[1:]:
            if isinstance(item, str) and item.startswith("torch.nn.") and item != "torch.nn.Module":
                return item
        return None

    # -- records --------------------------------------------------------------------------------------

    def is_record(self, cls: ClassInfo) -> bool:
        """A dataclass, named tuple or ModelOutput: a container with named items."""
        known = self._is_record.get(cls)
        if known is None:
            nodes = (d.func if isinstance(d, ast.Call) else d for d in cls.node.decorator_list)
            names = [cls.module.dotted(node) or "" for node in nodes]
            known = any(n.rpartition(".")[2] == "dataclass" for n in names)
            known = known or any(
                (isinstance(i, str) and i.rpartition(".")[2] in _RECORD_BASES)
                or (isinstance(i, ClassInfo) and self.is_record(i))
                for i in self.mro(cls)[1:]
            )
            self._is_record[cls] = known
        return known

    def is_tuple(self, cls: ClassInfo) -> bool:
        """Whether the record is a named tuple: its fields have positions."""
        return any(isinstance(i, str) and i.rpartition(".")[2] == "NamedTuple" for i in self.mro(cls)[1:])

    def record_fields(self, cls: ClassInfo) -> list[str]:
        fields: list[str] = []
        for item in reversed(self.mro(cls)):
            if isinstance(item, ClassInfo):
                fields.extend(name for name in item.annotations if name not in fields)
        return fields

    def is_computed(self, cls: ClassInfo, name: str) -> bool:
        """Whether an attribute of a record is no field of it, but set by a method (``__post_init__``)."""
        classes = [item for item in self.mro(cls) if isinstance(item, ClassInfo)]
        return not any(name in item.annotations for item in classes) and any(self.setters(c, name) for c in classes)

    def record_default(self, cls: ClassInfo, name: str) -> Value:
        """What a field holds that the constructor is not given."""
        for item in self.mro(cls):
            if isinstance(item, ClassInfo) and name in item.annotations:
                default = item.attributes.get(name)
                if isinstance(default, ast.Constant) and default.value is None:
                    return NONE
                return self.annotation(item.annotations[name], item.module) or UNKNOWN
        return UNKNOWN

    def instance(self, cls: ClassInfo, null: Null = Null.NEVER) -> Value:
        known = self._instances.get(cls)
        if known is None:
            kind = Kind.MODULE if self.is_module(cls) else Kind.INSTANCE
            record = self.is_record(cls)
            # A record may have fields of its own class.
            known = Value(Kind.CONTAINER, ref=cls, dtype="record") if record else Value(kind, ref=cls)
            self._instances[cls] = known
            if record:
                keys = {name: self._field(cls, name) for name in self.record_fields(cls)}
                elements = tuple(keys.values()) if keys and self.is_tuple(cls) else None
                known = Value(Kind.CONTAINER, ref=cls, keys=keys or None, elements=elements, dtype="record")
                self._instances[cls] = known
        return known if null is Null.NEVER else changed(known, null=null)

    def _field(self, cls: ClassInfo, name: str) -> Value:
        for item in self.mro(cls):
            if isinstance(item, ClassInfo) and name in item.annotations:
                return self.annotation(item.annotations[name], item.module) or UNKNOWN
        return UNKNOWN

    # -- attributes -----------------------------------------------------------------------------------

    def member(self, cls: ClassInfo, name: str, receiver: Value) -> Value:
        """An attribute of an instance that is not a method."""
        key = (cls, name)
        known = self._members.get(key)
        if known is None:
            self._members[key] = UNKNOWN
            before = self._running
            known = self._member(cls, name)
            if before == self._running:
                self._members[key] = known
            else:
                del self._members[key]
        if known.kind is Kind.METHOD and known.ref is None:
            return Value(Kind.METHOD, ref=Bound(receiver, name, ast.Constant(None)))
        return known

    def _member(self, cls: ClassInfo, name: str) -> Value:
        if name == "training" and self.is_module(cls):
            return Value(Kind.PYTHON, dtype="bool")
        found: Value | None = None
        declared: Value | None = None
        known: set[FunctionInfo] = set()
        for item in self.mro(cls):
            if not isinstance(item, ClassInfo):
                continue
            for value in self._member_values(item, name, known):
                found = value if found is None else join(found, value)
            if name in item.annotations and declared is None:
                declared = self.annotation(item.annotations[name], item.module)
        if declared is not None and (found is None or found.kind in (Kind.UNKNOWN, Kind.PYTHON)):
            if found is None or (declared.kind is not Kind.PYTHON and not found.options):
                found = declared
        if found is None:
            if name in _MODULE_METHODS and self.is_module(cls):
                return Value(Kind.METHOD)
            if name in host.LOG_METHODS and any(item in _LOGGERS for item in self.mro(cls)):
                return Value(Kind.METHOD, ref=Bound(Value(Kind.LOGGER), name, ast.Constant(None)))
            return Value(Kind.UNKNOWN, null=Null.MAYBE, dtype="attribute")
        if found.kind is Kind.UNKNOWN and found.dtype is None:
            found = changed(found, dtype="attribute")
        return owned(found, name)

    def _member_values(self, cls: ClassInfo, name: str, known: set[FunctionInfo]) -> Iterator[Value]:
        """What a class says of an attribute; ``known`` are the constructors that a derived one has told of."""
        if name in cls.attributes:
            yield self.evaluate(cls.attributes[name], cls.chunk, cls.module, cls)
        if name in cls.inner:
            yield Value(Kind.CLASS, ref=cls.inner[name])
        setters = self._setters(cls)
        methods = [*setters.get(name, ())]
        init = cls.methods.get("__init__")
        if init is not None and init not in methods and self._is_set_through(cls, init, name):
            methods.append(init)
        if methods:
            asked = (m for m in methods if m not in known)
            yield from (stores[name] for m in asked if name in (stores := self.stores_of(m)))
            known.update(base for m in methods for base, told in self._base_calls.get(m, ()) if told == name)
            return
        # Families of attributes: setattr(self, f"layer{i}", ...), and getattr(self, f"layer{i}").
        for other, family in setters.items():
            if (ANY in name or ANY in other) and may_be(name, other):
                yield from (stores[other] for m in family if other in (stores := self.stores_of(m)))

    def _is_set_through(self, cls: ClassInfo, init: FunctionInfo, name: str) -> bool:
        """Whether a constructor has that of a base set an attribute, to something that it gives it."""
        bases = (item.methods.get("__init__") for item in self.mro(cls)[1:] if isinstance(item, ClassInfo))
        if not any(base is not None and name in base.sets_on_self for base in bases):
            return False
        return gives_its_base(init.node) and name in self.stores_of(init)

    def setters(self, cls: ClassInfo, name: str) -> list[FunctionInfo]:
        """The methods of a class that set an attribute of ``self``."""
        return self._setters(cls).get(name, [])

    def _setters(self, cls: ClassInfo) -> dict[str, list[FunctionInfo]]:
        """For each attribute of ``self``, the methods of the class that set it."""
        known = self._setter_index.get(cls)
        if known is None:
            known = dict[str, list[FunctionInfo]]()
            for method in cls.methods.values():
                for name in method.sets_on_self:
                    known.setdefault(name, []).append(method)
            self._setter_index[cls] = known
        return known

    def stores_of(self, method: FunctionInfo) -> dict[str, Value]:
        """What a method sets on ``self``, learned by running it once."""
        known = self._stores.get(method)
        if known is not None:
            return known
        if method in self._stores:
            self._running += 1
            return {}
        self._stores[method] = None
        args = self.default_params(method, constructor=method.name in ("__init__", "__post_init__"))
        interpreter = self._interpreter(method, Facts(method, args), State(dict(args)), MAX_DEPTH - 3)
        interpreter.self_stores = {}
        interpreter.eager = method.name in ("__init__", "__post_init__")
        interpreter.run()
        self._stores[method] = interpreter.self_stores
        return interpreter.self_stores

    # -- torch.nn -------------------------------------------------------------------------------------

    def torch_module(self, name: str, values: list[Value], keywords: dict[str, Value], *, exact: bool = True) -> Value:
        """An instance of a class of ``torch.nn``; its constructor's arguments become its keys.

        Positional ones are ``"#0"``, ``"#1"``...; ``"**"`` stands for what ``*`` or ``**`` may hide.
        """
        if name in ("torch.nn.ParameterList", "torch.nn.ParameterDict", "torch.nn.BufferDict"):
            root = frozenset({("attr", name)})
            parameter = tensor(dtype=("any", root), roots=root)
            keys = dict.fromkeys(values[0].keys, parameter) if values and values[0].keys else None
            return Value(Kind.MODULE, ref=name, element=parameter, keys=keys)
        if name in _CONTAINERS:
            items = values
            if name != "torch.nn.Sequential" and values:
                first = values[0]
                items = list(first.elements) if first.elements is not None else []
                if first.element is not None and first.elements is None:
                    return Value(Kind.MODULE, ref=name, element=first.element, keys=_named(first))
            element: Value | None = None
            for item in items:
                element = item if element is None else join(element, item)
            known = name == "torch.nn.Sequential" and exact and all(v.kind is Kind.MODULE for v in items)
            return Value(Kind.MODULE, ref=name, element=element, elements=tuple(items) if known else None)
        keys = {f"#{index}": value for index, value in enumerate(values)} | keywords
        if not exact:
            keys["**"] = PYTHON
        return Value(Kind.MODULE, ref=name, keys=keys)


_AUTOGRAD = ("torch.autograd.Function", "torch.autograd.function.Function")
_LOGGERS = ("logging.Logger", "logging.LoggerAdapter")
_PLAIN_BASES = frozenset(
    {
        "object",
        "builtins.object",
        "abc.ABC",
        "typing.Generic",
        "typing.Protocol",
        "torch.nn.Module",
        "torch.nn.modules.Module",
    }
)


def _sorted_out(value: Value, name: str) -> Mapping[str, Value] | None:
    """The items of a dict that holds tensors and other things, and is set as a whole."""
    if value.dtype != "dict" or not value.keys or value.element is None or not value.element.mixed:
        return None
    return {key: owned(item, name) for key, item in value.keys.items()}


def _named(value: Value) -> dict[str, Value] | None:
    """The members of a ``ModuleDict``, by name."""
    if value.dtype != "dict" or value.keys is None:
        return None
    return dict(value.keys)


def _merged(orders: list[list[ClassInfo | str]]) -> list[ClassInfo | str]:
    """C3: each order kept, each base before those that follow it anywhere."""
    result: list[ClassInfo | str] = []
    orders = [list(order) for order in orders if order]
    while orders and len(result) < _MAX_BASES:
        for order in orders:
            head = order[0]
            if not any(head in other[1:] for other in orders):
                break
        else:
            head = orders[0][0]  # inconsistent: Python would refuse the class
        if head not in result:
            result.append(head)
        orders = [rest for order in orders if (rest := [item for item in order if item != head])]
    return result


def _module_base(name: str) -> bool:
    if name == "torch.nn.Module" or (name.startswith("torch.nn.") and module_fact(name) is not None):
        return True
    last = name.rpartition(".")[2]
    return last in _MODULE_BASES or (last.endswith("PreTrainedModel") and not last.startswith(("Flax", "TF")))


def owned(value: Value, name: str) -> Value:
    """A value read from an attribute: it may have been set to another of its kind since."""
    root = ("attr", name)
    if value.kind is Kind.TENSOR:
        floating = tensors.is_floating(value.dtype)
        dtype = value.dtype if value.dtype in ("int64", "bool", "int32") else ("floating" if floating else "any", root)
        shape = () if value.shape == () else root
        return changed(value, roots=frozenset({root}), dtype=dtype, shape=shape, device=root)
    if value.kind is Kind.CONTAINER:
        if value.dtype == "record":
            return changed(value, truth=None, roots=frozenset({root}))
        return changed(value, truth=None, elements=None, keys=_sorted_out(value, name), roots=frozenset({root}))
    if value.kind is Kind.PYTHON and value.dtype == "ndarray":
        return as_array(value, root)
    if value.kind is Kind.PYTHON:
        return changed(value, const=MISSING, truth=None, null=Null.MAYBE if value.null else value.null)
    return value
