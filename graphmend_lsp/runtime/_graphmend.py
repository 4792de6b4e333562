"""Host effects, selections and numbers that torch.compile does not split its graph for.

Version 1. Made by graphmend-lsp, which puts a copy of this file into packages it mends; any number of
copies may run in one process. It needs torch alone: measured with 2.4.0 and 2.13.0, and once with releases between.

Copyright (c) 2026 the graphmend-lsp authors. SPDX-License-Identifier: MIT
"""

import ast
import contextlib
import functools
import importlib
import threading
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar, cast

import torch

if TYPE_CHECKING:
    import torch._dynamo
    from typing_extensions import ParamSpec

    _P = ParamSpec("_P")

__all__ = ["graph_each", "graph_effect", "graph_int", "graph_list", "graph_mask", "graph_nonzero", "select"]

_T = TypeVar("_T")
_torch: Any = torch  # for what has no type
_NAMESPACE = "graphmend_v1"  # another meaning of anything below needs another number
_RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])


def graph_effect(function: "Callable[_P, None]") -> "Callable[_P, None]":
    """Let torch.compile keep a call of this function inside its graph.

    The function is to print, log, warn or raise, to return None and to change none of its arguments. It
    runs where it is called, in order, with the values of that moment, compiled or not. It can be
    given tensors and Python values, also in lists, tuples and dicts; a call with anything else splits the
    graph as it would have done without this decorator.
    """
    name = _register(function)

    @functools.wraps(function)
    def effect(*args: "_P.args", **kwargs: "_P.kwargs") -> None:
        if not _is_tracing() or _is_exporting():
            function(*args, **kwargs)
            return
        tensors: List[torch.Tensor] = []
        integers: List[int] = []
        call = _describe((args, kwargs), tensors, integers)
        if call and not _is_transforming():
            _emit(name, call, _modes(), tensors, integers, _token)
        else:
            reason = "torch.func transforms it" if call else "an argument is of a kind that no graph carries"
            _split_graph(f"{name} cannot be called in the graph: {reason}")
            function(*args, **kwargs)

    _skip_frame(effect)
    _skip_frame(function)
    return effect


def select(condition: object, new: _T, old: _T) -> _T:
    """`new if condition else old`, with both sides computed, which torch.compile can keep in its graph.

    It does so where the sides are tensors alike in all but their values. Where they are not, `torch.where`
    would give something else than the branch, so the branch is taken and splits the graph as it did before.
    """
    if torch.compiler.is_compiling() and _are_alike(condition, new, old):
        return _where(condition, new, old)
    return new if condition else old


def graph_int(value: Any) -> Any:
    """`value.item()` of a tensor of integers, which torch.compile keeps in its graph as a symbol (torch 2.13).

    What is no tensor is given back as it is. What a graph cannot hold as a symbol is read, and splits the graph as it
    did before.
    """
    if not isinstance(value, torch.Tensor):
        return value
    if _holds_symbols() and _is_number(value):
        return _number(value)
    return value.item()


def graph_list(value: Any) -> Any:
    """`value.tolist()` of a tensor of integers, each of which torch.compile keeps in its graph as a symbol."""
    if _holds_symbols() and isinstance(value, torch.Tensor):
        if not _is_counted(value):  # how many there are is itself data: Dynamo (2.13) fails to list them
            _split_graph("how many numbers graph_list is to read is known to the host alone")
        elif _is_listed(value):
            return _numbers(value)
    return cast(Any, value).tolist()


def graph_nonzero(value: Any, as_tuple: bool = False) -> Any:
    """`torch.nonzero(value, as_tuple=as_tuple)`, which torch.compile keeps in its graph (torch 2.13).

    How many there are is a symbol of the graph. `torch.where(condition)` is `graph_nonzero(condition, as_tuple=True)`.
    """
    if not (_holds_symbols() and isinstance(value, torch.Tensor) and _has_places(value)):
        return torch.nonzero(value, as_tuple=as_tuple)
    places = _nonzero(value)
    return places.unbind(1) if as_tuple else places


def graph_mask(value: Any, *index: Any) -> Tuple[Any, ...]:
    """The index itself: `value[graph_mask(value, mask)]` is `value[mask]`, to read, to write and for `+=`.

    While torch.compile traces, a mask becomes the places where it holds, and how many there are a symbol of the graph
    (torch 2.13).
    """
    if _holds_symbols() and isinstance(value, torch.Tensor) and _is_plain(value):
        return _placed(value, index)
    return index


def graph_each(mask: torch.Tensor) -> Sequence[int]:
    """At which places a mask of one dimension holds, for a loop that does nothing at the others.

    While torch.compile traces, the loop goes through all places, so that the graph does not depend on the mask.
    """
    if _holds_symbols() and mask.dim() == 1 and _is_counted(mask) and len(mask) <= _FEW:
        return range(len(mask))
    (places,) = torch.nonzero(mask, as_tuple=True)
    return cast(Any, places).tolist()


