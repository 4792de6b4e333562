"""Loops whose length is data."""

import torch
from torch import Tensor, nn


def while_tensor(x: Tensor):
    while x.abs().max() > 1:  # GM102
        x = x / 2
    return x


def while_not(x: Tensor):
    n = torch.zeros(())
    while not (n > 3):  # GM102
        n = n + 1
    return x + n


def while_and(x: Tensor, limit: int = 5):
    steps = 0
    while steps < limit and x.sum() > 1:  # GM102
        x = x / 2
        steps += 1
    return x


def while_item(x: Tensor):
    while x.sum().item() > 1:  # GM102
        x = x / 2
    return x


def for_range_of_item(x: Tensor, n: Tensor):
    for _ in range(n.item()):  # GM102
        x = x * 2
    return x


def for_range_of_int(x: Tensor, lengths: Tensor):
    for i in range(int(lengths.max())):  # GM102
        x = x + i
    return x


def for_tolist(x: Tensor, sizes: Tensor):
    total = x.sum()
    for size in sizes.tolist():  # GM102
        total = total + size
    return total


def for_nonzero(x: Tensor):
    total = x.sum()
    for row in (x > 0).nonzero():  # GM102
        total = total + row.sum()
    return total


class Halting(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(2, 2)

    def forward(self, h):
        halted = torch.zeros(h.shape[0])
        while (halted < 0.99).any():  # GM102
            h = torch.tanh(self.step(h))
            halted = halted + 0.4
        return h


CASES = [
    ("while_tensor", [lambda: (torch.tensor([3.0, 1.0]),), lambda: (torch.tensor([0.5]),)]),
    ("while_not", [lambda: (torch.ones(2),)]),
    ("while_and", [lambda: (torch.ones(4),)]),
    ("while_item", [lambda: (torch.ones(4),)]),
    ("for_range_of_item", [lambda: (torch.ones(2), torch.tensor(3))]),
    ("for_range_of_int", [lambda: (torch.ones(2), torch.tensor([1, 3]))]),
    ("for_tolist", [lambda: (torch.ones(2), torch.tensor([1, 3]))]),
    ("for_nonzero", [lambda: (torch.tensor([1.0, -1.0]),)]),
    ("Halting", [lambda: (torch.ones(2, 2),)]),
]
