"""Everything that a model returned, and where two results differ."""

from __future__ import annotations

from typing import Any

import torch

Leaves = list[tuple[str, Any]]


def leaves(value: Any, path: str = "") -> Leaves:
    """All tensors of an output, also those in caches, and the type of everything else, with their paths."""
    if isinstance(value, torch.Tensor):
        return [(path, value.detach().cpu().clone())]
    if hasattr(value, "to_legacy_cache"):
        value = {type(value).__name__: value.to_legacy_cache()}
    if isinstance(value, dict):
        parts: Leaves = [(f"{path}.{key}", part) for key, part in value.items()]
    elif isinstance(value, (tuple, list)):
        parts = [(f"{path}[{number}]", part) for number, part in enumerate(value)]
    else:
        return [(path, repr(value))]
    found: Leaves = [(path, type(value).__name__)]
    for name, part in parts:
        found += leaves(part, name)
    return found


def state(model: Any) -> Leaves:
    """Parameters and buffers: what a call may have written."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return [(f"state.{name}", value.detach().cpu().clone()) for name, value in named]


def tensors(results: list[Leaves]) -> int:
    return sum(isinstance(value, torch.Tensor) for result in results for _, value in result)


def largest(result: Leaves) -> float:
    """The largest finite magnitude in a result."""
    found = [value.double().abs().nan_to_num(posinf=0) for _, value in result if isinstance(value, torch.Tensor)]
    return max((part.max().item() for part in found if part.numel()), default=0.0)


def differences(expected: Leaves, got: Leaves) -> list[str]:
    """In words, every leaf that is not the same to the bit."""
    if [path for path, _ in expected] != [path for path, _ in got]:
        return ["the outputs have another structure"]
    pairs = zip(expected, got, strict=True)
    return [text for (path, one), (_, two) in pairs if (text := _difference(path, one, two))]


def _difference(path: str, one: Any, two: Any) -> str:
    if not isinstance(one, torch.Tensor) or not isinstance(two, torch.Tensor):
        return f"{path}: {one!r:.40} and {two!r:.40}" if type(one) is not type(two) or one != two else ""
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return f"{path}: {one.dtype} {tuple(one.shape)} and {two.dtype} {tuple(two.shape)}"
    if torch.equal(_bits(one), _bits(two)):
        return ""
    return f"{path}: differs by up to {(one.double() - two.double()).abs().max().item():.3g}"


def _bits(value: torch.Tensor) -> torch.Tensor:
    return value.contiguous().reshape(-1).view(torch.uint8)
