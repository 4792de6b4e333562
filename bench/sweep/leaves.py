"""In the measuring interpreter: outputs as flat lists that can be kept and compared bit by bit."""

from __future__ import annotations

from typing import Any

Leaves = list[tuple[str, Any]]


def leaves(value: Any, path: str = "", depth: int = 0) -> Leaves:
    """All tensors of an output, also those in caches, and the text of everything else."""
    import torch

    if isinstance(value, torch.Tensor):
        return [(path, value.detach().clone())]
    if isinstance(value, (int, float, str, bool, type(None))):
        return [(path, repr(value))]
    if depth > 8:
        return [(path, type(value).__name__)]
    if isinstance(value, dict):
        parts = [(f"{path}.{key}", part) for key, part in value.items()]
    elif isinstance(value, (tuple, list)):
        parts = [(f"{path}[{number}]", part) for number, part in enumerate(value)]
    elif hasattr(value, "__dict__"):
        parts = [(f"{path}.{key}", part) for key, part in vars(value).items() if not callable(part)]
    else:
        return [(path, type(value).__name__)]
    found: Leaves = [(path, type(value).__name__)]
    for name, part in parts:
        found += leaves(part, name, depth + 1)
    return found


def differences(expected: Leaves, got: Leaves) -> list[str]:
    """Every way in which two outputs differ; NaNs of the same bits are equal."""
    import torch

    if [path for path, _ in expected] != [path for path, _ in got]:
        return ["the outputs have another structure"]
    found: list[str] = []
    for (path, one), (_, two) in zip(expected, got, strict=True):
        if not isinstance(one, torch.Tensor) or not isinstance(two, torch.Tensor):
            if type(one) is not type(two) or one != two:
                found.append(f"{path}: {one!r:.60} and {two!r:.60}")
        elif (one.dtype, one.shape) != (two.dtype, two.shape):
            found.append(f"{path}: {one.dtype} {tuple(one.shape)} and {two.dtype} {tuple(two.shape)}")
        elif not torch.equal(_bits(one), _bits(two)):
            found.append(f"{path}: differs by up to {_gap(one, two):.3g}")
    return found


def _bits(value: Any) -> Any:
    import torch

    flat = value.detach().contiguous().reshape(-1)
    return torch.view_as_real(flat).contiguous().view(torch.uint8) if flat.is_complex() else flat.view(torch.uint8)


def _gap(one: Any, two: Any) -> float:
    if one.is_complex():
        return (one - two).abs().max().item()
    return (one.double() - two.double()).abs().nan_to_num(nan=float("inf")).max().item()


def tensors(found: Leaves) -> int:
    import torch

    return sum(isinstance(value, torch.Tensor) for _, value in found)
