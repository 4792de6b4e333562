"""Build the tiny models of rows.json and the inputs of their three calls.

An input is written ``[kind, shape, ...]``; what each kind means is said in ``_made``. Runs in the measured interpreter.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

CALLS = 3
SHORT = 4  # rows or columns that the border of a mask and the padding of a text grow by, call by call

Build = dict[str, Any]


def config(spec: dict[str, Any]) -> Any:
    """The configuration object of a spec; ``{"plain": {...}}`` inside it stays a dict."""
    transformers: Any = importlib.import_module("transformers")
    values = {key: _part(value) for key, value in spec.items()}
    return getattr(transformers, values.pop("class"))(**values)


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "class" in value:
        return config(value)
    return value["plain"] if set(value) == {"plain"} else value


def model(build: Build, device: str = "cpu") -> Any:
    """The model, with the same random weights in every process."""
    module, _, name = build["model"].partition(":")
    found = getattr(importlib.import_module(module), name)
    torch.manual_seed(0)
    if "config" in build:
        settings = config(build["config"])
        for key, value in build.get("attributes", {}).items():
            setattr(settings, key, value)
        made = found(settings)
    else:
        made = found()
    return made.to(getattr(torch, build.get("dtype", "float32"))).eval().to(device)


def prepare(build: Build, made: Any, call: int) -> None:
    """Before the last call a row may blow up one weight, so that its overflow branch is taken there."""
    if call == CALLS - 1 and "overflow" in build:
        with torch.no_grad():
            made.get_parameter(build["overflow"]).fill_(6e4)


def inputs(build: Build, call: int, device: str = "cpu") -> dict[str, Any]:
    """The keyword arguments of one call; calls differ in values, and in shapes where the row says so."""
    generator = torch.Generator().manual_seed(1000 + call)
    made: dict[str, Any] = {}
    for name, (kind, shape, *rest) in build["inputs"].items():
        shapes = build.get("shapes", {}).get(name)
        made[name] = _made(kind, shapes[call] if shapes else shape, rest, call, generator)
    return {name: _placed(value, build, device) for name, value in made.items()}


def violation(build: Build, device: str = "cpu") -> dict[str, Any]:
    """The keyword arguments that the row's guard refuses."""
    generator = torch.Generator().manual_seed(7)
    made = {name: _made(kind, shape, rest, 0, generator) for name, (kind, shape, *rest) in _violating(build).items()}
    return {name: _placed(value, build, device) for name, value in made.items()}


def _violating(build: Build) -> dict[str, Any]:
    return build["violation"]["inputs"]


def _placed(value: Any, build: Build, device: str) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    half = value.is_floating_point() and build.get("dtype") == "float16"
    return value.to(device, torch.float16 if half else value.dtype)


def _made(kind: str, shape: Any, rest: list[Any], call: int, generator: torch.Generator) -> Any:
    if kind == "int":
        return torch.randint(rest[0], rest[1], shape, generator=generator)
    if kind == "normal":
        return torch.randn(shape, generator=generator)
    if kind == "uniform":
        return torch.rand(shape, generator=generator)
    if kind == "full":
        return torch.full(shape, rest[0], dtype=torch.int64)
    if kind in ("ones", "zeros"):
        return torch.full(shape, int(kind == "ones"), dtype=torch.int64)
    if kind == "values":  # the tensor itself
        return torch.tensor(shape)
    if kind == "python":  # a list of lists: a Python value
        return [tuple(part) for part in shape]
    if kind == "flags":  # set in every call but the second
        return torch.full(shape, call != 1, dtype=torch.bool)
    if kind == "border":  # a mask whose last columns are off, more of them in each call
        mask = torch.ones(shape, dtype=torch.int64)
        mask[..., shape[-1] - SHORT * call :] = 0
        return mask
    if kind == "padding":  # a text mask whose last row is short
        mask = torch.ones(shape, dtype=torch.int64)
        mask[-1, shape[-1] - 1 - call :] = 0
        return mask
    if kind == "words":  # zeros stand for words, everything else keeps its place
        words = torch.randint(2000, 3000, (1, len(shape)), generator=generator)
        return torch.where(torch.tensor([shape]) == 0, words, torch.tensor([shape]))
    if kind == "boxes":  # left, top, right, bottom; all of them empty in the first call
        corners = torch.randint(0, rest[0], shape, generator=generator) * int(call > 0)
        ordered = corners.unflatten(-1, (2, 2)).sort(-2).values
        return ordered.flatten(-2)
    raise ValueError(kind)
