"""Values as trees of plain data, to be compared with those of another process.

A tree is a tuple whose first item is its kind:

* ``("value", x)`` for None, bool, int, float, complex, str, bytes and dtypes, devices, layouts (by name);
* ``("tensor", object, storage, offset, strides, class name, requires grad, data)``: ``data`` is a detached copy, or
  what ``digest`` makes of it;
* ``("items", object, class name, [tree, ...])`` for lists, tuples and sets;
* ``("fields", object, class name, [(name, tree), ...])`` for dicts, dataclasses, modules and other objects;
* ``("generator", digest)`` for a ``torch.Generator``'s state;
* ``("again", object)`` for a container met before in the same tree;
* ``("opaque", class name)`` for the rest.

``object`` and ``storage`` number what is met in order, so that equal numbers in one run mean the same object or memory.
Runs over the same values in the same order therefore show in their numbers whether aliasing is the same.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import hashlib
import types
from typing import Any, Callable, Dict, Iterable, Tuple, cast

import torch

Tree = Tuple[Any, ...]

_torch: Any = torch
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_NAMED = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
_OWN_FIELDS = frozenset(vars(torch.nn.Module())) - {"training"} | {"_is_torch_compile"}
"""torch's, and the mark of ``torch.compile`` on a module that it is given."""
_FIELDS_OF_TORCH = ("torch.distributions", "torch.optim")
_WITHOUT_FIELDS = ("torch", "logging", "threading", "_thread", "_io", "io")
_DEPTH = 40
_LARGE = 4096
"""Elements: smaller tensors are kept as they are."""


class Snapshots:
    """Takes the trees of one run; keeps what it has met alive, so that no identity is used twice."""

    def __init__(self) -> None:
        self._objects: dict[int, int] = {}
        self._storages: dict[Any, int] = {}
        self._alive: list[object] = []
        self._met: set[int] = set()
        """The containers of the tree at hand, by number."""

    def take(self, value: object) -> Tree:
        """The tree of a value as it is now; what was met in an earlier tree has its number from there."""
        self._met = set()
        return self._take(value, 0)

    def _take(self, value: object, depth: int) -> Tree:
        if isinstance(value, enum.Enum):
            return ("value", f"{type(value).__qualname__}.{value.name}")
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            return ("value", value)
        if isinstance(value, _NAMED):
            return ("value", str(value))
        if isinstance(value, range):
            return ("value", repr(value))
        if isinstance(value, torch.Generator):
            return ("generator", digest(value.get_state()))
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, _CODE) or depth > _DEPTH:
            return ("opaque", _class_name(value))
        number = self._number(value)
        if number in self._met:
            return ("again", number)
        self._met.add(number)
        for plain in _PLAIN[1:]:
            if isinstance(value, plain):  # of a class of its own
                return ("items", number, _class_name(value), [("value", cast("Any", plain)(value))])
        if type(value).__module__ == "numpy":
            return self._array(value, number)
        if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            items = list(cast("Iterable[Any]", value))
            ordered = sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
            name = _class_name(cast("object", value))
            return ("items", number, name, [self._take(item, depth + 1) for item in ordered])
        fields = _fields(value)
        if fields is None:
            return ("opaque", _class_name(value))
        return ("fields", number, _class_name(value), [(name, self._take(item, depth + 1)) for name, item in fields])

    def _array(self, array: Any, number: int) -> Tree:
        """A NumPy array or scalar; arrays of objects by their text."""
        name = f"{_class_name(array)} {getattr(array, 'dtype', '')}"
        if not hasattr(array, "shape") or array.dtype.kind not in "biufc":
            return ("items", number, name, [("value", repr(array))])
        data = _torch.from_numpy(array.copy()) if array.shape else torch.tensor(array.item(), dtype=torch.float64)
        owner = array
        while getattr(owner, "base", None) is not None and hasattr(owner.base, "strides"):
            owner = owner.base
        shared = self._storages.setdefault(("array", self._number(owner)), len(self._storages))
        return ("tensor", number, shared, 0, tuple(array.strides), name, False, data)

    def _number(self, value: object) -> int:
        if id(value) not in self._objects:
            self._alive.append(value)
        return self._objects.setdefault(id(value), len(self._objects))

    def _tensor(self, tensor: torch.Tensor) -> Tree:
        number, name = self._number(tensor), _class_name(tensor)
        try:
            with torch.no_grad():
                data = tensor.detach().clone().cpu()
            storage: Any = _torch.Tensor.untyped_storage(tensor)
            place = storage.data_ptr() if storage.nbytes() else -number - 1
            shared = self._storages.setdefault(place, len(self._storages))
            self._alive.append(storage)
            offset, strides = tensor.storage_offset(), tuple(tensor.stride())
        except (RuntimeError, NotImplementedError, TypeError, ValueError):  # sparse, nested, fake, meta, uninitialized
            lazy = "Uninitialized" in name  # it has no shape yet
            return ("opaque", f"{name} {None if lazy else tuple(tensor.shape)} {tensor.dtype} {tensor.device}")
        return ("tensor", number, shared, offset, strides, f"{name} {tensor.device}", bool(tensor.requires_grad), data)


