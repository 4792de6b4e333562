"""What torch's operators do, from ``data/op_facts.json`` (written by ``tools/generate_op_facts.py``).

Nothing here imports torch.  The file is read on the first question; facts are built on demand.

An overloaded operator has *variants*: each has conditions on the arguments of a call, all of which must
hold, and the fields in which it differs.  A condition is

``name@1``        the argument is given (keyword ``name``, or position 1) and is not None
``name@1=true``   it is given and true (``=false`` and ``=zero`` likewise)
``name@1:int``    it is given and of that kind (``int``, ``number``, ``str``, ``tensor``, ``bool_tensor``,
                  ``sequence``, ``dtype``, ``other``)
``!name@1``       it is not given, or None
``#2``            the call has exactly two arguments (``self`` of a method not counted)

where ``@N`` is left out for arguments that can only be named.  ``OpFact.for_call`` decides them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, cast

Returns = Literal[
    "tensor",
    "tensors",
    "bool",
    "int",
    "float",
    "str",
    "dtype",
    "device",
    "size",
    "none",
    "ndarray",
    "python",
    "unknown",
]
Alias = Literal["no", "maybe", "yes"]
Shape = Literal["same", "scalar"]
#: What the caller knows about an argument: literals as ``true``/``false``/``none``/``zero``, else the kind of value.
Argument = Literal[
    "true",
    "false",
    "none",
    "zero",
    "bool",
    "int",
    "float",
    "str",
    "tensor",
    "bool_tensor",
    "sequence",
    "dtype",
    "other",
    "unknown",
]

_DATA: Final = Path(__file__).resolve().parent.parent / "data" / "op_facts.json"


@dataclass(frozen=True, slots=True)
class Variant:
    """How the result differs when every condition of ``when`` holds; see the module's text."""

    when: tuple[str, ...]
    changes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class OpFact:
    """One function, method or attribute.

    ``returns`` is that of the plainest call; ``count`` the number of tensors in ``"tensors"`` where it is
    fixed, else 0; ``nullable``: may be None.  ``dynamic``: the output's shape depends on data.
    ``host_read``: a value is read to the host.  ``metadata``: known at trace time, no data read.
    ``unsupported``: Dynamo cannot trace the call although it reads no data (measured, a few names).
    ``inplace_view``: changes the shape or storage in place (breaks on an input of the region).
    ``alias``: the result shares memory with, or is, the first argument.  ``mutates``: arguments written
    (``self`` for methods), beside an ``out=`` where it accepts one (``out_argument``).  ``pointwise``: each
    element comes from the elements at its place only.  ``shape``: "same" as the first operand's if the other
    operands are numbers or broadcast to it, "scalar" for 0-d, None where neither is known.
    ``result_dtype``:

    =================  ==================================================================================
    ``same``           the dtype of the first operand, for every real dtype it accepts
    ``float``          as ``same`` for floating operands, the default float dtype for others
    ``sum``            as ``same`` for floating operands, int64 for others
    ``promote``        ``torch.result_type`` of the operands
    ``promote_float``  the same, the default float dtype where that is not floating
    ``bool`` ...       this dtype, whatever the operands
    =================  ==================================================================================

    Operands that are bool may differ for ``same`` (``square`` of bool is int64), and ``any``/``all`` of uint8
    give uint8.  ``where`` promotes its second and third operand; "the first operand" of ``einsum`` and ``cat``
    is the first tensor.  A ``dtype`` argument (``dtype_argument``) overrides it; so may autocast.
    """

    name: str
    kind: Literal["function", "method", "attribute"] = "function"
    returns: Returns = "tensor"
    count: int = 0
    nullable: bool = False
    dynamic: bool = False
    host_read: bool = False
    metadata: bool = False
    unsupported: bool = False
    alias: Alias = "no"
    mutates: tuple[str, ...] = ()
    inplace_view: bool = False
    random: bool = False
    pointwise: bool = False
    reduction: bool = False
    shape: Shape | None = None
    result_dtype: str | None = None
    dtype_argument: bool = False
    out_argument: bool = False
    params: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    """Parameters that take numbers and never a tensor; one that is computed has to be read to the host."""
    variants: tuple[Variant, ...] = ()

    @property
    def overloaded(self) -> bool:
        """Whether the kind or number of results depends on the arguments."""
        return any(name in ("returns", "count") for variant in self.variants for name, _ in variant.changes)

    def for_call(self, positional: Sequence[Argument], keywords: Mapping[str, Argument] | None = None) -> OpFact:
        """The fact for one call (``self`` of a method left out).

        Where an argument that decides is unknown, the result is what all possible overloads agree on:
        ``returns`` becomes "unknown", ``dynamic`` and ``host_read`` are those that hold in any case, while
        ``alias``, ``mutates`` and ``random`` are those that hold in some case.
        """
        if not self.variants:
            return self
        possible: list[OpFact] = []
        for variant in self.variants:
            holds = _all_hold(variant.when, positional, keywords or {})
            if holds is False:
                continue
            possible.append(_changed(self, variant))
            if holds:
                break
        else:
            possible.append(replace(self, variants=()))
        result = possible[0]
        for other in possible[1:]:
            result = _join(result, other)
        return result


