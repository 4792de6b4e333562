"""In the measuring interpreter, in a process of its own: one architecture in one arm.

Arms: `eval` (no gradients), `train` (training mode, with gradients), `half` (float16 weights and inputs) and `odd`
(see variants.py): one call under Dynamo and one traced eager call. `reference`: outputs of several eager calls, kept.
`mended`: the same calls of a mended copy, eager and compiled, compared with what `reference` kept.
"""

from __future__ import annotations

import copy
import os
import time
import traceback
from typing import Any

import build
import leaves
import variants
import watch

CALLS = 3


def run(task: dict[str, Any], base: str) -> dict[str, Any]:
    """What was measured, or why not."""
    result: dict[str, Any] = {key: task[key] for key in ("package", "name", "arm", "variant", "key") if key in task}
    start = time.perf_counter()
    try:
        _ARMS[task["arm"]](task, base, result)
    except build.NotBuilt as error:
        result["not_built"] = str(error)
    except BaseException as error:
        result["error"] = f"{type(error).__name__}: {str(error).strip()[:1500]}"
        result["traceback"] = traceback.format_exc()[-3000:]
    result["seconds"] = round(time.perf_counter() - start, 1)
    return result


def _ready(task: dict[str, Any], result: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Model and recipe: the one that is known, else the first that works."""
    recipe = task.get("recipe")
    if recipe:
        made = build.model(task["package"], task["name"], recipe["strategy"])
    else:
        made, recipe = build.find(task["package"], task["name"])
        made = build.model(task["package"], task["name"], recipe["strategy"])  # as new: calls may leave state
    result["recipe"], result["class"] = recipe, type(made).__name__
    result["parameters"] = sum(parameter.numel() for parameter in made.parameters())
    return made, recipe


def _cast(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.half() if hasattr(value, "is_floating_point") and value.is_floating_point() else value
        for name, value in values.items()
    }


def _seed(number: int) -> None:
    """All sources of random numbers that a model may use."""
    import random

    import numpy
    import torch

    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number)


def _values(task: dict[str, Any], arm: str, made: Any, recipe: dict[str, Any], call: int) -> dict[str, Any]:
    """The inputs of a call in an arm; the model is put into the arm's mode."""
    values = build.inputs(task["package"], made, task["name"], recipe, call)
    if arm == "half":
        made.half()
        return _cast(values)
    return variants.varied(arm, made, values) if arm in ("train", "odd") else values


def _counting(graphs: list[int]) -> Any:
    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(sum(node.op.startswith("call") for node in module.graph.nodes))
        return module.forward

    return backend


def _limits() -> None:
    import torch._dynamo.config as config

    config.recompile_limit = 64
    config.accumulated_recompile_limit = 1024


def _dynamo(task: dict[str, Any], base: str, result: dict[str, Any]) -> None:
    """One call under Dynamo, one eager call of a new model with every instruction traced."""
    import torch

    made, recipe = _ready(task, result)
    values = _values(task, task["arm"], made, recipe, 0)
    result["varied"] = sorted(values)
    fresh = copy.deepcopy(made)
    packages = tuple(task["packages"])
    outputs = _eager(fresh, values, task, base, packages, result)
    breaks, traced = watch.listen(base), watch.Traced(base, packages)
    traced.install()
    _limits()
    graphs: list[int] = []
    compiled = torch.compile(made, backend=_counting(graphs))
    start = time.perf_counter()
    try:
        _seed(1)
        with torch.set_grad_enabled(task["arm"] == "train"):
            got = leaves.leaves(compiled(**values))
        if outputs is not None:
            result["differences"] = leaves.differences(outputs, got)[:5]
    except Exception as error:
        result["compile_error"] = f"{type(error).__name__}: {str(error).strip()[:600]}"
    result["compile_seconds"] = round(time.perf_counter() - start, 1)
    result["graphs"], result["operators"] = len(graphs), sum(graphs)
    result["breaks"], result["traced"] = breaks.rows, traced.places()
    result["frames"] = dict(torch._dynamo.utils.counters["frames"])


def _eager(made: Any, values: dict[str, Any], task: Any, base: str, packages: Any, result: dict[str, Any]) -> Any:
    """The outputs of a traced eager call; None where it fails (half precision on a CPU may)."""
    import torch

    ran = watch.Ran(base, packages)
    try:
        _seed(1)
        with torch.set_grad_enabled(task["arm"] == "train"), ran:
            outputs = made(**values)
        return leaves.leaves(outputs)
    except Exception as error:
        result["eager_error"] = f"{type(error).__name__}: {str(error).strip()[:600]}"
        if task["arm"] == "eval":
            raise
        return None
    finally:
        result["ran"] = ran.places()


def _reference(task: dict[str, Any], base: str, result: dict[str, Any]) -> None:
    import torch

    made, recipe = _ready(task, result)
    torch.save(_calls(made, made, task, recipe), task["reference"])


def _calls(run: Any, made: Any, task: dict[str, Any], recipe: dict[str, Any], after: Any = None) -> list[leaves.Leaves]:
    """The outputs of several calls with different inputs; ``after`` is called behind the first."""
    import torch

    found: list[leaves.Leaves] = []
    for call in range(CALLS):
        values = _values(task, task["variant"], made, recipe, call)
        _seed(call)
        with torch.set_grad_enabled(task["variant"] == "train"):
            found.append(leaves.leaves(run(**values)))
        if after and not call:
            after()
    return found


def _mended(task: dict[str, Any], base: str, result: dict[str, Any]) -> None:
    import torch

    expected = torch.load(task["reference"], weights_only=False)
    made, recipe = _ready(task, result)
    result["tensors"] = sum(leaves.tensors(one) for one in expected)
    result["eager_differences"] = _compared(expected, _calls(made, made, task, recipe))
    made = build.model(task["package"], task["name"], recipe["strategy"])  # as new: calls may leave state
    breaks = watch.listen(base)
    _limits()
    graphs: list[int] = []

    def count() -> None:
        result["graphs"], result["operators"], result["breaks"] = len(graphs), sum(graphs), list(breaks.rows)

    compiled = torch.compile(made, backend=_counting(graphs))
    result["compiled_differences"] = _compared(expected, _calls(compiled, made, task, recipe, count))


def _compared(expected: list[leaves.Leaves], got: list[leaves.Leaves]) -> list[str]:
    return [
        f"call {call}: {text}"
        for call, (one, two) in enumerate(zip(expected, got, strict=True))
        for text in leaves.differences(one, two)
    ][:10]


_ARMS = {
    "eval": _dynamo,
    "train": _dynamo,
    "half": _dynamo,
    "odd": _dynamo,
    "reference": _reference,
    "mended": _mended,
}


def quiet() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