def _holds_symbols() -> bool:
    return _is_tracing() and _RELEASE >= (2, 13) and not _is_exporting()


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_FEW = 128


def _is_number(value: torch.Tensor) -> bool:
    return value.dtype in _INTEGERS and _is_counted(value) and value.numel() == 1 and not _is_transforming()


def _is_counted(value: torch.Tensor) -> bool:
    """Whether all sizes are known while tracing, if only by a guard; asked so that it is no question about data."""
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # torch alone does not import it

    for size in value.shape:
        if not (guard_or_false(size < 2) or guard_or_false(size >= 2)):
            return False
    return True


def _is_listed(value: torch.Tensor) -> bool:
    """Whether the graph gets an operator for each number: few of them, and integers."""
    return value.dtype in _INTEGERS and value.numel() <= _FEW and not _is_transforming()


def _numbers(value: torch.Tensor) -> Any:
    if value.dim() == 0:
        return _number(value)
    found: List[Any] = []
    for row in value.unbind(0):
        found.append(_numbers(row))
    return found


def _has_places(value: torch.Tensor) -> bool:
    return value.dim() > 0 and _is_plain(value) and not _is_transforming()


def _placed(value: torch.Tensor, index: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """The index with its mask as places; as it is where the mask might not fit, so that it is refused as before."""
    found: List[Any] = []
    masked = False
    at = 0
    for part in index:
        if isinstance(part, torch.Tensor) and part.dtype is torch.bool and not masked:
            if not _has_places(part) or not _is_covered(value, at, part):
                return index
            found += _nonzero(part).unbind(1)
            masked, at = True, at + part.dim()
        elif isinstance(part, slice):
            found.append(part)
            at += 1
        elif part is None or (part is ... and masked):
            found.append(part)
        else:
            return index
    return tuple(found) if at <= value.dim() else index


def _is_covered(value: torch.Tensor, at: int, mask: torch.Tensor) -> bool:
    """Whether a mask is as large as the dimensions that it chooses from; asked so that it is no question about data."""
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    if at + mask.dim() > value.dim():
        return False
    for number, size in enumerate(mask.shape):
        if not guard_or_false(size == value.shape[at + number]):
            return False
    return True


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _are_alike(condition: object, new: object, old: object) -> bool:
    """All of this is known while tracing: it puts no guard on data, and on shapes only that they stay equal."""
    return (
        isinstance(condition, torch.Tensor)
        and isinstance(new, torch.Tensor)
        and isinstance(old, torch.Tensor)
        and _is_plain(new)
        and _is_plain(old)
        and condition.numel() == 1
        and condition.device == new.device == old.device
        and new.dtype is old.dtype
        and new.layout is old.layout is torch.strided
        and new.shape == old.shape
        and new.stride() == old.stride()
    )


def _is_plain(value: torch.Tensor) -> bool:
    """A tensor that is no subclass; non-strict export traces with subclasses of its own, which stand for tensors."""
    return type(value) in _PLAIN or not torch.compiler.is_dynamo_compiling()


def _where(condition: Any, new: Any, old: Any) -> Any:
    condition = condition if condition.dtype is torch.bool else condition != 0
    return torch.where(condition.reshape(()), new, old)


# What follows makes graph_effect work. While Dynamo traces, a call becomes one operator whose arguments are the
# effect's name, a text that describes the call, and the tensors and symbolic integers that the text refers to.


def _modes() -> str:
    """The modes that hold at the call, as a text: a compiled graph does not restore them for the operators in it."""
    modes = "grad" if torch.is_grad_enabled() else "no_grad"
    modes += f" {torch.empty(0).device}"  # the default device, which Dynamo traces in this form only
    for device in ("cpu", "cuda"):
        if torch.is_autocast_enabled(device):
            modes += f" {device}={torch.get_autocast_dtype(device)}"
    return modes


def _describe(value: Any, tensors: List[torch.Tensor], integers: List[int]) -> str:
    """`value` as the text of a Python literal that `_restore` reads, "" if there is none. Dynamo traces this.

    Constants stand in the text itself: it must be the same in every process, since compiled graphs are cached
    by it. A symbolic number becomes an argument and is not specialized.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if value is ...:
        return "..."
    if value is None or kind is str or kind is bytes:
        return repr(value)
    if kind is bool:
        return "True" if value else "False"
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        tensors.append(value)
        return f"('tensor', {len(tensors) - 1})"
    if kind is int:
        if _is_exact(value):
            return repr(value)
        integers.append(value)
        return f"('int', {len(integers) - 1})"
    if kind is float:
        if _is_exact(value):
            return f"('float', {repr(value)!r})"
        # Times one: Inductor (2.13) freezes the value of a symbolic float that an operator gets as it is.
        tensors.append(torch.ones((), dtype=torch.float64, device="cpu") * value)
        return f"('item', {len(tensors) - 1})"
    if kind is complex:
        return f"('complex', {repr(value)!r})"
    if kind is torch.dtype or kind is torch.layout or kind is torch.memory_format:
        return f"('torch', {repr(value)!r})"
    if kind is torch.device:
        return f"('device', {str(value)!r})"

    parts: List[Any] = []
    if kind is tuple or kind is list or kind is torch.Size:
        tag = "tuple" if kind is tuple else "list" if kind is list else "Size"
        parts = list(value)
    elif kind is dict:
        tag = "dict"
        for key in value:
            parts += [key, value[key]]
    elif kind is slice or kind is range:
        tag = "slice" if kind is slice else "range"
        parts = [value.start, value.stop, value.step]
    elif isinstance(value, Enum) and "<" not in kind.__module__ + kind.__qualname__:  # <locals>, <torch_package_0>
        tag, parts = "enum", [kind.__module__, kind.__qualname__, value.value]
    else:
        return ""
    texts = [_describe(part, tensors, integers) for part in parts]
    return "" if "" in texts else f"({', '.join([repr(tag), *texts])},)"


def _is_exact(value: Any) -> bool:
    """Whether a number is no symbol, asked in the only ways that put no guard on a symbol."""
    if _RELEASE >= (2, 6):
        return value is +value
    return "{!s:.0}".format(value) is _NOTHING  # noqa: UP032  (to Dynamo a symbol in a format is no string at all)


_NOTHING = ""


def _enum(module: str, path: str, value: object) -> object:
    return functools.reduce(getattr, path.split("."), cast(Any, importlib.import_module(module)))(value)


def _torch_constant(text: str) -> object:
    return getattr(torch, text.partition(".")[2])


_RESTORE: Dict[str, Callable[..., object]] = {
    "float": float,
    "complex": complex,
    "torch": _torch_constant,
    "device": torch.device,
    "tuple": lambda *parts: parts,
    "list": lambda *parts: list(parts),
    "Size": lambda *parts: torch.Size(parts),
    "dict": lambda *parts: dict(zip(parts[::2], parts[1::2])),
    "slice": slice,
    "range": range,
    "enum": _enum,
}


def _restore(node: object, tensors: Sequence[torch.Tensor], integers: Sequence[int]) -> Any:
    if not isinstance(node, tuple):
        return node
    tag, *parts = cast("Tuple[Any, ...]", node)
    if tag == "tensor":
        return tensors[int(parts[0])]
    if tag == "item":
        return tensors[int(parts[0])].item()
    if tag == "int":
        return integers[int(parts[0])]
    return _RESTORE[tag](*[_restore(part, tensors, integers) for part in parts])


_parse = functools.lru_cache(maxsize=1024)(ast.literal_eval)


def _run(
    name: str, call: str, modes: str, tensors: Sequence[torch.Tensor], integers: Sequence[int], token: torch.Tensor
) -> None:
    """The operator itself: plain Python, each time that the compiled graph comes to it."""
    function = _shared.effects.get(name)
    if function is None:
        raise LookupError(f"the compiled graph calls the effect {name}, whose module is not imported here")
    args, kwargs = _restore(_parse(call), tensors, integers)
    if modes == "grad cpu" and torch.is_grad_enabled():
        function(*args, **kwargs)
        return
    grad, device, *autocasts = modes.split()
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.set_grad_enabled(grad == "grad"))
        if device != "cpu":
            stack.enter_context(torch.device(device))
        for kind, dtype in (autocast.split("=torch.") for autocast in autocasts):
            stack.enter_context(torch.autocast(kind, getattr(torch, dtype)))
        function(*args, **kwargs)


def _run_without_data(
    name: str, call: str, modes: str, tensors: Sequence[torch.Tensor], integers: Sequence[int], token: torch.Tensor
) -> None:
    """While a compiler traces nothing is to happen; a call with real meta tensors comes here too."""
    if type(token) is torch.Tensor and token.device.type == "cpu":
        _run(name, call, modes, tensors, integers, token)


class _Shared:
    """What every copy of this file in the process uses: one operator, one token, one table of effects."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.effects: Dict[str, Callable[..., None]] = {}
        self.library: Optional[object] = None
        self.token: Optional[torch.Tensor] = None
        self.numbers: Optional[object] = None
        self.places: Optional[object] = None

    def define(self) -> None:
        # The token is declared as written to. That keeps the calls, and keeps them in order. It lies on the CPU,
        # so that nothing waits for a GPU; the tag makes Inductor split CUDA graphs here instead of losing the call.
        # A factory function would ask the default device and any mode (fake tensors ...) that the import runs under.
        with torch.inference_mode(False):
            self.token = torch.frombuffer(bytearray(4), dtype=torch.float32)
        tags = [getattr(torch.Tag, tag) for tag in ("pt2_compliant_tag", "cudagraph_unsafe") if hasattr(torch.Tag, tag)]
        library: Any = torch.library.Library(_NAMESPACE, "FRAGMENT")
        arguments = "str name, str call, str modes, Tensor[] tensors, SymInt[] integers, Tensor(a!) token"
        library.define(f"emit({arguments}) -> ()", tags=tags)
        library.impl("emit", _run, "CompositeExplicitAutograd")
        _torch.library.register_fake(f"{_NAMESPACE}::emit", _run_without_data, lib=library)
        self.library = library


def _register(function: "Callable[_P, None]") -> str:
    """The name under which the operator finds the function; the same in every process that defines it first."""
    name = base = f"{function.__module__}.{function.__qualname__}"
    number = 1
    while _shared.effects.setdefault(name, function) is not function:  # reloaded, or a notebook cell run again
        number += 1
        name = f"{base}#{number}"
    return name


def _skip_frame(function: Callable[..., object]) -> None:
    """Keep Dynamo from compiling the function by itself where its caller is not compiled; it may still inline it."""
    frames = _torch._C._dynamo.eval_frame
    try:
        if _RELEASE >= (2, 7):
            skip = frames._FrameAction.SKIP
            frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))
        else:
            frames.skip_code(function.__code__)
    except AttributeError:
        pass  # another torch, or a callable without code: the effect may then become a small graph of its own


