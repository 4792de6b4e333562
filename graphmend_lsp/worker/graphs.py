"""What Dynamo makes of an entry: its graphs with their source lines, breaks, recompilations, guards."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any, Callable, NamedTuple, Sequence

import torch

from .breaks import Break, Recompiled, collected
from .entries import Call
from .observe import used_up

_torch: Any = torch
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_MOST_METRICS = 100_000
_COMPILERS = ("torch", "torchgen", "functorch", "triton", "numpy")
"""Installed packages whose lines nobody wants to see as the place of a break."""


class Graph(NamedTuple):
    """One compiled graph: how many operations, and the lines that they come from."""

    operations: int
    lines: dict[str, list[int]]


class Compiled(NamedTuple):
    """What compiling and calling came to; ``graphs`` and ``events`` are the first call's, the rest is of all calls.

    ``error`` is what a call raised: then the rest is of the calls until there.
    """

    graphs: list[Graph]
    events: list[Break]
    all_events: list[Break]
    recompiles: list[Recompiled]
    skipped: int | None
    guards: int | None
    error: BaseException | None


def is_foreign(path: str) -> bool:
    """Whether a file belongs to the interpreter, to torch or numpy, or is the runtime of mended code."""
    full = os.path.abspath(path)
    if path.startswith("<") or os.path.basename(path) == "_graphmend.py":
        return True
    for place in ("site-packages", "dist-packages"):
        _, mark, rest = full.partition(os.sep + place + os.sep)
        if mark:
            return rest.split(os.sep)[0].partition(".")[0] in _COMPILERS
    return full.startswith(_STDLIB)


def compiled(function: Any, calls: Sequence[Callable[[], Call]]) -> Compiled:
    """Compile with a backend that only takes note of the graphs, and make the calls, the first one once more.

    Args:
        function: what is compiled.
        calls: each makes the arguments of one call anew.
    """
    metrics = _metrics()
    counters: Any = importlib.import_module("torch._dynamo.utils").counters
    _torch._dynamo.reset()
    counters.clear()
    known = len(list(metrics()))
    modules: list[Any] = []

    def noting(module: Any, example_inputs: Any) -> Any:
        del example_inputs
        modules.append(module)
        return module.forward

    error: BaseException | None = None
    first: tuple[int, int] | None = None
    with collected(is_foreign) as heard:
        try:
            run: Any = _torch.compile(function, backend=noting)
            for make in [*calls, calls[0]]:
                call = make()
                used_up(run(*call.args, **call.kwargs))
                first = first or (len(modules), len(heard.breaks))
        except (Exception, SystemExit) as problem:
            error = problem
    graphs, events = first or (len(modules), len(heard.breaks))
    frames: Any = counters["frames"]
    result = Compiled(
        [_graph(module) for module in modules[:graphs]],
        heard.breaks[:events],
        list(heard.breaks),
        list(heard.recompiles),
        max(0, frames["total"] - frames["ok"]) if "total" in frames else None,
        _guards(list(metrics())[known:]),
        error,
    )
    _torch._dynamo.reset()
    return result


def _graph(module: Any) -> Graph:
    lines: dict[str, set[int]] = {}
    operations = 0
    for node in module.graph.nodes:
        if not str(node.op).startswith("call"):
            continue
        operations += 1
        trace = getattr(node, "stack_trace", None) or ""
        for path, line in _FRAME.findall(trace):
            if not is_foreign(path):
                lines.setdefault(os.path.abspath(path), set()).add(int(line))
    return Graph(operations, {path: sorted(numbers) for path, numbers in lines.items()})


def _metrics() -> Callable[[], list[Any]]:
    """Dynamo's list of what it compiled, which is private and may be gone."""
    utils: Any = importlib.import_module("torch._dynamo.utils")
    keep: Any = getattr(utils, "set_compilation_metrics_limit", None)
    if keep is not None:
        keep(_MOST_METRICS)  # else it has the last 64, and the guards of all before are lost
    found: Callable[[], list[Any]] = getattr(utils, "get_compilation_metrics", _none_known)
    return found


def _none_known() -> list[Any]:
    return []


def _guards(metrics: list[Any]) -> int | None:
    counts = [getattr(each, "guard_count", None) for each in metrics]
    whole = [count for count in counts if isinstance(count, int)]
    return sum(whole) if whole else None
