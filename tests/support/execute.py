"""Run a fixture as its user would: where does TorchDynamo break, and what does a function do?

A fixture names its entries in ``CASES``: ``[(entry name, [function that makes the arguments, ...]), ...]``.  A third
item may be a dict of options: ``repeat`` (calls on one instance, default 1) and ``train`` (default False).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import io
import logging
import os
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

from graphmend_lsp.worker import vary
from graphmend_lsp.worker.compare import differences
from graphmend_lsp.worker.entries import Call
from graphmend_lsp.worker.observe import Behaviour, observe

_IN_FILE = re.compile(r'File "([^"]+)", line (\d+)')
_USER_CODE = re.compile(r"in user code at (.+?):(\d+)\n")


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


@dataclasses.dataclass
class Compiled:
    """How often an entry was compiled after each call on one instance, and the guards that failed."""

    after: list[int]
    reasons: list[str]


class _Recompiles(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


@functools.cache
def compilations(path: Path) -> dict[str, Compiled]:
    """For each entry of a fixture the graphs compiled so far after each call with its first arguments."""
    found: dict[str, Compiled] = {}
    handler = _Recompiles()
    torch._logging.set_logs(recompiles=True)
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.endswith("__recompiles")]
    kept = [(logger, logger.handlers[:], logger.propagate) for logger in loggers]
    for logger, _, _ in kept:
        logger.handlers[:] = [handler]
        logger.propagate = False
    try:
        with _quick_guards():
            for case in cases(load(path, module_name(path))):
                found[case.entry] = _compilations(path, case, handler)
    finally:
        for logger, handlers, propagate in kept:
            logger.handlers[:] = handlers
            logger.propagate = propagate
        torch._logging.set_logs()
        torch._dynamo.reset()
    return found


def _compilations(path: Path, case: Case, handler: _Recompiles) -> Compiled:
    graphs = 0

    def backend(module: torch.fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
        nonlocal graphs
        graphs += 1
        return module.forward

    handler.seen.clear()
    torch._dynamo.reset()
    entry = torch.compile(build(load(path, module_name(path)), case), backend=backend)
    after: list[int] = []
    args = case.makers[0]()
    with quiet():
        for _ in range(case.options.get("repeat", 1)):
            entry(*args)
            after.append(graphs)
    return Compiled(after, list(handler.seen))


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


def behave(
    path: Path, case: Case, args: tuple[Any, ...], *, backend: str | None = None, gradients: bool = False
) -> Behaviour:
    """One run in a freshly loaded module on copies of the arguments."""
    loaded: list[ModuleType] = []

    def entry() -> Any:
        loaded.append(load(path, module_name(path)))
        return build(loaded[0], case)

    repeat = case.options.get("repeat", 1)
    run = observe(entry, args, calls=repeat, backend=backend, gradients=gradients, modules=loaded)
    said = [
        (*row[:-1], "own file") if row[0] in ("record", "warning") and row[-1] == path.name else row for row in run.said
    ]
    return dataclasses.replace(run, said=said)  # the mended file has another name


def compare(before: Path, after: Path, case: Case) -> list[str]:
    """How a mended fixture differs in behaviour from the original, eager and compiled.

    Compiled, it may do what the original does in eager mode or what the original does compiled (an assertion of the
    graph has another type, ``stacklevel`` counts Dynamo's frames).
    """
    found: list[str] = []
    with _quick_guards():
        for number, maker in enumerate(case.makers):
            args = maker()
            variations = [one for one in vary.variations(Call(args, {})) if one.label in _VARIED]
            for gradients in (False, True):
                known = behave(before, case, args, gradients=gradients)
                mended = behave(after, case, args, gradients=gradients)
                found += [f"input {number}, eager: {d.message}" for d in differences(known, mended)]
                for one in variations:
                    known_there = behave(before, case, one.call.args, gradients=gradients)
                    mended = behave(after, case, one.call.args, gradients=gradients)
                    changed = differences(known_there, mended)
                    found += [f"input {number} {one.label}, eager: {d.message}" for d in changed]
                if gradients and number:
                    continue
                compiled = behave(after, case, args, backend="eager", gradients=gradients)
                changed = differences(known, compiled, exact=False)
                if changed:
                    known = behave(before, case, args, backend="eager", gradients=gradients)
                    if not differences(known, compiled, exact=False):
                        continue
                found += [f"input {number}, compiled: {d.message}" for d in changed]
    torch._dynamo.reset()
    return list(dict.fromkeys(found))


_VARIED = ("zeros", "negated", "scaled by 50", "with a NaN")
