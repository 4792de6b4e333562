"""One measurement, in a process of its own: ``python measure.py TASK.json ANSWER.json``.

A task says what to build and the mode:

- eager: three calls; keeps the results in the file `reference` if the task has `keep`, else compares with it
- compiled: the same calls under torch.compile with a backend that counts graphs and runs them as they are
- fullgraph: the same with fullgraph=True and backend aot_eager
- time: cold start and steady state with inductor
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import listen
import outputs
import recipe
import torch

Task = dict[str, Any]


class Counting:
    """A backend that counts its calls and the operators in the graphs, and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[int] = []

    def __call__(self, module: Any, inputs: Any) -> Any:
        self.graphs.append(sum(node.op.startswith("call") for node in module.graph.nodes))
        return module.forward


def run_calls(build: recipe.Build, model: Any, run: Any, after_first: Callable[[], None]) -> list[outputs.Leaves]:
    """The results of the three calls, with the state of the model after them."""
    results: list[outputs.Leaves] = []
    with torch.no_grad():
        for call in range(recipe.CALLS):
            recipe.prepare(build, model, call)
            results.append(outputs.leaves(run(**recipe.inputs(build, call))))
            if call == 0:
                after_first()
    distinct = {tuple(repr(value) for _, value in leaves) for leaves in results}
    assert len(distinct) == recipe.CALLS, "the calls are to have different outputs"
    return [*results, outputs.state(model)]


def judged(task: Task, results: list[outputs.Leaves]) -> dict[str, Any]:
    """Keep the results as the reference, or compare them with it."""
    reference = Path(task["reference"])
    if task.get("keep"):
        torch.save(results, reference)
    expected = torch.load(reference, weights_only=False)
    names = [*(f"call {number + 1}" for number in range(recipe.CALLS)), "afterwards"]
    differing = [
        f"{name}: {text}"
        for name, one, two in zip(names, expected, results, strict=True)
        for text in outputs.differences(one, two)
    ]
    return {
        "tensors": outputs.tensors(results[: recipe.CALLS]),
        "largest": outputs.largest(results[recipe.CALLS - 1]),
        "differences": differing,
    }


def violated(build: recipe.Build, model: Any, wrap: Callable[[Any], Any]) -> str | None:
    """What the row's guard raises."""
    if "violation" not in build:
        return None
    try:
        with torch.no_grad():
            wrap(model.get_submodule(build["violation"]["module"]))(**recipe.violation(build))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "passes"


def eager(task: Task) -> dict[str, Any]:
    build = task["build"]
    model = recipe.model(build)
    with listen.listening() as said, listen.running() as ran:
        results = run_calls(build, model, model, lambda: None)
    guard = violated(build, model, lambda part: part)
    return {"said": said, **judged(task, results), "guard": guard, "imported": listen.imported(), "ran": sorted(ran)}


def compiled(task: Task) -> dict[str, Any]:
    build, dynamo, backend = task["build"], listen.Dynamo(), Counting()
    model = recipe.model(build)
    answer: dict[str, Any] = {}

    def after_first() -> None:
        answer["graphs"], answer["operators"] = len(backend.graphs), sum(backend.graphs)
        answer["seen"] = len(dynamo.texts)

    run = torch.compile(model, backend=backend, dynamic=False)
    with listen.listening() as said:
        results = run_calls(build, model, run, after_first)
    seen = answer.pop("seen")
    every = dynamo.breaks()
    later = dynamo.breaks(seen)
    answer |= {
        "said": said,
        "events": every[: len(every) - len(later)],
        "graphs_later": len(backend.graphs) - answer["graphs"],
        "recompiles": dynamo.recompiles(seen),
        "events_later": later,
        **judged(task, results),
    }
    torch._dynamo.reset()
    answer["guard"] = violated(build, model, lambda part: torch.compile(part, backend=backend, dynamic=False))
    answer["graphs_default"] = _graphs_default(build)
    return answer


def _graphs_default(build: recipe.Build) -> int:
    """Graphs of the first call with `dynamic` left at its default."""
    torch._dynamo.reset()
    backend = Counting()
    with torch.no_grad(), listen.listening():
        torch.compile(recipe.model(build), backend=backend)(**recipe.inputs(build, 0))
    return len(backend.graphs)


def fullgraph(task: Task) -> dict[str, Any]:
    build = task["build"]
    model = recipe.model(build)

    def wrap(part: Any) -> Any:
        return torch.compile(part, backend="aot_eager", fullgraph=True)

    with listen.listening() as said:
        results = run_calls(build, model, wrap(model), lambda: None)
    answer = {"said": said, **judged(task, results)}
    torch._dynamo.reset()
    return answer | {"guard": violated(build, model, wrap)}


def timed(task: Task) -> dict[str, Any]:
    """The first call, the time in it that was spent compiling, and the median of the later ones."""
    build, device = task["build"], task["device"]
    model = recipe.model(build, device)
    arguments = recipe.inputs(build, 0, device)
    wait: Callable[[], Any] = torch.cuda.synchronize if device == "cuda" else lambda: None
    run = torch.compile(model, backend="inductor", mode=task["mode"])

    def once() -> float:
        wait()
        start = time.perf_counter()
        run(**arguments)
        wait()
        return time.perf_counter() - start

    with torch.no_grad(), listen.listening():
        before = cpu_seconds()
        first = once()
        cpu = cpu_seconds() - before
        compiling, regions = compile_seconds()
        for _ in range(task["warm_up"]):
            once()
        later = [once() for _ in range(task["calls"])]
        start = time.perf_counter()
        model(**arguments)
        wait()
        eager_call = time.perf_counter() - start
    quarters = statistics.quantiles(later, n=4)
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU, one thread"
    return {
        "device": name,
        "first": first,
        "cpu": cpu,
        "compiling": compiling,
        "regions": regions,
        "calls": len(later),
        "median": quarters[1],
        "quarters": [quarters[0], quarters[2]],
        "eager": eager_call,
    }


def cpu_seconds() -> float:
    """Of this process and the compilers that it started: hardly touched by what else the machine does."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def compile_seconds() -> tuple[float, int]:
    """Seconds that Dynamo and the backend took for all code objects compiled so far, and how many there were."""
    metrics: dict[str, list[float]] = torch._dynamo.utils.compilation_time_metrics
    spent = metrics.get("_compile.compile_inner", [])
    return sum(spent), len(spent)


def main() -> None:
    task, answer = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    if task["device"] == "cpu":
        torch.set_num_threads(1)
    modes = {"eager": eager, "compiled": compiled, "fullgraph": fullgraph, "time": timed}
    result = modes[task["mode_of_run"]](task)
    answer.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