def _class_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _fields(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, dict):
        return [(repr(key), item) for key, item in cast("Dict[Any, Any]", value).items()]
    if isinstance(value, torch.nn.Module):
        own: list[tuple[str, Any]] = [pair for pair in vars(value).items() if pair[0] not in _OWN_FIELDS]
        for table in ("_parameters", "_buffers", "_modules"):
            own += cast("dict[str, Any]", getattr(value, table)).items()
        return own
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
    if hasattr(value, "getvalue"):  # StringIO, BytesIO
        try:
            return [("getvalue", cast("Any", value).getvalue())]
        except (TypeError, ValueError):
            return None
    if isinstance(value, functools.partial):
        call: Any = value  # pyright: ignore[reportUnknownVariableType]
        return [("func", call.func), ("args", call.args), ("keywords", call.keywords)]
    module = type(value).__module__
    if module.partition(".")[0] in _WITHOUT_FIELDS and not module.startswith(_FIELDS_OF_TORCH):
        return None
    fields: dict[str, Any] | None = getattr(cast("Any", value), "__dict__", None)
    slots = [name for kind in type(value).__mro__ for name in _names(getattr(kind, "__slots__", ()))]
    found = [(name, getattr(value, name)) for name in slots if name != "__dict__" and hasattr(value, name)]
    if isinstance(fields, dict):
        return found + list(fields.items())
    return found or None


def _names(slots: Any) -> list[str]:
    return [slots] if isinstance(slots, str) else [str(name) for name in slots if not str(name).startswith("__")]


def placed(tree: Tree) -> Tree:
    """A tree without the values of its tensors: only who is who."""
    if tree[0] == "tensor":
        return (*tree[:7], None)
    if tree[0] == "items":
        return (*tree[:3], [placed(item) for item in tree[3]])
    if tree[0] == "fields":
        return (*tree[:3], [(name, placed(item)) for name, item in tree[3]])
    return tree


def digest(tensor: torch.Tensor) -> str:
    """A text that is the same for the same dtype, shape and bits."""
    flat = tensor.contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() and not flat.is_complex() else repr(flat).encode()
    return f"{tensor.dtype} {tuple(tensor.shape)} {hashlib.sha256(data).hexdigest()}"


def condensed(before: Tree | None, after: Tree) -> Tree:
    """``after`` with a digest for each large tensor that is as it was in ``before``, such as the weights of a model."""
    if before is None or before[0] != after[0]:
        return after
    if after[0] == "tensor":
        old, new = before[7], after[7]
        if new.numel() < _LARGE or old.dtype != new.dtype or old.shape != new.shape or not torch.equal(old, new):
            return after
        return (*after[:7], digest(new))
    if after[0] == "items":
        pairs = zip(before[3], after[3]) if len(before[3]) == len(after[3]) else ((None, item) for item in after[3])
        return (*after[:3], [condensed(old, new) for old, new in pairs])
    if after[0] == "fields":
        known = dict(before[3])
        return (*after[:3], [(name, condensed(known.get(name), item)) for name, item in after[3]])
    return after


def holders(module: Any) -> list[tuple[str, Any]]:
    """What holds state in a file, by dotted name: the module itself and the classes it defines."""
    fields: dict[str, Any] = {**vars(module)}
    classes = [(n, v) for n, v in fields.items() if isinstance(v, type) and v.__module__ == module.__name__]
    return [(module.__name__, module), *((f"{module.__name__}.{name}", value) for name, value in classes)]


def data_of(holder: Any) -> dict[str, Any]:
    """The globals of a module, or the attributes of a class, that are state."""
    fields: dict[str, Any] = {**vars(holder)}
    return {name: item for name, item in fields.items() if not name.startswith("__") and is_data(item)}


def is_data(value: object) -> bool:
    """Whether a global is state of the program: not a function, class or module, nor a helper object without fields."""
    return not isinstance(value, _CODE) and Snapshots().take(value)[0] != "opaque"


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in nested containers and dataclasses, in order."""
    found: list[torch.Tensor] = []
    stack: list[Any] = [value]
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, torch.Tensor):
            found.append(item)
            continue
        parts = _parts(item)
        if parts and id(item) not in seen:
            seen.add(id(item))
            stack.extend(reversed(parts))
    return found


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[Any, Any]", value).values())
    if isinstance(value, (list, tuple)):
        return list(cast("list[Any]", value))
    if _is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return []


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def map_tensors(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """``value`` with each tensor in its containers and dataclasses changed; other objects are kept as they are."""
    if isinstance(value, torch.Tensor):
        return change(value)
    parts = [map_tensors(part, change) for part in _parts(value)]
    kind: Any = getattr(value, "__class__")  # noqa: B009 - typed loosely
    is_dict, is_sequence = isinstance(value, dict), isinstance(value, (list, tuple))
    try:
        if is_dict:
            return kind(zip(value, parts))
        if is_sequence:
            return kind(*parts) if hasattr(kind, "_make") else kind(parts)
        if _is_dataclass(value):
            return dataclasses.replace(value, **dict(zip([f.name for f in dataclasses.fields(value)], parts)))
    except (TypeError, ValueError):  # a container with a constructor of its own
        pass
    return value
