"""Numbers that could stay tensors, and some that could not."""

import math

import torch
from torch import Tensor


def divided(x: Tensor):
    return x / x.abs().max().item()  # GM401


def by_name(x: Tensor, keep: Tensor):
    count = keep.sum().item()  # GM401
    return x.sum() / (count + 1e-6)


def through_math(x: Tensor):
    scale = 0.5 / math.sqrt(x.var() + 1.0)  # GM401
    return torch.exp(x * scale)


def returned_too(x: Tensor):
    scale = x.max().item()  # GM401
    return x * scale, scale


def as_a_count(x: Tensor):
    return x * int(x.sum())  # GM401


CASES = [
    ("divided", [lambda: (torch.ones(2),)]),
    ("by_name", [lambda: (torch.ones(2), torch.ones(2))]),
    ("through_math", [lambda: (torch.arange(4.0),)]),
    ("returned_too", [lambda: (torch.ones(2),)]),
    ("as_a_count", [lambda: (torch.ones(2),)]),
]
