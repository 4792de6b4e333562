"""Chained comparisons: what stands in the middle is computed once in Python, and the end only if the first part holds."""

import torch
from torch import Tensor


def reduced(x: Tensor):
    if 0 < x.min() < 1:  # GM101
        x = x + 1
    else:
        x = x - 1
    return x * 2


def of_a_function(x: Tensor):
    return x * 2 if -1 < torch.mean(x) <= 1.5 else x - 2  # GM101


def arithmetic(x: Tensor):
    y = x * 3
    if 0 < x.sum() / x.shape[0] < x.abs().sum():  # GM101
        y = y + 1
    return y


def joined(x: Tensor, flag: bool = True):
    y = x * 3
    if flag and 0 < x.max() < 4 and x.sum() > 1:  # GM101
        y = y * 2
    return y


def three(x: Tensor):
    y = x * 3
    if -9 < x.sum() < x.abs().sum() < 99:  # GM101
        y = y * 2
    return y


def random(x: Tensor):
    """Drawn twice it would be two numbers."""
    if 0.1 < torch.rand(1).sum() < 0.9:  # GM101
        x = x * 2
    return x


def written(x: Tensor):
    if 0 < x.clone().add_(1).sum() < 9:  # GM101
        x = x * 2
    return x


def raises_at_the_end(x: Tensor):
    """The end may raise, and is not computed where the first part does not hold."""
    total = x.sum()
    if 100 < total < x[7 + x.long().sum()]:  # GM101
        x = x * 2
    return x


def in_the_middle_of_four(x: Tensor):
    if 100 < x.sum() < x[:0].max() < 9:  # GM101
        x = x * 2
    return x


def small():
    return (torch.tensor([0.5, 0.25, 0.75]),)


def large():
    return (torch.tensor([3.0, 2.0, 5.0]),)


def negative():
    return (torch.tensor([-3.0, -0.5, 0.25]),)


def broken():
    return (torch.tensor([float("nan"), 1.0, 2.0]),)


def nothing():
    return (torch.zeros(0),)


ALL = [small, large, negative, broken, nothing]
CASES = [
    ("reduced", ALL),
    ("of_a_function", ALL),
    ("arithmetic", ALL[:-1]),
    ("joined", ALL),
    ("three", ALL),
    ("random", [small]),
    ("written", ALL),
    ("raises_at_the_end", [small]),
    ("in_the_middle_of_four", [small]),
]
