"""Objects that compiled code makes, with constructors that are traced."""

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Plain(nn.Module):
    def __init__(self, n, affine):
        super().__init__()
        self.n = n
        self.act = nn.ReLU()
        self.drop = nn.Dropout(0.0)
        self.register_buffer("scale", torch.ones(n))
        if affine:
            self.weight = nn.Parameter(torch.ones(n))
        else:
            self.weight = None

    def forward(self, x):
        x = self.drop(self.act(x * self.scale))
        return x if self.weight is None else x * self.weight


def without_parameters(x: Tensor):
    return Plain(4, False)(x) + 1


class Window:
    total = 0

    def __init__(self, x, size=2):
        self.x = x
        self.size = size
        self.seen = []
        if x.dim() > 1 and size > 1:
            self.seen.append(x * 2)
        self.rows = x.shape[0]

    def stacked(self):
        return torch.stack(self.seen).sum(0)


def plain_object(x: Tensor):
    window = Window(x)
    if window.rows > 2:
        return window.stacked()
    return x


class Pair(NamedTuple):
    a: Tensor
    b: int = 1


@dataclass(frozen=True)
class Options:
    scale: float = 2.0
    names: list = field(default_factory=list)

    def __post_init__(self):
        if self.scale < 0:
            raise ValueError("scale")


class Mode(enum.Enum):
    ONE = 1
    TWO = 2


def records(x: Tensor):
    pair, options = Pair(x), Options(3.0)
    if options.scale > 2 and Mode(1) is Mode.ONE:
        return pair.a * options.scale
    return x


class Refused(ValueError):
    def __init__(self, name, got):
        super().__init__(f"{name}: {got}")
        self.got = got


def exception(x: Tensor):
    if x.shape[0] > 100:
        raise Refused("rows", x.shape[0])
    return x + 1


X = torch.arange(16.0).reshape(4, 4) + 0.5
CASES = [
    ("without_parameters", [lambda: (X,)]),
    ("plain_object", [lambda: (X,)]),
    ("records", [lambda: (X,)]),
    ("exception", [lambda: (X,)]),
]
