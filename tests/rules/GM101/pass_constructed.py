"""Objects that are given numbers when they are made, or set to numbers later."""

import torch
from torch import nn


class Limit:
    """Given a number by one and a tensor by another."""

    def __init__(self, most):
        self.most = most

    def twice(self, x):
        if self.most > 1:
            return x * 2
        return x

    def clipped(self, x):
        return x.clamp(max=self.most)


class NumbersOnly(nn.Module):
    """A number is none of the device's."""

    def __init__(self):
        super().__init__()
        self.limit = Limit(2)
        self.soft = Limit(torch.tensor(0.5))

    def forward(self, x):
        return self.soft.clipped(self.limit.twice(x))


class Changed:
    def __init__(self, level):
        self.level = level


def changed_from_outside(x):
    held = Changed(x.max())
    held.level = 3
    if held.level > 2:
        x = x + 1
    return x


class Named:
    def __init__(self, height):
        self.height = height


def changed_by_name(x):
    held = Named(x.max())
    setattr(held, "height", 3)  # noqa: B010
    if held.height > 2:
        x = x + 1
    return x


class Replaced:
    def __init__(self, width):
        self.width = width

    def __setattr__(self, name, value):
        object.__setattr__(self, name, 3)


def changed_while_set(x):
    held = Replaced(x.max())
    if held.width > 2:
        x = x + 1
    return x


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


CASES = [
    ("NumbersOnly", [up]),
    ("changed_from_outside", [up]),
    ("changed_by_name", [up]),
    ("changed_while_set", [up]),
]
