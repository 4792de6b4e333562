"""Tensors where numbers are needed."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def upper_bound(x: Tensor, n: Tensor):
    return x[:n] * 2  # GM402


def lower_bound(x: Tensor, lengths: Tensor):
    return x[..., lengths.min() :]  # GM402


def of_a_list(x: Tensor, rows: list[Tensor], n: Tensor):
    return rows[n] + x  # GM402


def some_of_a_list(x: Tensor, n: Tensor):
    scales = [1.0, 2.0, 3.0]
    return x * sum(scales[:n])  # GM402


def up_to_the_longest(durations: Tensor):
    return torch.arange(durations.max(), device=durations.device)  # GM402


def new_one(x: Tensor, n: Tensor):
    return x.new_zeros(n + 1) + x[0]  # GM402


def sized(x: Tensor, n: Tensor):
    return torch.zeros((n + 1, 2)) + x[0]  # GM402


def largest(x: Tensor, n: Tensor):
    return x.topk(n + 1)  # GM402


def repeated(x: Tensor, n: Tensor):
    return x.repeat(n + 1)  # GM402


def padded(x: Tensor, n: Tensor):
    return F.pad(x, (0, n + 1))  # GM402


class Picked(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.ones(4, 2))

    def forward(self, scores):
        return self.table[scores.argmax()]  # GM402

def narrowed(x: Tensor, n: Tensor):
    return x.narrow(0, n - 1, 1)  # GM402


CASES = [
    ("upper_bound", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("lower_bound", [lambda: (torch.ones(4), torch.tensor([1, 2]))]),
    ("of_a_list", [lambda: (torch.ones(2), [torch.ones(2), torch.ones(2)], torch.tensor(1))]),
    ("some_of_a_list", [lambda: (torch.ones(2), torch.tensor(2))]),
    ("up_to_the_longest", [lambda: (torch.tensor([1, 3]),)]),
    ("new_one", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("sized", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("largest", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("repeated", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("padded", [lambda: (torch.ones(4), torch.tensor(2))]),
    ("Picked", [lambda: (torch.ones(4),)]),
    ("narrowed", [lambda: (torch.ones(4), torch.tensor(2))]),
]
