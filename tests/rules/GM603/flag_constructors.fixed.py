"""Objects that compiled code makes: what their constructors do breaks there."""

import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect


class Block(nn.Module):
    def __init__(self, n, bias=True):
        super().__init__()
        if n < 1:
            raise ValueError("n")
        self.first = nn.Linear(n, n, bias=bias)  # GM603
        self.second = nn.Linear(n, n)
        self.scale = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def module(x: Tensor):
    return Block(4)(x).shape[0] + x


class Outer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.inner = Inner(n)
        self.after = nn.Linear(n, n)

    def forward(self, x):
        return self.after(self.inner(x))


class Inner(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(2):
            self.layers.append(nn.Linear(n, n))  # GM603

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def module_of_modules(x: Tensor):
    return Outer(4)(x).shape[0] + x


class Base(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))  # GM603


class Derived(Base):
    def __init__(self, n):
        super().__init__(n)
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return x * self.weight + self.bias


def built_by_the_base(x: Tensor):
    return Derived(4)(x)


@graph_effect
def _report_positive(x):
    if x.sum() > 0:  # GM101
        print("positive")


@graph_effect
def _check_too_large(x, limit):
    if x.max() > limit:  # GM301
        raise ValueError("too large")


class Stats:
    def __init__(self, x, limit=100.0):
        self.x = x
        self.mean = x.mean().item()  # GM401
        self._check(limit)
        # GM101
        _report_positive(x)

    def _check(self, limit):
        # GM301
        _check_too_large(self.x, limit)


def plain_object(x: Tensor):
    return x * Stats(x).mean


@graph_effect
def _check_negative(x):
    if x.min() < -1000:  # GM301
        raise ValueError("negative")


@dataclass
class Box:
    x: Tensor

    def __post_init__(self):
        # GM301
        _check_negative(self.x)


def record(x: Tensor):
    return Box(x.abs()).x + 1


class Timed:
    def __init__(self):
        self.start = time.time()  # GM601


def host_call(x: Tensor):
    timed = Timed()
    return x * 2, timed.start > 0


X = torch.arange(16.0).reshape(4, 4) + 0.5
CASES = [
    ("module", [lambda: (X,)]),
    ("module_of_modules", [lambda: (X,)]),
    ("built_by_the_base", [lambda: (X,)]),
    ("plain_object", [lambda: (X,)]),
    ("record", [lambda: (X,)]),
    ("host_call", [lambda: (X,)]),
]
