"""Branches that must be flagged but must not become a selection."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def result_may_be_the_argument(x: Tensor):
    if x.abs().max() > 1:  # GM101
        x = x.clamp(-1, 1)
    return x


def draws_random_numbers(x: Tensor):
    y = x + 1
    if x.sum() > 0:  # GM101
        y = y + torch.rand_like(x)
    return y


def may_raise(x: Tensor, i: int):
    y = x + 1
    if (x > 0).any():  # GM101
        y = y + x[i]
    return y


def gradient_is_nan(x: Tensor):
    y = x * 2
    if (x > 0).all():  # GM101
        y = y + x.sqrt()
    return y


def division(x: Tensor, n: Tensor):
    y = x * 2
    if n.sum() > 0:  # GM101
        y = x / n
    return y


def python_value(x: Tensor):
    if x.sum() > 0:  # GM101
        label = "positive"
    else:
        label = "negative"
    return x * 2, label


def appends(x: Tensor):
    kept = []
    if x.sum() > 0:  # GM101
        kept.append(x * 2)
    return kept


def writes_in_place(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y.add_(1)
        x.mul_(2)
    return y


def leaves_the_loop(x: Tensor):
    y = x * 2
    for row in x:
        if row.sum() < 0:  # GM101
            break
        y = y + row
    return y


def reduces_on_one_side(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y = y.sum(dim=0)
    return y


class CountsCalls(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        y = x * 2
        if x.sum() > 0:  # GM101
            self.calls += 1  # GM701
            y = y + 1
        return y


class Heavy(nn.Module):
    def __init__(self):
        super().__init__()
        self.big = nn.Linear(3, 3)

    def forward(self, x):
        y = x * 2
        if x.sum() > 0:  # GM101
            y = y + F.relu(self.big(x))
        return y


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, 0.5]),)


class KeepsWhatItSelects(nn.Module):
    def forward(self, x: Tensor):
        h = -x
        self.last = h.detach()
        if x.sum() > 0:  # GM101
            h = h.flip(-1)
        return h


CASES = [
    ("KeepsWhatItSelects", [lambda: (torch.ones(2),), lambda: (-torch.ones(2),)]),
    ("result_may_be_the_argument", [up, lambda: (torch.tensor([0.5, 0.5]),)]),
    ("draws_random_numbers", [up, down]),
    ("may_raise", [lambda: (torch.ones(3), 1), lambda: (-torch.ones(3), 9), lambda: (torch.ones(3), 9)]),
    ("gradient_is_nan", [up, down, lambda: (torch.zeros(2),)]),
    ("division", [lambda: (torch.ones(2), torch.ones(2)), lambda: (torch.ones(2), torch.zeros(2))]),
    ("python_value", [up, down]),
    ("appends", [up, down]),
    ("writes_in_place", [up, down]),
    ("leaves_the_loop", [lambda: (torch.ones(2, 2),), lambda: (torch.tensor([[1.0, 1.0], [-1.0, -1.0]]),)]),
    ("reduces_on_one_side", [up, down]),
    ("CountsCalls", [up, down]),
    ("Heavy", [up, down]),
]
