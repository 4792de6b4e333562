"""What is compiled: spellings of torch.compile, and what compiled code reaches."""

import functools

import torch as th
from torch import nn
from torch import compile as jit
from graphmend_lsp.runtime import select


@th.compile
def decorated(x):
    y = x.relu()
    # GM101
    y = th.where(y.sum() > 1, y * 2, y)
    return y


@th.compile(dynamic=True)
def decorated_with_options(x):
    y = x.relu()
    # GM101
    y = th.where(y.sum() > 1, y * 2, y)
    return y


@functools.partial(th.compile, dynamic=False)
def decorated_by_a_partial(x):
    y = x.relu()
    # GM101
    y = th.where(y.sum() > 1, y * 2, y)
    return y


@jit
def decorated_by_another_name(x):
    y = x.relu()
    # GM101
    y = th.where(y.sum() > 1, y * 2, y)
    return y


def compiled_below(x):
    y = x.relu()
    # GM101
    y = th.where(y.sum() > 1, y * 2, y)
    return y


fast = th.compile(compiled_below, backend="eager")


def helper(y):
    if y.sum() > 1:  # GM101
        y = y * 2
    return y


@th.compile
def reaches_a_helper(x):
    return helper(x.relu())


class Base(nn.Module):
    def scaled(self, y):
        if y.sum() > 1:  # GM101
            y = y * 2
        return y


class Derived(Base):
    def forward(self, x):
        return self.scaled(x.relu())


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Derived() for _ in range(2)])
        self.tail = nn.Sequential(nn.ReLU(), Last())

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.tail(x)


class Last(nn.Module):
    def forward(self, x):
        y = x + 1
        # GM101
        y = th.where(y.sum() > 1, y * 2, y)
        return y


def twice(function):
    @functools.wraps(function)
    def wrapper(x):
        y = function(x)
        # GM101
        y = th.where(y.sum() > 1, y + 1, y)
        return y

    return wrapper


@th.compile
@twice
def wrapped(x):
    return x * 2


class WithProperty(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(th.ones(3))

    @property
    def normed(self):
        w = self.weight * 1.0
        # GM101
        w = select(self.weight.norm() > 1, w / 2, w)
        return w

    def forward(self, x):
        return x * self.normed


@th.no_grad()
def under_no_grad(x):
    y = x.relu()
    # GM101
    y = th.where(y.sum() > 1, y * 2, y)
    return y


def inner_function(x):
    def scaled(y):
        if y.sum() > 1:  # GM101
            y = y * 2
        return y

    return scaled(x.relu())


def up():
    return (th.ones(3),)


def down():
    return (-th.ones(3),)


CASES = [
    (name, [up, down])
    for name in [
        "decorated",
        "decorated_with_options",
        "decorated_by_a_partial",
        "decorated_by_another_name",
        "compiled_below",
        "reaches_a_helper",
        "Derived",
        "Layers",
        "Last",
        "wrapped",
        "WithProperty",
        "under_no_grad",
        "inner_function",
    ]
]
