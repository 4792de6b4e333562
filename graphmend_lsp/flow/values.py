"""Abstract values: what the analysis knows of a Python value at one point of a function.

The lattice is flat in the kind, with ``UNKNOWN`` on top.  Beside the kind a value carries nullness,
metadata tokens (two tensors with the same token have the same dtype or shape), alias roots (which
storages it may share) and the reason why it is what it is, as a linked list of places; the chain is
turned into evidence only when it is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from graphmend_lsp.parse import Place

if TYPE_CHECKING:
    from graphmend_lsp.model.module import ClassInfo, FunctionInfo, Module


class Kind(IntEnum):
    """What sort of thing a value is for TorchDynamo."""

    UNKNOWN = 0
    PYTHON = 1  # known at trace time: numbers, strings, shapes, dtypes, configuration, None
    TENSOR = 2
    SCALAR = 3  # a Python value that was read from a tensor (.item(), .tolist(), torch.equal)
    CONTAINER = 4  # tuple, list, dict, set ... of values
    MODULE = 5  # an nn.Module
    INSTANCE = 6  # an object of a class of the project
    FUNCTION = 7
    CLASS = 8
    NAMESPACE = 9  # something outside the project by its dotted name
    LOGGER = 10
    METHOD = 11  # a bound method of a tensor, container, logger ...


class Null(IntEnum):
    NEVER = 0
    MAYBE = 1
    ALWAYS = 2


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
Root = tuple[Any, ...]
NO_ROOTS: frozenset[Root] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Why:
    """One link of the evidence chain; ``path`` is the file the place belongs to."""

    place: Place
    path: str
    message: str
    parent: Why | None = None
    argument: tuple[ast.AST, str] | None = None
    """Of a parameter in facts that all callers share: the function and its name. Each caller has its own evidence."""


@dataclass(slots=True, eq=False)
class Value:
    """An abstract value; see the module's docstring.  ``dtype`` and ``shape`` are tokens or None.

    Values are shared and never changed: ``changed`` makes a new one.  (A frozen dataclass would say so, at three
    times the cost of making one, and millions are made.)
    """

    kind: Kind
    null: Null = Null.NEVER
    const: Any = MISSING
    ref: Any = None
    elements: tuple[Value, ...] | None = None
    """Elements by position, if they are known one by one."""
    keys: Mapping[str, Value] | None = None
    """Items of a dict or attributes of a record by name; of another object those that its construction tells of."""
    element: Value | None = None
    """Any element, where positions are not known."""
    dtype: Any = None
    shape: Any = None
    device: Any = None
    roots: frozenset[Root] = NO_ROOTS
    why: Why | None = None
    mixed: bool = False
    """A tensor on some paths only."""
    array: bool = False
    """A numpy array computed from a tensor (traced like one, but it takes no torch function)."""
    truth: bool | None = None
    """Truth value where it is known although the value is not."""
    unbound: bool = False
    """On some path the name has no value."""
    options: tuple[Value, ...] = ()
    """What it is one of, where that is worth following: functions, classes, modules, or a tensor and a container.
    Of a ``mixed`` tensor: what else it may be.  An ``UNKNOWN`` among them means that there may be others."""


def changed(value: Value, **changes: Any) -> Value:
    """A copy with other fields (``dataclasses.replace``, but several times faster)."""
    new = _new(Value)
    new.kind = value.kind
    new.null = value.null
    new.const = value.const
    new.ref = value.ref
    new.elements = value.elements
    new.keys = value.keys
    new.element = value.element
    new.dtype = value.dtype
    new.shape = value.shape
    new.device = value.device
    new.roots = value.roots
    new.why = value.why
    new.mixed = value.mixed
    new.array = value.array
    new.truth = value.truth
    new.unbound = value.unbound
    new.options = value.options
    for name, item in changes.items():
        setattr(new, name, item)
    return new


_new = object.__new__


UNKNOWN = Value(Kind.UNKNOWN)
PYTHON = Value(Kind.PYTHON)
NONE = Value(Kind.PYTHON, null=Null.ALWAYS, const=None, truth=False)
TRUE = Value(Kind.PYTHON, const=True, truth=True, dtype="bool")
FALSE = Value(Kind.PYTHON, const=False, truth=False, dtype="bool")
SCALAR = Value(Kind.SCALAR)
COMPUTED = "computed"
"""The ``ref`` of a scalar that certainly comes from a tensor computed in the region."""
COMPUTED_LIST = "computed list"
"""The ``ref`` of a list of such scalars."""


def constant(value: Any) -> Value:
    """A literal."""
    if value is None:
        return NONE
    if value is True:
        return TRUE
    if value is False:
        return FALSE
    return Value(Kind.PYTHON, const=value, truth=bool(value), dtype=type(value).__name__)


def number(kind: str) -> Value:
    """A Python value of a known type whose value is not known."""
    return Value(Kind.PYTHON, dtype=kind)


def tensor(
    *,
    why: Why | None = None,
    dtype: Any = None,
    shape: Any = None,
    device: Any = None,
    roots: frozenset[Root] = NO_ROOTS,
    null: Null = Null.NEVER,
) -> Value:
    return Value(Kind.TENSOR, null=null, dtype=dtype, shape=shape, device=device, roots=roots, why=why)


def container(
    elements: tuple[Value, ...] | None = None,
    *,
    element: Value | None = None,
    keys: Mapping[str, Value] | None = None,
    type_name: str = "",
    truth: bool | None = None,
    roots: frozenset[Root] = NO_ROOTS,
) -> Value:
    if element is None and elements is not None:
        element = join_all(elements)
    if element is None and keys is not None:
        element = join_all(tuple(keys.values()))
    return Value(
        Kind.CONTAINER, elements=elements, keys=keys, element=element, dtype=type_name, truth=truth, roots=roots
    )


def join_all(values: tuple[Value, ...]) -> Value | None:
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result


def join(a: Value, b: Value) -> Value:
    """The least value that covers both."""
    if a is b:
        return a
    if a.null is Null.ALWAYS and b.null is Null.ALWAYS:
        return a
    unbound = a.unbound or b.unbound
    if a.null is Null.ALWAYS:
        return changed(b, null=Null.MAYBE, unbound=unbound, const=MISSING, truth=None)
    if b.null is Null.ALWAYS:
        return changed(a, null=Null.MAYBE, unbound=unbound, const=MISSING, truth=None)
    null = a.null if a.null >= b.null else b.null
    roots = a.roots if a.roots == b.roots else a.roots | b.roots
    if a.kind is not b.kind:
        return _join_kinds(a, b, null, unbound, roots)
    same_ref = a.ref is b.ref or a.ref == b.ref
    if (a.options or b.options or not same_ref) and (a.kind in _CODE or a.kind is Kind.UNKNOWN):
        return _one_of(a, b, null, unbound, roots)
    return Value(
        a.kind,
        null=null,
        const=a.const if _same_const(a.const, b.const) else MISSING,
        ref=a.ref if same_ref else None,
        elements=_join_elements(a, b),
        keys=_join_keys(a, b),
        element=_join_optional(a.element, b.element),
        dtype=a.dtype if a.dtype == b.dtype else None,
        shape=a.shape if a.shape == b.shape else None,
        device=a.device if a.device == b.device else None,
        roots=roots,
        why=a.why or b.why,
        mixed=a.mixed or b.mixed,
        array=a.array or b.array,
        truth=a.truth if a.truth == b.truth else None,
        unbound=unbound,
        options=_rest(a, b) if a.options or b.options else (),
    )


_CODE = frozenset({Kind.MODULE, Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.NAMESPACE, Kind.METHOD})
_MAX_OPTIONS = 8
_MAX_FUNCTIONS = 32
"""Functions are followed further: a table of losses by name has that many."""


def _join_kinds(a: Value, b: Value, null: Null, unbound: bool, roots: frozenset[Root]) -> Value:
    for one, other in ((a, b), (b, a)):
        if one.kind is Kind.TENSOR and other.kind in (Kind.PYTHON, Kind.SCALAR, Kind.UNKNOWN):
            if other.kind is Kind.UNKNOWN and other.options:
                return _one_of(a, b, null, unbound, roots)
            return changed(
                one,
                null=null,
                unbound=unbound,
                roots=roots,
                mixed=True,
                dtype=None,
                shape=None,
                device=None,
                options=_more(one.options, other),
            )
    if a.kind in (Kind.SCALAR, Kind.PYTHON) and b.kind in (Kind.SCALAR, Kind.PYTHON):
        return Value(Kind.SCALAR, null=null, unbound=unbound, why=a.why or b.why)
    return _one_of(a, b, null, unbound, roots)


def _one_of(a: Value, b: Value, null: Null, unbound: bool, roots: frozenset[Root]) -> Value:
    """Either of two values that have no common kind: unknown, unless the options are worth following."""
    kind = Kind.MODULE if a.kind is Kind.MODULE and b.kind is Kind.MODULE else Kind.UNKNOWN
    element = _join_optional(a.element, b.element) if kind is Kind.MODULE else None
    return Value(kind, null=null, unbound=unbound, roots=roots, element=element, options=_options(a, b))


def _options(a: Value, b: Value) -> tuple[Value, ...]:
    if not a.options and not b.options and a.kind in _PLAIN and b.kind in _PLAIN:
        return ()
    found: tuple[Value, ...] = ()
    for value in (a, b):
        for option in alternatives(value):
            found = _more(found, option)
            if not found:
                return ()
    return found if any(option.kind not in _PLAIN for option in found) else ()


def _rest(a: Value, b: Value) -> tuple[Value, ...]:
    """What else two mixed tensors may be."""
    found: tuple[Value, ...] = ()
    for option in (*a.options, *b.options):
        found = _more(found, option)
    return found


def alternatives(value: Value) -> tuple[Value, ...]:
    """The values it is one of: itself, if nothing more is known."""
    if not value.options:
        return (value,)
    if value.kind is Kind.TENSOR:
        return (changed(value, mixed=False, options=()), *value.options)
    return value.options


_PLAIN = frozenset({Kind.UNKNOWN, Kind.PYTHON, Kind.SCALAR})


def _more(options: tuple[Value, ...], value: Value) -> tuple[Value, ...]:
    """The options and one more; none if they become too many to follow."""
    value = value if value.null is Null.NEVER and not value.unbound else changed(value, null=Null.NEVER, unbound=False)
    for index, known in enumerate(options):
        if known is value:
            return options
        if known.kind is value.kind and (known.ref is value.ref or known.ref == value.ref):
            merged = join(known, value)
            return (*options[:index], merged, *options[index + 1 :])
    if len(options) >= _MAX_OPTIONS:
        functions = sum(option.kind is Kind.FUNCTION for option in options)
        if functions >= _MAX_FUNCTIONS or len(options) - functions >= _MAX_OPTIONS:
            return ()
    return (*options, value)


def _same_const(a: Any, b: Any) -> bool:
    if a is MISSING or b is MISSING or type(a) is not type(b):
        return False
    return a is b or a == b


def _join_optional(a: Value | None, b: Value | None) -> Value | None:
    if a is None:
        return b
    return a if b is None else join(a, b)


def _join_elements(a: Value, b: Value) -> tuple[Value, ...] | None:
    if a.elements is None or b.elements is None or len(a.elements) != len(b.elements):
        return None
    return tuple(join(x, y) for x, y in zip(a.elements, b.elements, strict=True))


def _join_keys(a: Value, b: Value) -> Mapping[str, Value] | None:
    if a.keys is b.keys or a.keys is None or b.keys is None:
        return a.keys if a.keys is b.keys else None
    if not isinstance(a.ref, str) and a.kind in (Kind.MODULE, Kind.INSTANCE):  # attributes that more is known of
        return {key: join(a.keys[key], b.keys[key]) for key in a.keys if key in b.keys} or None
    if a.kind is Kind.MODULE:  # a constructor's arguments: one that only one of them got is not known
        return {key: join(a.keys.get(key, PYTHON), b.keys.get(key, PYTHON)) for key in {**a.keys, **b.keys}}
    return {key: join(a.keys.get(key, NONE), b.keys.get(key, NONE)) for key in {**a.keys, **b.keys}}


def all_roots(value: Value | None, depth: int = 0) -> frozenset[Root]:
    """Every storage the value or something inside it may share."""
    if value is None or depth > 4:
        return NO_ROOTS
    roots = value.roots
    if value.kind is Kind.CONTAINER:
        if value.elements is not None:
            for item in value.elements:
                roots |= all_roots(item, depth + 1)
        elif value.element is not None:
            roots |= all_roots(value.element, depth + 1)
        if value.keys is not None:
            for item in value.keys.values():
                roots |= all_roots(item, depth + 1)
    return roots


def holds_tensor(value: Value | None, depth: int = 0) -> bool:
    """Whether the value is a tensor or certainly contains one."""
    if value is None or depth > 4:
        return False
    if value.kind is Kind.TENSOR:
        return True
    if value.kind is not Kind.CONTAINER:
        return False
    inside = (*(value.elements or ()), *((value.keys or {}).values()), value.element)
    return any(holds_tensor(item, depth + 1) for item in inside)


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function value: the function, the object it is bound to and the names it closes over."""

    function: FunctionInfo
    bound: Value | None = None
    env: Mapping[str, Value] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Closure) and self.function is other.function and self.bound is other.bound

    def __hash__(self) -> int:
        return hash(id(self.function))


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method of a value that is not a function of the project: ``receiver.name``."""

    receiver: Value
    name: str
    node: ast.expr


def module_of(value: Value) -> ClassInfo | str | None:
    """The class of an nn.Module value: of the project, or by dotted name."""
    return value.ref if value.kind is Kind.MODULE else None


def project_module(value: Value) -> Module | None:
    ref = value.ref
    return ref if value.kind is Kind.NAMESPACE and not isinstance(ref, str) and ref is not None else None
