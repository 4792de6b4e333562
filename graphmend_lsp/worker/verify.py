"""Run entries of the original or of the mended code on many inputs; compare with what the other one did."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Tuple, cast

import torch

from . import breaks, entries, load, vary
from .channel import Channel, Failure
from .compare import differences
from .entries import Call, Inputs
from .observe import Behaviour, observe
from .sources import Sources
from .vary import Target, entry_moved

_torch: Any = torch


class Run(NamedTuple):
    """What to run: ``backend`` None is eager; ``dtype`` is what the module is cast to."""

    label: str
    call: Call
    backend: str | None = None
    gradients: bool = False
    training: bool | None = None
    dtype: torch.dtype | None = None

    @property
    def key(self) -> tuple[str, str, bool, bool]:
        """What names the same run in the other process."""
        return (self.label, self.backend or "eager", self.gradients, bool(self.training))


Observed = Dict[Tuple[str, str, bool, bool], Behaviour]


def run(job: dict[str, Any], channel: Channel) -> None:
    """One arm, the original's or the mended one's.

    The job: ``arm`` ("original" or "mended"); ``path`` and ``name`` of the file; ``roots`` of imports; ``texts``
    (path -> text) that stand for files; ``state``, the other files whose globals count (``[path, name]``);
    ``entries``, names, or ``candidates`` to choose them from (else None); ``inputs`` (a list) and ``init``, each
    ``[path, module name, function]``; ``dtype`` and ``device``, names or ""; ``backends``; ``calls``; ``out``, the
    file that the observations go to.

    Raises:
        Failure: it cannot be run.
    """
    torch.set_num_threads(int(job.get("threads") or torch.get_num_threads()))
    _torch._inductor.config.fallback_random = True  # else each graph has random numbers of its own
    _quicken()
    load.leave_uncompiled()
    overlay = load.install(job["roots"], job["texts"])
    entries.seed()  # a model made while the file is imported
    module = load.import_file(overlay, job["path"], job["name"])
    sources = Sources(overlay, job, module)
    modules = [module, *(load.import_file(overlay, path, name) for path, name in job["state"])]
    kept = load.Globals(modules)
    names: list[str] = job["entries"]
    if job["candidates"] is not None:
        chosen, left_out = _chosen(sources, job["candidates"])
        channel.send("chosen", entries=chosen, left_out=left_out)
        names = names or chosen  # the other process chooses, too: what is called once there is called once here
    observed: dict[str, Observed] = {}
    for name in names:
        channel.send("entry", entry=name)
        try:
            build, calls, used = sources.of(name)
        except Failure as failure:
            channel.send("entry-failed", entry=name, kind=failure.kind, message=str(failure))
            continue
        runs = _plan(build, calls, job["backends"])
        observed[name] = {}
        for number, one in enumerate(runs):
            channel.send("run", entry=name, label=one.label, backend=one.key[1], done=number, total=len(runs))
            kept.restore()
            observed[name][one.key] = _observe(build, one, job["calls"], modules)
        kept.restore()
        again = differences(observed[name][runs[0].key], _observe(build, runs[0], job["calls"], modules))
        channel.send("repeated", entry=name, differences=[d.message for d in again])
        kept.restore()
        channel.send("counted", entry=name, inputs=used, counts=_counts(build, calls))
    torch.save({name: _plain(runs) for name, runs in observed.items()}, job["out"])
    channel.send("observed")
    against = channel.receive().get("against")
    if against:
        others: Any = torch.load(against, weights_only=False)  # made by the other arm a moment ago
        for name in names:
            if name in others and name in observed:
                channel.send("compared", entry=name, **_compared(_restored(others[name]), observed[name]))
        channel.send("finished")


def _quicken() -> None:
    """Without the measurement of each guard's latency, for which Dynamo flushes the CPU's caches."""
    guards: Any = getattr(_torch._dynamo, "guards", None)
    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = _no_time


def _no_time(*_: Any) -> float:
    return 0.0


def _chosen(sources: Sources, named: list[str]) -> tuple[list[str], list[list[str]]]:
    """The entries that the inputs are for, outermost modules only; and the others, each with the reason."""
    left_out: list[list[str]] = []
    fitting: dict[str, Any] = {}
    wanted = [name[: -len(".forward")] if name.endswith(".forward") else name for name in named]
    for name in dict.fromkeys([*wanted, *sources.modules()]):
        try:
            build, given, _ = sources.of(name)
            problem = observe(build, *given[0], calls=1).error
            if problem is not None and problem[0].rpartition(".")[2] in ("TypeError", "AttributeError"):
                raise Failure("inputs", f"{problem[0]}: {problem[1]}")
            fitting[name] = build()
        except Failure as failure:
            left_out.append([name, str(failure)])
    inner: set[type] = set()
    for target in fitting.values():
        if isinstance(target, torch.nn.Module):
            inner |= {type(part) for part in target.modules() if part is not target}
    for name in [name for name, target in fitting.items() if type(target) in inner]:
        del fitting[name]
        left_out.append([name, "a part of another entry"])
    if not fitting and not left_out:
        raise Failure("entry", "the file has no entry: name a function or class")
    return list(fitting), left_out


def _plan(build: Callable[[], Any], calls: Inputs, backends: list[str]) -> list[Run]:
    """The runs of one entry, the plainest first."""
    is_module = isinstance(build(), torch.nn.Module)
    mode = False if is_module else None
    runs: list[Run] = []
    for number, call in enumerate(calls):
        label = f"inputs {number + 1}" if len(calls) > 1 else "the inputs"
        for backend in (None, *backends):
            runs.append(Run(label, call, backend, training=mode))
            runs.append(Run(label, call, backend, True, mode))
            if is_module and backend in (None, "aot_eager"):
                runs.append(Run(f"{label}, training", call, backend, True, True))
        for other in vary.variations(call):
            name = f"{label}, {other.label}"
            runs.append(Run(name, other.call, None, other.ordinary, mode, other.dtype))
            if other.dtype is None and number == 0:
                runs += [Run(name, other.call, b, other.ordinary, mode) for b in backends if b != "inductor"]
                if other.label in ("negated", "with a NaN"):
                    runs += [Run(name, other.call, b, other.ordinary, mode) for b in backends if b == "inductor"]
    return sorted(runs, key=lambda one: one.key[1] == "inductor")


def _observe(build: Callable[[], Any], one: Run, calls: int, modules: list[Any]) -> Behaviour:
    if one.dtype is not None and one.dtype.is_floating_point:
        build = entry_moved(build, Target(one.dtype))
    return observe(
        build,
        *one.call,
        calls=calls,
        backend=one.backend,
        gradients=one.gradients,
        training=one.training,
        modules=modules,
    )


def _counts(build: Callable[[], Any], calls: Inputs) -> dict[str, Any]:
    """Graphs and break events for the first call, in the mode that has more; break sites over all calls."""
    is_module = isinstance(build(), torch.nn.Module)
    modes = (False, True) if is_module else (None,)
    counted = {mode: [breaks.count(build, [call], mode) for call in calls] for mode in modes}
    mode, (best, *_) = max(counted.items(), key=lambda item: len(item[1][0].events))
    events = [event for counts in counted.values() for each in counts for event in each.events]
    sites = {(event.path, event.line): event for event in reversed(events)}  # one line can break for several reasons
    return {
        "graphs": best.graphs,
        "events": len(best.events),
        "training": bool(mode),
        "sites": [list(event) for _, event in sorted(sites.items())],
    }


def _plain(runs: Observed) -> list[tuple[Any, dict[str, Any]]]:
    return [(key, vars(behaviour)) for key, behaviour in runs.items()]


def _restored(rows: Any) -> Observed:
    return {tuple(key): Behaviour(**fields) for key, fields in rows}


def _compared(before: Observed, after: Observed) -> dict[str, Any]:
    """Differences of all runs, and what could not be compared."""
    found: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    compared: dict[str, int] = {}
    for key, new in after.items():
        old = before.get(key)
        where = {"label": key[0], "backend": key[1], "gradients": key[2]}
        if old is None:
            skipped.append({**where, "reason": "the original was not run"})
            continue
        if _unequal_inputs(old, new):
            skipped.append({**where, "reason": "the input function gives other values in each process"})
            continue
        label, _, variation = key[0].rpartition(", ")
        plain = before.get((label, *key[1:])) if variation in vary.DTYPES else None
        if old.error is not None and plain is not None and plain.error is None:
            skipped.append({**where, "reason": "the original does not accept it"})
            continue
        if key[1] == "eager":
            rows = differences(old, new)
        elif old.compiler_error and new.compiler_error:
            skipped.append({**where, "reason": f"{key[1]} fails: {cast('Any', old.error)[1][:120]}"})
            continue
        else:
            rows = differences(old, new, exact=False)
            eager = before.get((key[0], "eager", key[2], key[3]))
            if rows and eager is not None and not differences(eager, new, exact=False):
                rows = []
        compared[key[1]] = compared.get(key[1], 0) + 1
        found += [{**where, "part": part, "message": message} for part, message in rows]
    return {"differences": found, "skipped": skipped, "runs": compared}


def _unequal_inputs(old: Behaviour, new: Behaviour) -> bool:
    return bool(differences(Behaviour(arguments=old.given), Behaviour(arguments=new.given)))