def _is_transforming() -> bool:
    """Whether a torch.func transform is active. Below 2.13 Dynamo splits the graph where it would have to say yes."""
    functorch = _torch._C._functorch
    if _RELEASE >= (2, 13):
        return functorch.get_dynamic_layer_stack_depth() != 0
    return functorch.maybe_current_level() is not None


def _split_graph(reason: str) -> None:
    if _RELEASE >= (2, 7):
        torch._dynamo.graph_break(msg=reason)
    else:
        torch._dynamo.graph_break()


def _is_exporting() -> bool:
    """Whether Dynamo traces for an export; below 2.12 only a setting tells, which exports give to it."""
    return torch.compiler.is_exporting() if _RELEASE >= (2, 12) else torch._dynamo.config.allow_rnn


def _read(value: torch.Tensor) -> int:
    return int(value.item())


def _read_without_data(value: torch.Tensor) -> Any:
    """A new symbol, as `value.item()` gives one where `capture_scalar_outputs` is set."""
    context: Any = _torch.library.get_ctx()
    return context._shape_env.create_unbacked_symint()


def _find(value: torch.Tensor) -> torch.Tensor:
    return torch.nonzero(value)


def _find_without_data(value: torch.Tensor) -> torch.Tensor:
    """As many places as a new symbol says, at most one for each element: what `nonzero` gives where it is captured."""
    context: Any = _torch.library.get_ctx()
    total = value.numel()
    known = type(total) is int
    found: Any = 0
    if not known or total > 0:
        found = _torch._library.fake_impl.allocate_size(context._shape_env, 0, total if known else None)
    return value.new_empty_strided((found, value.dim()), (1, found), dtype=torch.int64)


