"""What a break costs an entry: an estimate from how TorchDynamo goes on behind one.

Measured with torch 2.13.  A break splits the frame it is in.  In an inlined function it also splits every frame on the
way to it, at the call, and the function then has graphs of its own.  A frame that cannot go on in the middle, since a
loop, a ``try`` or a context manager of the user's is around the place, is given up as a whole: it runs without a graph,
and what it calls is compiled piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from graphmend_lsp.finding import Cost
from graphmend_lsp.flow.events import Context, Datum, Event, Facts
from graphmend_lsp.flow.host import TRANSPARENT_CONTEXTS

_MAX_WAYS = 16
_MAX_DEPTH = 14


Callers = Mapping[int, Sequence[Facts]]
"""For facts, by id, those of the functions that call them in one region."""


def callers_in(facts: Iterable[Facts]) -> dict[int, list[Facts]]:
    """Who calls whom among the facts of a region."""
    found: dict[int, list[Facts]] = {}
    for caller in facts:
        for callee in {id(each): each for each in caller.callees}.values():
            found.setdefault(id(callee), []).append(caller)
    return found


def cost_of(event: Event, facts: Facts, root: Facts, callers: Callers, entry: str) -> Cost | None:
    """What a break costs an entry by the dearest way to it; None if there is no way, or if it is no break.

    facts: of the function with the event; root: of the entry.
    """
    if event.kind == "grow":
        return None
    ways = [_cost(event, way, entry) for way in _ways(facts, root, callers)]
    return max(ways, key=lambda cost: (cost.whole, cost.drops != "", cost.graphs)) if ways else None


def _ways(facts: Facts, root: Facts, callers: Callers) -> Iterator[tuple[Facts, ...]]:
    """Chains of calls from the entry to a function, shortest first."""
    todo: list[tuple[Facts, ...]] = [(facts,)]
    seen: dict[int, int] = {}
    found = 0
    while todo and found < _MAX_WAYS:
        following: list[tuple[Facts, ...]] = []
        for way in todo:
            if way[0] is root:
                found += 1
                yield way
                continue
            seen[id(way[0])] = seen.get(id(way[0]), 0) + 1
            if seen[id(way[0])] <= 2 and len(way) < _MAX_DEPTH:
                following += [(caller, *way) for caller in callers.get(id(way[0]), ())]
        todo = following


def _cost(event: Event, way: tuple[Facts, ...], entry: str) -> Cost:
    drops, reason, whole = "", "", False
    graphs = len(way)  # the split of the last frame, and a graph of its own for each that was inlined
    if event.kind in ("while", "sort"):
        graphs += 1  # the first round, or the key of the first item, is traced alone
    elif event.test is not None:
        graphs += max(0, sum(datum.kind == "truth" for datum in event.test.data) - 1)
    for number, facts in enumerate(way):
        if number + 1 < len(way):
            callee = way[number + 1]
            contexts = facts.call_contexts.get(callee.function.node, [])
            calls = max(1, sum(found is callee for found in facts.calls.values()))
        else:
            contexts, calls = [_around(event)], 0
        why = next((why for context in contexts if (why := _stuck(context))), "")
        if number + 1 == len(way) and not why:
            why = _of_its_own(event)
        if why and not drops:
            drops, reason, whole = facts.function.qualname, why, number == 0
        elif not why:
            graphs += calls
    return Cost(entry, graphs, drops, reason, whole)


def _around(event: Event) -> Context:
    """What stands around a place; the test of a ``while`` is not inside of it."""
    loops = event.context.loops
    return replace(event.context, loops=loops[:-1]) if loops and loops[-1] is event.node else event.context


def _generates(datum: Datum) -> bool:
    """Whether a part of a test is an element of ``any(... for ...)``: such a part has a frame of its own."""
    return datum.kind == "truth" and datum.inside


def _of_its_own(event: Event) -> str:
    """Why a frame cannot go on behind a break of this kind, wherever it stands."""
    if event.kind in ("any", "filter") or (event.test is not None and any(map(_generates, event.test.data))):
        return "a generator"
    return event.name if event.kind == "host" and event.name.startswith("with ") else ""


def _stuck(context: Context) -> str:
    """Why a frame cannot go on behind a break in such a place; empty if it can."""
    if context.loops:
        return "a loop"
    if any(block.catches or block.node.finalbody for block in context.tries):
        return "a try"
    other = next((name for name in context.withs if name not in TRANSPARENT_CONTEXTS), "")
    return f"with {other}" if other else ""
