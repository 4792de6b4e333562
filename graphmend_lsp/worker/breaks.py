"""Graphs and graph breaks, as Dynamo itself reports them."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import logging
import os
import re
import warnings
from typing import Any, Callable, Generator, NamedTuple, Sequence

import torch

from .entries import Call
from .load import is_library
from .observe import used_up

_torch: Any = torch
_AT = re.compile(r"user code at (.+?):(\d+)")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_GB = re.compile(r"gb(\d{4})\.html")
_TITLE = re.compile(r"(?m)^(.*)\n\s+Explanation:")
_RECOMPILED = re.compile(r"Recompiling function (\S+) in (.+):(\d+)")
_ARTIFACTS = ("__graph_breaks", "__recompiles")
_REASON = re.compile(r"Reason: *([^\n]*)")


class Break(NamedTuple):
    """One break event; ``line`` is 0 where Dynamo names no place, ``gb`` "" where it has no number."""

    path: str
    line: int
    reason: str
    gb: str


class Recompiled(NamedTuple):
    """A function that was compiled again, and the guard that failed."""

    function: str
    path: str
    line: int
    reason: str


class Heard(NamedTuple):
    """What Dynamo logged."""

    breaks: list[Break]
    recompiles: list[Recompiled]


class Counts(NamedTuple):
    """What compiling cost: ``graphs`` is 0 where every frame was skipped; ``ran`` is False if a call raised."""

    graphs: int
    events: list[Break]
    ran: bool


class _Collector(logging.Handler):
    """The ``graph_breaks`` log artifact has every event; ``torch._dynamo.explain`` and ``counters`` do not.

    The texts are Dynamo's own and change with each release, so nothing in them is relied on.
    """

    def __init__(self, is_foreign: Callable[[str], bool]) -> None:
        super().__init__(logging.DEBUG)
        self.heard = Heard([], [])
        self._is_foreign = is_foreign

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "raph break" in text:
            cause = record.exc_info[1] if record.exc_info else None
            self.heard.breaks.append(self._broken(text, "" if cause is None else str(cause)))
        elif "ecompil" in text.partition("\n")[0]:
            self.heard.recompiles.append(_recompiled(text))

    def _broken(self, text: str, cause: str) -> Break:
        at, frames = _AT.search(text), _FRAME.findall(text)
        path, line = (at[1], at[2]) if at else frames[-1] if frames else ("", "0")
        users = [(p, n) for p, n in frames if not self._is_foreign(p)]
        if users and self._is_foreign(path):  # e.g. inside logging: the user's line that leads there
            path, line = users[-1]
        gb, title, reason = _GB.search(text), _TITLE.search(text), _REASON.search(text)
        if title:
            words = title[1].rpartition("Reason:")[2].strip()
        elif reason:
            words = reason[1].strip()
        else:  # releases before 2.7 have the reason in the exception
            words = (cause or text).strip().partition("\n")[0]
        where = os.path.abspath(path) if path else ""
        return Break(where, int(line), words[:200], f"GB{gb[1]}" if gb else "")


def _recompiled(text: str) -> Recompiled:
    at = _RECOMPILED.search(text)
    guards = [line.strip(" -\t") for line in text.splitlines()[1:] if line.strip().startswith("-")]
    reason = "; ".join(guards) or text.strip().partition("\n")[0]
    return Recompiled(at[1] if at else "", os.path.abspath(at[2]) if at else "", int(at[3]) if at else 0, reason[:300])


@contextlib.contextmanager
def collected(is_foreign: Callable[[str], bool] = is_library) -> Generator[Heard]:
    """What Dynamo logs while inside; a break in a foreign file is put down to the line that leads there."""
    collector = _Collector(is_foreign)
    importlib.import_module("torch._dynamo.guards")  # without them the loggers do not exist
    _torch._logging.set_logs(graph_breaks=True, recompiles=True)
    names = [name for name in logging.root.manager.loggerDict if name.endswith(_ARTIFACTS)]
    kept = [(logger, logger.handlers[:], logger.propagate, logger.level) for logger in map(logging.getLogger, names)]
    for logger, _, _, _ in kept:
        logger.handlers[:] = [collector]
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
    try:
        yield collector.heard
    finally:
        for logger, handlers, propagate, level in kept:
            logger.handlers[:] = handlers
            logger.propagate = propagate
            logger.setLevel(level)
        _torch._logging.set_logs()


def count(build: Callable[[], Any], calls: Sequence[Call], training: bool | None = None) -> Counts:
    """Compile the entry with a backend that only counts, and make the calls.

    In eval mode (``training`` False) no gradients are recorded, as in inference: whether a value requires one is
    guarded, so a graph more may be compiled for the same code.
    """
    graphs: list[Any] = []

    def counting(graph: Any, example_inputs: Any) -> Any:
        del example_inputs
        graphs.append(graph)
        return graph.forward

    ran = True
    _torch._dynamo.reset()
    with collected() as heard, silent(), torch.set_grad_enabled(training is not False):
        try:
            entry = build()
            if training is not None and isinstance(entry, torch.nn.Module):
                entry.train(training)
            function: Any = _torch.compile(entry, backend=counting)
            for call in copy.deepcopy(list(calls)):
                used_up(function(*call.args, **call.kwargs))
        except (Exception, SystemExit):
            ran = False
    _torch._dynamo.reset()
    return Counts(len(graphs), list(heard.breaks), ran)


@contextlib.contextmanager
def silent() -> Generator[None]:
    """Without what the code prints or warns of."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        warnings.simplefilter("ignore")
        yield
