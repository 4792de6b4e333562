"""Inputs for an entry for which the user gave none: made up, tried, and the first that runs is taken."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import logging
import time
from types import ModuleType
from typing import Any, Callable, Generator, Iterator, Mapping, NamedTuple, Sequence

import torch
from torch import nn

from . import arguments, entries, vary
from .breaks import silent
from .channel import Failure
from .constructor import Construction, Unknown, constructions
from .entries import Call, Inputs
from .load import described
from .observe import used_up
from .shapes import Spec, Try, map_specs, shown
from .steer import next_tries
from .vary import entry_moved

TRIES = 24
SECONDS = 20.0
_FIRST = 14
"""So many tries for the likeliest way to make the entry; the others get what is left."""
_ADVICE = f"write a function {entries.EXAMPLE}() that returns a tuple of arguments"


class Synthesized(NamedTuple):
    """``build`` makes the entry anew, ``calls`` is one call that it ran with, ``how`` tells the user about both."""

    build: Callable[[], Any]
    calls: Inputs
    how: str


class _Problem(NamedTuple):
    """What was tried, what it raised, and the parameters that got something although nothing was known of them."""

    what: str
    error: BaseException
    guessed: tuple[str, ...] = ()


class _Budget:
    """How much may still be tried."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.tries = 0

    def allows(self, tries: int = TRIES) -> bool:
        return self.tries < tries and time.monotonic() < self._end


def synthesize(
    module: ModuleType,
    name: str,
    make_arguments: Callable[[], Any] | None = None,
    device: str = "",
    seconds: float = SECONDS,
) -> Synthesized:
    """Make up an entry and a call of it.

    What is tried runs the user's code, in eval mode and without gradients: its globals may be other ones afterwards.

    Args:
        module: the loaded file.
        name: of the entry, as in ``entries.lookup``.
        make_arguments: the user's function for the constructor's arguments, if there is one.
        device: where the entry and the tensors are to be; what is made up is tried on the CPU first, where an index
            that is out of range cannot spoil what comes after.
        seconds: to search at most; a call that runs is not interrupted.

    Raises:
        Failure: kind "inputs", nothing worked; kind "entry", as ``entries.builder``.
    """
    budget = _Budget(seconds)
    problems: list[_Problem] = []
    for places in _places(device):
        for made in _built(module, name, make_arguments, places[0], problems, budget):
            found = _search(made, places, problems, budget)
            if found is not None:
                return found
        if not any("cuda" in str(one.error).lower() for one in problems):
            break
    raise _failure(name, problems)


def _places(device: str) -> list[tuple[str, ...]]:
    """On which devices, one after the other, a call has to run; only on the device for code that needs it."""
    return [("", device), (device,)] if device not in ("", "cpu") else [("",)]


class _Made(NamedTuple):
    """One way to make the entry, and what it made."""

    name: str
    build: Callable[[], Any]
    entry: Any
    text: str
    guessed: tuple[str, ...]
    last_try: int


def _built(
    module: ModuleType,
    name: str,
    make_arguments: Callable[[], Any] | None,
    device: str,
    problems: list[_Problem],
    budget: _Budget,
) -> Iterator[_Made]:
    """The entry made in all ways that do not raise."""
    ways = list(_ways(module, name, make_arguments, problems))
    for number, (way, text, guessed) in enumerate(ways):
        if not budget.allows():
            return
        build = entry_moved(entries.builder(module, name, way), vary.Target(device=device or None))
        try:
            with _quiet():
                entry = build()
        except (Exception, SystemExit) as error:
            problems.append(_Problem(text, error, guessed))
            continue
        yield _Made(name, build, entry, text, guessed, TRIES if number or len(ways) == 1 else _FIRST)


def _ways(
    module: ModuleType, name: str, make_arguments: Callable[[], Any] | None, problems: list[_Problem]
) -> Iterator[tuple[Callable[[], Any] | None, str, tuple[str, ...]]]:
    """Functions for the constructor's arguments, how each reads, and the parameters of which nothing was known."""
    target = entries.lookup(module, name)
    owner_name = name if isinstance(target, type) else name.rpartition(".")[0]
    owner: Any = entries.lookup(module, owner_name) if owner_name else None
    if not isinstance(owner, type):
        yield None, name, ()
        return
    method = name[len(owner_name) :]
    if make_arguments is not None:
        yield make_arguments, f"{owner_name}(...) from {entries.CONSTRUCTOR}(){method}", ()
        return
    entries.seed()
    try:
        with _quiet():
            ways = list(constructions(owner))
    except Unknown as error:
        raise Failure(
            "inputs",
            f"nothing could be made up for parameter {error} of {owner_name}: write {entries.CONSTRUCTOR}() as well",
        ) from error
    except Exception as error:
        problems.append(_Problem(f"{owner_name}()", error))
        return
    for way in ways:
        yield _copies(way), f"{owner_name}({way.text}){method}", way.guessed


