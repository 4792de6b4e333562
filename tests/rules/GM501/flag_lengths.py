"""Repeats that are made of a list of Python ints: their sum is known to the host."""

import torch
from torch import Tensor


def literal(x: Tensor):
    return torch.repeat_interleave(x, torch.tensor([1, 2, 0]), dim=0) * 2  # GM501


def method(x: Tensor):
    return x.repeat_interleave(torch.tensor((1, 2, 3)), 0) * 2  # GM501


def by_keyword(x: Tensor):
    return torch.repeat_interleave(x, dim=0, repeats=torch.tensor([2, 2, 2], device=x.device)) * 2  # GM501


def named(x: Tensor, more: int = 3):
    counts = [1, more, 0]
    repeats = torch.tensor(counts)
    y = x * repeats.sum()
    return torch.repeat_interleave(y, repeats, dim=0)  # GM501


def inside(x: Tensor):
    counts = [1, 2, x.shape[0]]
    repeats = torch.tensor(counts)
    for _ in range(2):
        x = x + torch.repeat_interleave(x, repeats, dim=0)[:3]  # GM501
    return x


def indices(x: Tensor, lengths: list[int]):
    return x[torch.repeat_interleave(torch.tensor(lengths))]  # GM501


def one_or_more(x: Tensor, lengths: list[int]):
    """A list with one number would be repeated for all rows, and its sum is not the size."""
    return torch.repeat_interleave(x, torch.tensor(lengths), dim=0) * 2  # GM501


def one(x: Tensor):
    return torch.repeat_interleave(x, torch.tensor([2]), dim=0) * 2  # GM501


def appended(x: Tensor):
    counts = [1, 2]
    repeats = torch.tensor([1, 2, 3])
    other = torch.tensor(counts)
    counts.append(3)
    return torch.repeat_interleave(x[:2], other, dim=0).sum() + repeats  # GM501


def written(x: Tensor):
    repeats = torch.tensor([1, 2, 3])
    repeats[0] = 4
    return torch.repeat_interleave(x, repeats, dim=0) * 2  # GM501


def bound_twice(x: Tensor, short: bool = True):
    counts = [1, 2, 3]
    repeats = torch.tensor(counts)
    if short:
        counts = [1, 1, 1]
    return torch.repeat_interleave(x, repeats, dim=0) * sum(counts)  # GM501


def floats(x: Tensor, counts: Tensor):
    return torch.repeat_interleave(x, counts, dim=0) * 2  # GM501


def rows():
    return (torch.arange(6.0).reshape(3, 2),)


def rows_with_lengths():
    return torch.arange(6.0).reshape(3, 2), [1, 0, 2]


def rows_with_counts():
    return torch.arange(6.0).reshape(3, 2), torch.tensor([1, 0, 2])


CASES = [
    ("literal", [rows]),
    ("method", [rows]),
    ("by_keyword", [rows]),
    ("named", [rows]),
    ("inside", [rows]),
    ("indices", [rows_with_lengths]),
    ("one_or_more", [rows_with_lengths]),
    ("one", [rows]),
    ("appended", [rows]),
    ("written", [rows]),
    ("bound_twice", [rows]),
    ("floats", [rows_with_counts]),
]
