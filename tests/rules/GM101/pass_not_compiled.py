"""Branches on data in code that torch.compile never sees."""

import torch
from torch import Tensor, nn


def not_reached(x: Tensor):
    # nobody compiles this function
    if x.sum() > 0:
        return x
    return -x


@torch.compiler.disable
def disabled(x: Tensor):
    # taken out on purpose, and not called here
    if x.sum() > 0:
        return x
    return -x


class Plain:
    def forward(self, x: Tensor):
        # not an nn.Module
        if x.sum() > 0:
            return x
        return -x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        # runs before anything is compiled
        weight = torch.randn(3)
        if weight.sum() > 0:
            weight = -weight
        self.weight = nn.Parameter(weight)

    def load(self, state):
        # not called by forward
        if state["weight"].sum() > 0:
            self.weight.data.copy_(state["weight"])

    def forward(self, x):
        # a dead branch
        if False:
            return not_reached(x)
        if not torch.compiler.is_compiling() and x.sum() > 0:
            return x * self.weight + 0
        return x * self.weight


def defines_only(x: Tensor):
    # the inner function is not called
    def later(y):
        if y.sum() > 0:
            return y
        return -y

    return x * 2


def numpy_free(values):
    # a list of numbers
    if sum(values) > 3:
        return torch.ones(3)
    return torch.zeros(3)


CASES = [
    ("Net", [lambda: (torch.ones(3),)]),
    ("defines_only", [lambda: (torch.ones(3),)]),
    ("numpy_free", [lambda: ([1, 2, 3],)]),
]