def _copies(way: Construction) -> Callable[[], Mapping[str, Any]]:
    return lambda: copy.deepcopy(dict(way.arguments))


# -- calls -------------------------------------------------------------------------------------------


def _search(made: _Made, places: tuple[str, ...], problems: list[_Problem], budget: _Budget) -> Synthesized | None:
    """The first call that runs; what an error suggests comes before what else there is."""
    want = arguments.wanted_by(made.entry)
    unknown = [one.name for one in want.choices if not one.known]
    waiting = [("", arguments.calls(made.entry, want))]
    seen: set[str] = set()
    while waiting and budget.allows(made.last_try):
        before, suggested = waiting[-1]
        tried = next(suggested, None)
        if tried is None:
            waiting.pop()
            continue
        if tried.key() in seen:
            continue
        seen.add(tried.key())
        budget.tries += 1
        call = vary.moved(_call(tried, want), vary.Target(None, places[0] or None))
        error = _run(made.entry, call)
        if error is None:
            error = _confirm(made.build, call, places, fresh=len(seen) > 1)
        if error is None:
            where = vary.Target(None, places[-1] or None)
            return Synthesized(entry_moved(made.build, where), [vary.moved(call, where)], _how(made, tried))
        problems.append(_Problem(f"{made.text} called with {_listed(tried)}", error, (*made.guessed, *unknown)))
        now = described(error)
        if now != before:  # else what was changed had nothing to do with it
            waiting.append((now, next_tries(tried, error)))
    return None


def _confirm(build: Callable[[], Any], call: Call, places: tuple[str, ...], fresh: bool) -> BaseException | None:
    """Run the call with the entry made anew, as calls that raised may have changed it, and where it is to run."""
    for place in places if fresh else places[1:]:
        entry = entry_moved(build, vary.Target(device=place or None))()
        error = _run(entry, vary.moved(call, vary.Target(None, place or None)))
        if error is not None:
            return error
    return None


def _call(tried: Try, want: arguments.Wanted) -> Call:
    entries.seed()
    given = tried.made()
    more: list[Any] = given.pop(want.several, [])
    by_position = [one.name for one in want.choices[: want.first_by_position]]
    if all(name in given for name in by_position):
        return Call((*(given.pop(name) for name in by_position), *more), given)
    return Call((), given)


def _run(entry: Any, call: Call) -> BaseException | None:
    """What a call raises; the arguments are copied first."""
    owner = getattr(entry, "__self__", entry)
    if isinstance(owner, nn.Module):
        owner.eval()
    try:
        given: Any = copy.deepcopy(call)
        with _quiet(), torch.no_grad():
            entries.seed()
            result = used_up(entry(*given.args, **given.kwargs))
            if inspect.iscoroutine(result):
                asyncio.run(result)
    except (Exception, SystemExit) as error:
        return error
    return None


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with silent():
            yield
    finally:
        logging.disable(disabled)


# -- for the user ------------------------------------------------------------------------------------


def _how(made: _Made, tried: Try) -> str:
    origins = dict.fromkeys(spec.origin for spec in tried.specs() if spec.origin)
    filled = "" if tried.fill == "normal" else f", {tried.fill} values"
    reason = f" (from {', '.join(origins)})" if origins else ""
    listed = _listed(tried)
    return f"made up: {made.text} called with {listed}{filled}{reason}" if listed else f"made up: {made.text} called"


def _listed(tried: Try) -> str:
    def named(spec: Spec) -> _Name:
        return _Name(shown(spec, tried.sizes))

    listed = {name: map_specs(value, named) for name, value in tried.arguments.items()}
    return ", ".join(f"{name}: {_given(value)}" for name, value in listed.items())


def _given(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    return " ".join(repr(value).split())[:200]


class _Name(str):
    """Text that stands for itself in what contains it."""

    def __repr__(self) -> str:
        return str(self)


def _failure(name: str, problems: Sequence[_Problem]) -> Failure:
    """What was tried and what it raised, each error once; the parameters that nothing was known of."""
    by_error: dict[str, str] = {}
    for one in problems:
        by_error.setdefault(described(one.error), one.what)
    listed = [f"{what}: {error}" for error, what in list(by_error.items())[:3]]
    more = f"; and {len(by_error) - 3} other errors" if len(by_error) > 3 else ""
    guessed = list(dict.fromkeys(parameter for one in problems for parameter in one.guessed))
    doubt = f" (nothing says what {', '.join(guessed)} should be)" if guessed else ""
    return Failure(
        "inputs",
        f"no inputs could be made up for {name}{doubt}; tried {'; '.join(listed)}{more}. To profile it, {_ADVICE}",
    )
