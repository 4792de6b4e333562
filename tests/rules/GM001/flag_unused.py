"""Suppressions that hide nothing."""

import torch


def nothing_here(x: torch.Tensor):
    y = x * 2  # graphmend: ignore[GM101] # GM001
    return y + 1


def other_code(x: torch.Tensor):
    y = x * 2
    z = y + 1  # noqa: GM201 # GM001
    return z


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["nothing_here", "other_code"]]