@dataclass(frozen=True, slots=True)
class ModuleFact:
    """A class of ``torch.nn``.

    ``heavy``: a matmul, convolution, recurrence, attention or embedding.  ``alias``: the result may be the
    input (or a view of it), for activations only with ``inplace=True``.  ``random``: draws random numbers in
    training.  ``state``: writes buffers in training.  ``indices``: ``return_indices=True`` gives a pair.
    ``container``: holds other modules and has no forward of its own, or runs theirs.
    """

    name: str
    returns: Literal["tensor", "tensors", "python"] = "tensor"
    heavy: bool = False
    alias: bool = False
    random: bool = False
    state: bool = False
    container: bool = False
    indices: bool = False


#: Torch's own parser accepts numpy's names, too.
_NUMPY_NAMES: Final[Mapping[str, str]] = {"dim": "axis", "keepdim": "keepdims"}
_CONDITION: Final = re.compile(r"(!?)(\w+)(?:@(-?\d+))?(?:([=:])(\w+))?")
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"int", "zero", "bool", "true", "false"}),
    "number": frozenset({"int", "float", "zero", "bool", "true", "false"}),
    "bool": frozenset({"bool", "true", "false"}),
    "str": frozenset({"str"}),
    "tensor": frozenset({"tensor", "bool_tensor"}),
    "bool_tensor": frozenset({"bool_tensor"}),
    "sequence": frozenset({"sequence"}),
    "dtype": frozenset({"dtype"}),
    "other": frozenset({"other"}),
}


def _all_hold(when: tuple[str, ...], positional: Sequence[Argument], keywords: Mapping[str, Argument]) -> bool | None:
    """Three-valued: None where an argument that decides is unknown."""
    result: bool | None = True
    for condition in when:
        holds = _holds(condition, positional, keywords)
        if holds is False:
            return False
        if holds is None:
            result = None
    return result


def _holds(condition: str, positional: Sequence[Argument], keywords: Mapping[str, Argument]) -> bool | None:
    if condition[0] == "#":
        return len(positional) + len(keywords) == int(condition[1:])
    match = _CONDITION.fullmatch(condition)
    if match is None:
        return None
    negated, name, position, operator, value = match.groups()
    found: Argument | None = keywords.get(name) or keywords.get(_NUMPY_NAMES.get(name, name))
    if found is None and position is not None and -1 < int(position) < len(positional):
        found = positional[int(position)]
    if negated:
        return True if found in (None, "none") else None if found == "unknown" else False
    if found is None or found == "none":
        return False
    if found == "unknown":
        return None
    if operator is None:
        return True
    if operator == "=":
        if value == "zero":
            return True if found == "zero" else None if found in ("int", "float") else False
        if found in ("bool", "int", "float"):
            return None
        return ("false" if found == "zero" else found) == value
    if value == "bool_tensor" and found == "tensor":
        return None
    return found in _KINDS[value]


_variants: dict[tuple[int, int], tuple[OpFact, Variant, OpFact]] = {}
"""Facts with one of their variants taken, by the ``id`` of both, which are those of the tables: there are not many."""


def _changed(fact: OpFact, variant: Variant) -> OpFact:
    known = _variants.get((id(fact), id(variant)))
    if known is None:
        known = _variants[id(fact), id(variant)] = (fact, variant, _made_of(fact, variant))
    return known[2]


def _made_of(fact: OpFact, variant: Variant) -> OpFact:
    changes = dict(variant.changes)
    if changes.get("returns", "tensor") != "tensor":
        changes = {"shape": None, "result_dtype": None, "pointwise": False, **changes}
    return replace(fact, variants=(), **changes)


