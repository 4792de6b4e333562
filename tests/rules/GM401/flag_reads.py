"""Numbers taken out of tensors."""

import math

import numpy as np
import torch
from torch import Tensor, nn


def item_in_arithmetic(x: Tensor):
    scale = x.abs().max().item()  # GM401
    return x / scale


def item_returned(x: Tensor):
    return x + 1, x.max().item()  # GM401


def as_int(x: Tensor):
    n = int(x.sum())  # GM401
    return x * n


def as_float(x: Tensor):
    return x / float(x.sum())  # GM401


def as_bool(x: Tensor):
    flag = bool(x.sum() > 0)  # GM401
    return x + 1, flag


def or_else(x: Tensor):
    scale = x.abs().max().item() or 1.0  # GM401
    return x / scale


def and_static(x: Tensor):
    ready = bool((x > 0).all()) and x.dim() == 2  # GM401
    return x + 1, ready, not x.max().item()  # GM401


def asked_whether_empty(x: Tensor):
    return x + 1, len(x.tolist()) and 3  # GM401


def listed(x: Tensor, sizes: Tensor):
    parts = sizes.tolist()  # GM401
    return x * 2, parts


def root_of_a_sum(x: Tensor):
    return x * math.sqrt(x.sum())  # GM401


def through_the_host(x: Tensor):
    return x * float(x.max().cpu())  # GM401


def remade(x: Tensor):
    return torch.tensor(x.max().item()) + x  # GM401


class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x)
        return y / self.largest(y)

    def largest(self, y):
        return y.abs().max().item()  # GM401

def integer_of_numpy(x: Tensor):
    return x * int(np.floor(7 // 2))  # GM401


def sum_of_numpy(x: Tensor):
    return x * float(np.mean([1.0, 2.0]))  # GM401


def rounded_up(x: Tensor):
    return x * math.ceil(np.sqrt(x.shape[0]))  # GM401


CASES = [
    ("item_in_arithmetic", [lambda: (torch.tensor([1.0, -2.0]),)]),
    ("item_returned", [lambda: (torch.tensor([1.0, -2.0]),)]),
    ("as_int", [lambda: (torch.tensor([1.0, 2.0]),)]),
    ("as_float", [lambda: (torch.tensor([1.0, 2.0]),)]),
    ("as_bool", [lambda: (torch.tensor([1.0, 2.0]),)]),
    ("or_else", [lambda: (torch.ones(2),)]),
    ("and_static", [lambda: (torch.ones(2, 2),)]),
    ("asked_whether_empty", [lambda: (torch.ones(2),)]),
    ("listed", [lambda: (torch.ones(3), torch.tensor([1, 2]))]),
    ("root_of_a_sum", [lambda: (torch.ones(4),)]),
    ("through_the_host", [lambda: (torch.ones(4),)]),
    ("remade", [lambda: (torch.ones(4),)]),
    ("Normalised", [lambda: (torch.ones(2, 2),)]),
    ("integer_of_numpy", [lambda: (torch.ones(2),)]),
    ("sum_of_numpy", [lambda: (torch.ones(2),)]),
    ("rounded_up", [lambda: (torch.ones(2),)]),
]
