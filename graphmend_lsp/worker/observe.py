"""One run of the user's code, and everything that counts as its behaviour (design, section 6)."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import logging
import os
import pickle
import random
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Mapping, Sequence, Tuple, TypeVar

import torch

from .snapshot import Snapshots, Tree, condensed, data_of, holders, map_tensors, placed, tensors_in

_torch: Any = torch
_TORCH_FOLDER = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_DYNAMO_TAIL = "\n\nfrom user code"
_COMPILERS_LOGGERS = frozenset(("torch", "triton", "filelock", "fsspec", "sympy", "asyncio", "concurrent"))
_COMPILER = ("torch._dynamo", "torch._inductor", "torch._functorch")

_F = TypeVar("_F")

Said = Tuple[str, ...]
"""``("out"|"err", text)``, ``("record", logger, level, text, file)`` or ``("warning", class, text, file)``."""


def _no_items() -> list[Any]:
    return []


def _no_fields() -> dict[str, Tree]:
    return {}


@dataclass
class Behaviour:
    """What can be seen of one run: plain data and tensors, which ``torch.save`` can carry to another process.

    Places in trees are numbered over the whole run, arguments and state first.  ``error`` is (class name,
    text) of the exception that ended the run; ``compiler_error`` says that it is one of the compiler's own.
    """

    outputs: list[Tree] = field(default_factory=_no_items)
    arguments: Tree | None = None
    given: Tree | None = None
    """The arguments before the first call."""
    state: dict[str, Tree] = field(default_factory=_no_fields)
    initial: dict[str, Tree] = field(default_factory=_no_fields)
    """The state before the first call, without the tensors' values: which objects it had."""
    said: list[Said] = field(default_factory=_no_items)
    error: tuple[str, str] | None = None
    compiler_error: bool = False
    gradients: list[torch.Tensor | None] = field(default_factory=_no_items)
    random: str = ""


def observe(
    build: Callable[[], Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    calls: int = 2,
    backend: str | None = None,
    gradients: bool = False,
    training: bool | None = None,
    modules: Sequence[Any] = (),
    seed: int = 1,
) -> Behaviour:
    """Build the entry and call it; the arguments are copied first and are the same objects in every call.

    Args:
        build: makes the entry anew: a ``nn.Module``, a bound method or a function.
        args, kwargs: of the call.
        calls: how often it is called, one after the other.
        backend: ``torch.compile``'s; None runs eagerly.  What Dynamo has compiled before is dropped.
        gradients: floating-point arguments and parameters require gradients, and those of the sum of all
            floating-point outputs are taken.
        training: the mode of a module; None leaves it.
        modules: loaded files whose globals, and classes' attributes, are state.
        seed: of torch's and Python's generators, set after building.

    Whatever the code raises becomes part of the result; nothing is raised but ``KeyboardInterrupt`` and the like.
    """
    result = Behaviour()
    snapshots = Snapshots()
    if backend is not None:
        _torch._dynamo.reset()
    given: Any = copy.deepcopy((tuple(args), dict(kwargs or {})))
    leaves: list[torch.Tensor] = []
    if gradients:
        given = _requiring_gradients(given, leaves)
    result.given = snapshots.take(given)
    entry: Any = None
    at_first: dict[str, Tree] = {}
    with listening(result.said):
        try:
            entry = build()
            owner = entry if isinstance(entry, torch.nn.Module) else getattr(entry, "__self__", None)
            if training is not None and isinstance(owner, torch.nn.Module):
                owner.train(training)
            at_first = _state(snapshots, entry, modules)  # also so that what is bound anew gets another number
            function: Any = entry if backend is None else _torch.compile(entry, backend=backend)
            set_seed(seed)
            outputs: list[Any] = []
            for _ in range(calls):
                outputs.append(used_up(function(*given[0], **given[1])))
                result.outputs.append(snapshots.take(outputs[-1]))
            if gradients:
                _take_gradients(outputs, leaves, owner, result)
        except (Exception, SystemExit) as error:
            result.error = (f"{type(error).__module__}.{type(error).__qualname__}", _text(error))
            result.compiler_error = type(error).__module__.startswith(_COMPILER)
    result.random = _random_state()
    result.arguments = snapshots.take(given)
    result.initial = {name: placed(tree) for name, tree in at_first.items()}
    at_last = _state(snapshots, entry, modules)
    result.state = {name: condensed(at_first.get(name), tree) for name, tree in at_last.items()}
    result.state["torch's default dtype"] = ("value", str(torch.get_default_dtype()))
    return result


def used_up(value: Any) -> Any:
    """A generator's items: the body of one runs only as it is used."""
    return list(value) if hasattr(value, "__next__") else value


def _requiring_gradients(value: Any, leaves: list[torch.Tensor]) -> Any:
    """The same arguments as results of leaves: code may write into an argument, but not into a leaf."""
    memo: dict[int, torch.Tensor] = {}

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()) or type(tensor) is not torch.Tensor:
            return tensor
        if id(tensor) not in memo:
            leaf = tensor.detach().clone().requires_grad_(True)
            leaves.append(leaf)
            memo[id(tensor)] = leaf.view_as(leaf).clone(memory_format=torch.preserve_format)
        return memo[id(tensor)]

    return map_tensors(value, change)