def _join(a: OpFact, b: OpFact) -> OpFact:
    order: tuple[Alias, ...] = ("no", "maybe", "yes")
    return replace(
        a,
        returns=a.returns if a.returns == b.returns else "unknown",
        count=a.count if a.count == b.count else 0,
        nullable=a.nullable or b.nullable,
        dynamic=a.dynamic and b.dynamic,
        host_read=a.host_read and b.host_read,
        metadata=a.metadata and b.metadata,
        alias=a.alias if a.alias == b.alias else "maybe" if order.index(a.alias) + order.index(b.alias) else "no",
        mutates=tuple(sorted({*a.mutates, *b.mutates})),
        random=a.random or b.random,
        pointwise=a.pointwise and b.pointwise,
        reduction=a.reduction and b.reduction,
        shape=a.shape if a.shape == b.shape else None,
        result_dtype=a.result_dtype if a.result_dtype == b.result_dtype else None,
    )


@dataclass(frozen=True, slots=True)
class _Tables:
    torch: str
    functions: Mapping[str, Mapping[str, Any]]
    methods: Mapping[str, Mapping[str, Any]]
    modules: Mapping[str, Mapping[str, Any]]
    tensor_only: frozenset[str]
    array_methods: frozenset[str]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    raw = cast("dict[str, Any]", json.loads(_DATA.read_bytes()))
    return _Tables(
        raw["torch"],
        raw["functions"],
        raw["methods"],
        raw["modules"],
        frozenset(cast("list[str]", raw["tensor_only"])),
        frozenset(cast("list[str]", raw["array_methods"])),
    )


def _frozen(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _fact(name: str, kind: Literal["function", "method"], row: Mapping[str, Any]) -> OpFact:
    fields = {key: _frozen(value) for key, value in row.items() if key != "variants"}
    fields.setdefault("kind", kind)
    variants = tuple(
        Variant(tuple(v["when"]), tuple((key, _frozen(value)) for key, value in v.items() if key != "when"))
        for v in cast("list[dict[str, Any]]", row.get("variants", []))
    )
    return OpFact(name, variants=variants, **fields)


#: Modules that re-export the same functions, longest first.
_SAME_MODULE: Final = (("torch.functional.", "torch."), ("torch._C._nn.", "torch.nn.functional."))


@cache
def function_fact(qualified: str) -> OpFact | None:
    """The fact for ``torch.sum``, ``torch.nn.functional.relu``, ``torch.linalg.norm``, ``torch.float32`` ..."""
    for alias, real in _SAME_MODULE:
        if qualified.startswith(alias):
            qualified = real + qualified[len(alias) :]
    row = _tables().functions.get(qualified)
    return None if row is None else _fact(qualified, "function", row)


@cache
def method_fact(name: str) -> OpFact | None:
    """The fact for a method, attribute or operator method of ``Tensor``: "sum", "shape", "__add__"."""
    row = _tables().methods.get(name)
    return None if row is None else _fact(f"torch.Tensor.{name}", "method", row)


@cache
def module_fact(qualified: str) -> ModuleFact | None:
    """The fact for a public class of ``torch.nn``, such as ``torch.nn.Linear``."""
    row = _tables().modules.get(qualified)
    return None if row is None else ModuleFact(qualified, **row)


@cache
def data_dependent() -> frozenset[str]:
    """Plain names of functions and methods that read a tensor to the host, or whose result has a size that is data."""
    rows = [*_tables().functions.items(), *_tables().methods.items()]
    return frozenset(
        name.rpartition(".")[2]
        for name, row in rows
        if any(each.get(field) for each in (row, *row.get("variants", ())) for field in _DEPENDS)
    )


_DEPENDS: Final = ("dynamic", "host_read", "unsupported")


def facts_torch_version() -> str:
    """The release of torch that the facts were generated from."""
    return _tables().torch


TENSOR_ONLY_METHODS: frozenset[str]
"""Public names of ``Tensor`` that no builtin, standard library or ``nn.Module`` class has, nor numpy arrays."""
ARRAY_METHODS: frozenset[str]
"""Public names that ``Tensor`` shares with ``numpy.ndarray`` and with nothing else looked at."""


def __getattr__(name: str) -> frozenset[str]:
    if name == "TENSOR_ONLY_METHODS":
        return _tables().tensor_only
    if name == "ARRAY_METHODS":
        return _tables().array_methods
    raise AttributeError(name)
