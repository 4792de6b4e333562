"""Run a fixture as its user would: where does TorchDynamo break, and what does a function do?

A fixture names its entries in ``CASES``: ``[(entry name, [function that makes the arguments, ...]), ...]``.  A third
item may be a dict of options: ``repeat`` (calls on one instance, default 1) and ``train`` (default False).
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib.util
import io
import logging
import os
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._dynamo  # the loggers of graph breaks exist from here on
import torch._logging

_IN_FILE = re.compile(r'File "([^"]+)", line (\d+)')
_USER_CODE = re.compile(r"in user code at (.+?):(\d+)\n")
_DYNAMO_TAIL = "\n\nfrom user code"


@dataclasses.dataclass(frozen=True)
class Case:
    """One entry of a fixture with its arguments."""

    entry: str
    makers: tuple[Callable[[], tuple[Any, ...]], ...]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


logging.getLogger("torch.__trace").disabled = True  # structured traces that nobody reads, some 20 records a compilation


def load(path: Path, name: str) -> ModuleType:
    """A new module from a file, so that its globals and caches start over.

    Modules of one folder's files get a name of their own; ``Path.stem`` may hold a dot (``x.fixed.py``).
    """
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def module_name(path: Path) -> str:
    """The name under which a fixture is loaded; the same for it and its mended form, since names are printed."""
    return "fixture_" + re.sub(r"\W", "_", f"{path.parent.name}_{path.name.partition('.')[0]}")


def cases(module: ModuleType) -> list[Case]:
    return [Case(row[0], tuple(row[1]), row[2] if len(row) > 2 else {}) for row in module.CASES]


def build(module: ModuleType, case: Case) -> Callable[..., Any]:
    """The entry, not compiled: a module class is built without arguments, ``@torch.compile`` is taken off."""
    torch.manual_seed(0)
    target: Any = module
    for part in case.entry.split("."):
        target = getattr(target, part)
    if isinstance(target, type):
        target = target()
        if isinstance(target, torch.nn.Module):
            target.train(bool(case.options.get("train", False)))
    return getattr(target, "_torchdynamo_orig_callable", target)


# -- graph breaks ------------------------------------------------------------------------------------


class _Breaks(logging.Handler):
    """Line in the file and reason of every break that is logged; the deepest line of the file counts."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.DEBUG)
        self.path = os.path.realpath(path)
        self.seen: list[tuple[int | None, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "raph break" not in text:
            return
        lines = [int(number) for file, number in _IN_FILE.findall(text) if os.path.realpath(file) == self.path]
        at = _USER_CODE.search(text)
        if not lines and at is not None and os.path.realpath(at.group(1)) == self.path:
            lines = [int(at.group(2))]
        reason = " ".join(text.partition("Graph Break Reason:")[2].split())[:160] or text[:160]
        self.seen.append((lines[-1] if lines else None, reason))


@contextlib.contextmanager
def recorded_breaks(path: Path) -> Iterator[list[tuple[int | None, str]]]:
    handler = _Breaks(path)
    torch._logging.set_logs(graph_breaks=True)
    names = [name for name in logging.root.manager.loggerDict if name.endswith("__graph_breaks")]
    kept = [(logger, logger.handlers[:], logger.propagate) for logger in map(logging.getLogger, names)]
    for logger, _, _ in kept:
        logger.handlers[:] = [handler]
        logger.propagate = False
    try:
        yield handler.seen
    finally:
        for logger, handlers, propagate in kept:
            logger.handlers[:] = handlers
            logger.propagate = propagate
        torch._logging.set_logs()


def breaks(path: Path) -> dict[str, list[tuple[int, str]]]:
    """For each entry of a fixture every break in default mode over all its arguments, as (line, reason).

    Breaks outside the file do not count: behind a break, Dynamo goes on in what the broken call calls (pprint ...).
    """
    return _breaks(path, path.read_bytes())


@functools.cache
def _breaks(path: Path, content: bytes) -> dict[str, list[tuple[int, str]]]:
    del content  # a key of the cache
    found: dict[str, list[tuple[int, str]]] = {}
    with recorded_breaks(path) as seen, _quick_guards():
        for case in cases(load(path, module_name(path))):
            seen.clear()
            for maker in case.makers:
                torch._dynamo.reset()
                entry = torch.compile(build(load(path, module_name(path)), case), backend="eager")
                with quiet(), contextlib.suppress(Exception):
                    args = maker()
                    for _ in range(case.options.get("repeat", 1)):
                        used_up(entry(*args))
            found[case.entry] = [(line, reason) for line, reason in dict.fromkeys(seen) if line is not None]
    torch._dynamo.reset()
    return found


@contextlib.contextmanager
def _quick_guards() -> Iterator[None]:
    """Without the measurement of each guard's latency, for which Dynamo flushes the CPU's caches."""
    guards: Any = torch._dynamo.guards
    kept = getattr(guards, "profile_guard_manager", None)
    if kept is not None:
        guards.profile_guard_manager = lambda *_: 0.0
    try:
        yield
    finally:
        if kept is not None:
            guards.profile_guard_manager = kept


def used_up(value: Any) -> Any:
    return list(value) if hasattr(value, "__next__") else value


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        level = logging.root.manager.disable
        logging.disable(logging.NOTSET)
        try:
            yield
        finally:
            logging.disable(level)


# -- behaviour ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Behaviour:
    """What can be seen of one run."""

    outputs: list[Any] = dataclasses.field(default_factory=list)
    arguments: Any = ()
    error: Exception | None = None
    said: list[str] = dataclasses.field(default_factory=list)
    same_object: list[list[int]] = dataclasses.field(default_factory=list)
    same_memory: list[list[int]] = dataclasses.field(default_factory=list)
    gradients: list[torch.Tensor] = dataclasses.field(default_factory=list)
    state: dict[str, Any] = dataclasses.field(default_factory=dict)
    random: tuple[float, float] = (0.0, 0.0)


class _Records(logging.Handler):
    def __init__(self, out: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.out = out

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith("torch"):
            self.out.append(f"{record.name}:{record.levelname}:{record.getMessage()}")


class _Lines(io.StringIO):
    """Text written to a stream, in order with everything else that is said."""

    def __init__(self, out: list[str], label: str) -> None:
        super().__init__()
        self.out = out
        self.label = label

    def write(self, text: str) -> int:
        if self.out and self.out[-1].startswith(self.label):
            self.out[-1] += text
        else:
            self.out.append(self.label + text)
        return len(text)


def tensors(value: Any) -> list[torch.Tensor]:
    return [v for v in flat(value) if isinstance(v, torch.Tensor)]


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [leaf for f in dataclasses.fields(value) for leaf in flat(getattr(value, f.name))]
    return [value]


def same(a: Any, b: Any) -> bool:
    left, right = flat(a), flat(b)
    return len(left) == len(right) and all(map(_same_leaf, left, right))


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape or a.device != b.device:
            return False
        return torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True) if a.numel() else True
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-5 * max(1.0, abs(a))
    if type(a) is not type(b):
        return False
    return bool(a == b) if isinstance(a, (bool, int, str, bytes, type(None))) else True


def _place(tensor: torch.Tensor) -> int | None:
    return tensor.untyped_storage().data_ptr() if tensor.numel() else None


def _state(entry: Any, module: ModuleType) -> dict[str, Any]:
    """Plain attributes, buffers and parameters of a module, and plain globals of its file."""
    found: dict[str, Any] = {}
    own = set(vars(torch.nn.Module()))
    for prefix, part in entry.named_modules() if isinstance(entry, torch.nn.Module) else []:
        for name, value in [*vars(part).items(), *part._buffers.items(), *part._parameters.items()]:
            if name not in own and _is_plain(value):
                found[f"{prefix}.{name}"] = copy.deepcopy(value)
    for name, value in vars(module).items():
        if not name.startswith("__") and name != "CASES" and _is_plain(value):
            found[f"global {name}"] = copy.deepcopy(value)
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple, set)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, torch.Tensor):
        return value.is_leaf
    return value is None or isinstance(value, (bool, int, float, str, bytes))