def _define(schema: str, function: Callable[..., object], without_data: Callable[..., object]) -> object:
    """An operator that waits for data, which CUDA graphs leave out."""
    tags = [getattr(torch.Tag, tag) for tag in ("pt2_compliant_tag", "cudagraph_unsafe") if hasattr(torch.Tag, tag)]
    library: Any = torch.library.Library(_NAMESPACE, "FRAGMENT")
    library.define(schema, tags=tags)
    name = schema.partition("(")[0]
    library.impl(name, function, "CompositeExplicitAutograd")
    _torch.library.register_fake(f"{_NAMESPACE}::{name}", without_data, lib=library)
    return library


_is_tracing = torch.compiler.is_dynamo_compiling

_shared: _Shared = vars(torch.ops).setdefault(f"_{_NAMESPACE}", _Shared())  # lives as long as the operator
with _shared.lock:
    if _shared.library is None:
        _shared.define()
    if _shared.numbers is None:
        _shared.numbers = _define("number(Tensor value) -> SymInt", _read, _read_without_data)
    if getattr(_shared, "places", None) is None:  # as another copy may have made it, from before this operator
        _shared.places = _define("nonzero(Tensor value) -> Tensor", _find, _find_without_data)
_token = _shared.token
_emit = getattr(torch.ops, _NAMESPACE).emit.default
_number = getattr(torch.ops, _NAMESPACE).number.default
_nonzero = getattr(torch.ops, _NAMESPACE).nonzero.default
for _function in (graph_each, graph_int, graph_list, graph_mask, graph_nonzero):
    _skip_frame(_function)
