"""Tensors that index tensors, numbers that are known, and what operators take as tensors."""

import torch
from torch import Tensor


def rows(x: Tensor, index: Tensor):
    return x[index] + x.index_select(0, index)


def passed_in(x: Tensor, n: Tensor):
    # its value is taken from the call
    return torch.arange(n) + x[n]


def bounds(x: Tensor):
    n = x.shape[0] // 2
    return x[:n], x[n:], x.narrow(0, 0, n), torch.arange(n)


def made_of_numbers(x: Tensor):
    # nothing of it comes from the device
    half = torch.div(x.shape[0], 2, rounding_mode="trunc")
    return x.view(half, -1), x.new_zeros(half - 1), torch.min(x, torch.zeros_like(x)), torch.zeros(torch.tensor(3) + 1)


def counted(x: Tensor, k: int = 2):
    return x.topk(k)[0], x.repeat(k), x.view(k, -1)


def operands(x: Tensor):
    t = x.sum()
    return x.clamp(max=t) + x**t + torch.pow(2, t) + x.masked_fill(x > t, 0.0)


def filled(x: Tensor):
    return x.clone().fill_(x.sum()) * torch.stack([x.sum(), x.max()])

def full_of_it(x: Tensor):
    return torch.full((4,), x.sum()) + torch.full([4], fill_value=x.max())


CASES = [
    ("rows", [lambda: (torch.ones(4), torch.tensor([0, 2]))]),
    ("passed_in", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("bounds", [lambda: (torch.ones(4),)]),
    ("made_of_numbers", [lambda: (torch.ones(4),)]),
    ("counted", [lambda: (torch.ones(4),)]),
    ("operands", [lambda: (torch.ones(4),)]),
    ("filled", [lambda: (torch.ones(2),)]),
    ("full_of_it", [lambda: (torch.ones(4),)]),
]