def behave(
    path: Path, case: Case, args: tuple[Any, ...], *, compiled: bool = False, gradients: bool = False
) -> Behaviour:
    """One run in a freshly loaded module on copies of the arguments."""
    if compiled:
        torch._dynamo.reset()
    module = load(path, module_name(path))
    entry = build(module, case)
    function = torch.compile(entry, backend="eager") if compiled else entry
    result = Behaviour()
    args = copy.deepcopy(args)
    leaves = [t for t in tensors(args) if t.is_floating_point()]
    if gradients:
        for leaf in leaves:
            leaf.requires_grad_(True)
    with _listening(path, result.said):
        torch.manual_seed(1)
        random.seed(1)
        try:
            for _ in range(case.options.get("repeat", 1)):
                result.outputs.append(used_up(function(*args)))
        except Exception as error:
            result.error = error
        result.random = (torch.rand(1).item(), random.random())
    given, made = tensors(args), tensors(result.outputs)
    result.same_object = [[n for n, t in enumerate(given) if t is out] for out in made]
    result.same_memory = [[n for n, t in enumerate(given) if _place(t) and _place(t) == _place(out)] for out in made]
    if gradients and result.error is None:
        total = sum(out.float().sum() for out in made if out.requires_grad)
        if isinstance(total, torch.Tensor):
            total.backward()
        if isinstance(entry, torch.nn.Module):
            leaves = [*leaves, *entry.parameters()]
        # torch.where gives zeros where an untaken branch gave nothing
        result.gradients = [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves]
    result.arguments = args
    result.state = _state(entry, module)
    if compiled:
        torch._dynamo.reset()
    return result


