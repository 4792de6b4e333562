"""Ways in which a tensor comes out of a call as the very same tensor: a selection in between would make a new one."""

import functools

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import Tensor, nn


class Same(nn.Module):
    def forward(self, x):
        return x


def same(x):
    return x


class Drops(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def step(self, v):
        if v.sum() < 0.5:  # GM101
            v = v.clamp(-1, 1)
        return self.drop(v)

    def forward(self, x):
        h = torch.relu(x) * 2
        return h, self.step(h)


class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[Same() for _ in range(2)])

    def step(self, v):
        if v.sum() < 0.5:  # GM101
            v = v.clamp(-1, 1)
        return self.layers(v)

    def forward(self, x):
        h = torch.relu(x) * 2
        return h, self.step(h)


class Checkpoints(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Same()

    def step(self, v):
        if v.sum() < 0.5:  # GM101
            v = v.clamp(-1, 1)
        return torch.utils.checkpoint.checkpoint(self.layer, v, use_reentrant=False)

    def forward(self, x):
        h = torch.relu(x) * 2
        return h, self.step(h)


def plus(v):
    if v.sum() < 0.5:  # GM101
        v = v.clamp(-1, 1)
    return +v


def with_plus(x: Tensor):
    h = torch.relu(x) * 2
    return h, plus(h)


def partly(v):
    if v.sum() < 0.5:  # GM101
        v = v.clamp(-1, 1)
    return functools.partial(same)(v)


def with_partial(x: Tensor):
    h = torch.relu(x) * 2
    return h, partly(h)


def mapped(v):
    if v.sum() < 0.5:  # GM101
        v = v.clamp(-1, 1)
    return next(iter(map(same, [v])))


def with_map(x: Tensor):
    h = torch.relu(x) * 2
    return h, mapped(h)


def computed(v):
    # GM101
    v = torch.where(v.sum() < 0.5, v.clamp(-1, 1), v)
    return F.dropout(v, 0.5, training=False) * 2


def with_computed(x: Tensor):
    h = torch.relu(x) * 2
    return h, computed(h)


def rows():
    return (torch.tensor([[1.0, -2.0], [3.0, 0.5]]),)


def negative():
    return (torch.tensor([[-1.0, -2.0], [-3.0, -0.5]]),)


CASES = [
    ("Drops", [rows, negative]),
    ("Sequences", [rows, negative]),
    ("Checkpoints", [rows, negative]),
    ("with_plus", [rows, negative]),
    ("with_partial", [rows, negative]),
    ("with_map", [rows, negative]),
    ("with_computed", [rows, negative]),
]
