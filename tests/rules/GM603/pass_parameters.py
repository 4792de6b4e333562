"""Layers without parameters, and parameters of what was passed in or is kept."""

import torch
from torch import Tensor, nn


def plain_norms(x: Tensor):
    y = nn.LayerNorm(2, elementwise_affine=False)(x)
    y = nn.GroupNorm(1, 2, affine=False)(y)
    return nn.BatchNorm1d(2, affine=False)(y)


def passed_in(x: Tensor):
    return nn.Parameter(x) + 1


class Half(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def of_the_project(x: Tensor):
    return Half(0.5)(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("start", torch.ones(2))

    def forward(self, x):
        return x * nn.Parameter(self.start)


CASES = [(name, [lambda: (torch.ones(2, 2),)]) for name in ["plain_norms", "passed_in", "of_the_project", "Net"]]