@contextlib.contextmanager
def _listening(path: Path, said: list[str]) -> Iterator[None]:
    """Collect printed text, log records and warnings in the order in which they are made."""
    root = logging.getLogger()
    handler, level = _Records(said), root.level
    disabled = root.manager.disable
    logging.disable(logging.NOTSET)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)

    def show(message: Any, category: type, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        if ("site-packages" in filename and "torch" in filename) or "Triggered internally at" in str(message):
            return  # torch's own
        own = os.path.realpath(filename) == os.path.realpath(path)
        said.append(f"warning:{category.__name__}:{message} [{'own file' if own else os.path.basename(filename)}]")

    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(_Lines(said, "out:")),
            contextlib.redirect_stderr(_Lines(said, "err:")),
        ):
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        logging.disable(disabled)


def differences(before: Behaviour, after: Behaviour, *, objects: bool = True) -> list[str]:
    """What of ``before`` is not so in ``after``; ``objects`` compares which tensors are the same."""
    if (before.error is None) != (after.error is None):
        return [f"raises {after.error!r}" if after.error else f"no longer raises {before.error!r}"]
    found: list[str] = []
    if before.said != after.said:
        found.append(f"said {before.said} -> {after.said}")
    if before.error is not None and after.error is not None:
        kinds = type(before.error).__name__, type(after.error).__name__
        texts = [str(e).partition(_DYNAMO_TAIL)[0] for e in (before.error, after.error)]
        if kinds[0] != kinds[1] or texts[0] != texts[1]:
            found.append(f"exception {before.error!r} -> {after.error!r}")
    elif not same(before.outputs, after.outputs):
        found.append(f"outputs {before.outputs} -> {after.outputs}")
    elif objects and before.same_object != after.same_object:
        found.append(f"which outputs are arguments: {before.same_object} -> {after.same_object}")
    elif objects and before.same_memory != after.same_memory:
        found.append(f"which outputs share memory with arguments: {before.same_memory} -> {after.same_memory}")
    if not same(before.arguments, after.arguments):
        found.append(f"arguments {before.arguments} -> {after.arguments}")
    if not same(before.gradients, after.gradients):
        found.append(f"gradients {before.gradients} -> {after.gradients}")
    wrong = [k for k, v in before.state.items() if k in after.state and not same(v, after.state[k])]
    if wrong:
        found.append(f"state {wrong}")
    if before.random != after.random:
        found.append("the random stream")
    return found


def perturbed(args: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The same arguments zeroed, negated and scaled; integers are only zeroed."""

    def each(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        if isinstance(value, torch.Tensor):
            return change(value)
        if isinstance(value, dict):
            return {k: each(v, change) for k, v in value.items()}
        if type(value) in (list, tuple):
            return type(value)(each(v, change) for v in value)
        return value

    def number(tensor: torch.Tensor) -> bool:
        return tensor.is_floating_point() or tensor.is_complex()

    yield "zeros", each(args, torch.zeros_like)
    yield "negated", each(args, lambda t: -t if number(t) else ~t if t.dtype == torch.bool else t)
    yield "scaled up", each(args, lambda t: t * 50 if number(t) else t)


def compare(before: Path, after: Path, case: Case) -> list[str]:
    """How a mended fixture differs in behaviour from the original, eager and compiled.

    Compiled, it may do what the original does in eager mode or what the original does compiled (an assertion of the
    graph has another type, ``stacklevel`` counts Dynamo's frames).
    """
    found: list[str] = []
    with _quick_guards():
        for number, maker in enumerate(case.makers):
            args = maker()
            for gradients in (False, True):
                known = behave(before, case, args, gradients=gradients)
                mended = behave(after, case, args, gradients=gradients)
                found += [f"input {number}, eager: {d}" for d in differences(known, mended)]
                if gradients and number:
                    continue
                compiled = behave(after, case, args, compiled=True, gradients=gradients)
                changed = differences(known, compiled, objects=False)
                if changed:
                    known = behave(before, case, args, compiled=True, gradients=gradients)
                    if not differences(known, compiled, objects=False):
                        continue
                found += [f"input {number}, compiled: {d}" for d in changed]
            for what, other in perturbed(args):
                for gradients in (False, True):
                    known = behave(before, case, other, gradients=gradients)
                    mended = behave(after, case, other, gradients=gradients)
                    found += [f"input {number} {what}, eager: {d}" for d in differences(known, mended)]
    return list(dict.fromkeys(found))