def _take_gradients(outputs: list[Any], leaves: list[torch.Tensor], owner: Any, result: Behaviour) -> None:
    made = [t for t in tensors_in(outputs) if t.requires_grad and (t.is_floating_point() or t.is_complex())]
    total: Any = None
    for tensor in made:
        term: Any = (tensor.abs() if tensor.is_complex() else tensor).double().sum()
        total = term if total is None else total + term
    if total is not None:
        total.backward()
    parameters = list(owner.parameters()) if isinstance(owner, torch.nn.Module) else []
    result.gradients = [None if t.grad is None else t.grad.detach().clone().cpu() for t in [*leaves, *parameters]]


def set_seed(seed: int) -> None:
    """Start torch's, Python's and NumPy's generators anew."""
    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
    random.seed(seed)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def _random_state() -> str:
    """A digest of the generators: equal if the same numbers were drawn."""
    parts: list[bytes] = [bytes(_torch.get_rng_state().tolist()), repr(random.getstate()).encode()]
    if torch.cuda.is_available():
        parts += [bytes(state.tolist()) for state in _torch.cuda.get_rng_state_all()]
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        parts.append(pickle.dumps(numpy.random.get_state()))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _text(error: BaseException) -> str:
    """What an exception says, without what Dynamo adds."""
    try:
        return str(error).partition(_DYNAMO_TAIL)[0]
    except Exception as broken:
        return f"<no text: {type(broken).__name__}>"


def _state(snapshots: Snapshots, entry: Any, modules: Sequence[Any]) -> dict[str, Tree]:
    """The module or the method's object, then globals of the files and attributes of their classes."""
    found: dict[str, Tree] = {}
    owner: Any = getattr(entry, "__self__", entry)
    if owner is not None and not isinstance(owner, type) and hasattr(owner, "__dict__") and not _is_code(owner):
        tree = snapshots.take(owner)
        found.update({f"self.{name}": part for name, part in tree[3]} if tree[0] == "fields" else {"self": tree})
    for module in modules:
        for prefix, holder in holders(module):
            found.update({f"{prefix}.{name}": snapshots.take(item) for name, item in data_of(holder).items()})
    return found


def _is_code(value: Any) -> bool:
    return hasattr(value, "__code__") or hasattr(value, "__name__")


# -- what is said ------------------------------------------------------------------------------------


def _untraced(function: _F) -> _F:
    """Keep Dynamo out: it would apply changes of a list at the end of a graph, behind the effects in it."""
    return _torch.compiler.disable(function)


class _Bytes(io.BufferedIOBase):
    """What is written joins everything else that is said, in order."""

    def __init__(self, said: list[Said], label: str) -> None:
        super().__init__()
        self._said = said
        self._label = label

    def writable(self) -> bool:
        return True

    @_untraced
    def write(self, data: Any, /) -> int:
        text = bytes(data).decode("utf-8", "surrogatepass")
        if self._said and self._said[-1][0] == self._label:
            self._said[-1] = (self._label, self._said[-1][1] + text)
        elif text:
            self._said.append((self._label, text))
        return len(data)


def _stream(said: list[Said], label: str) -> io.TextIOWrapper:
    """A stream of the type that ``sys.stdout`` has: one in Python would be traced."""
    target: Any = _Bytes(said, label)
    return io.TextIOWrapper(target, "utf-8", "surrogatepass", newline="", write_through=True)


class _Records(logging.Handler):
    def __init__(self, said: list[Said]) -> None:
        super().__init__(logging.NOTSET)
        self._said = said

    @_untraced
    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] not in _COMPILERS_LOGGERS:
            where = os.path.basename(record.pathname)
            self._said.append(("record", record.name, record.levelname, record.getMessage(), where))


@contextlib.contextmanager
def listening(said: list[Said]) -> Generator[None]:
    """Collect printed text, log records and warnings in the order in which they are made; torch's own are left out."""
    handler = _Records(said)
    root = logging.getLogger()
    known = [item for item in logging.root.manager.loggerDict.values() if isinstance(item, logging.Logger)]
    closed = [
        logger for logger in known if not logger.propagate and logger.name.partition(".")[0] not in _COMPILERS_LOGGERS
    ]
    level, disabled = root.level, root.manager.disable
    for logger in (root, *closed):
        logger.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.disable(logging.NOTSET)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            stack.enter_context(contextlib.redirect_stdout(_stream(said, "out")))
            stack.enter_context(contextlib.redirect_stderr(_stream(said, "err")))
            warnings.simplefilter("always")
            warnings.showwarning = _warning_collector(said)
            yield
    finally:
        for logger in (root, *closed):
            logger.removeHandler(handler)
        root.setLevel(level)
        logging.disable(disabled)


def _warning_collector(said: list[Said]) -> Any:
    @_untraced
    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        del lineno, file, line
        if "Triggered internally at" not in str(message) and not _said_by_torch():
            said.append(("warning", category.__qualname__, str(message), os.path.basename(filename)))

    return show


def _said_by_torch() -> bool:
    """Whether the function that calls ``warnings.warn`` is torch's; the reported place may be, by ``stacklevel``."""
    frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    for inside in (False, True):  # out of this module and Dynamo's wrapper, then out of warnings
        while frame is not None and (frame.f_globals.get("__name__") == "warnings") is inside:
            frame = frame.f_back
    return frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_TORCH_FOLDER)
