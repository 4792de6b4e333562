"""Loops whose length is known while tracing."""

import torch
from torch import Tensor, nn


def over_rows(x: Tensor):
    # the first size is known
    total = torch.zeros(())
    for row in x:
        total = total + row.sum()
    return total


def over_a_size(x: Tensor):
    # range of a size
    for i in range(x.shape[0]):
        x = x + i
    return x


def over_enumerate(xs: list[Tensor]):
    # a list of tensors has a known length
    total = torch.zeros(())
    for i, x in enumerate(xs):
        total = total + x.sum() * i
    return total


def over_zip(x: Tensor, y: Tensor):
    # zip, reversed, dict.items
    total = torch.zeros(())
    for a, b in zip(x, reversed(y.unbind(0))):
        total = total + a * b
    for _, v in {"a": x, "b": y}.items():
        total = total + v.sum()
    return total


def while_counter(x: Tensor, n: int = 3):
    # a Python counter
    i = 0
    while i < n:
        x = x * 2
        i += 1
    return x


def while_size(x: Tensor):
    # a size that shrinks
    while x.shape[0] > 1:
        x = x[: x.shape[0] // 2]
    return x


def over_chunks(x: Tensor):
    # split and chunk give tuples of known length
    total = torch.zeros(())
    for part in x.chunk(2):
        total = total + part.max()
    for part in torch.split(x, 2):
        total = total + part.max()
    return total


def over_a_shape(x: Tensor):
    # a shape is a tuple of integers
    n = 1
    for size in x.shape:
        n = n * size
    return x * n


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

    def forward(self, x):
        # modules in a list
        for layer in self.layers:
            x = layer(x)
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x


CASES = [
    ("over_rows", [lambda: (torch.ones(2, 2),)]),
    ("over_a_size", [lambda: (torch.ones(2, 2),)]),
    ("over_enumerate", [lambda: ([torch.ones(2), torch.ones(3)],)]),
    ("over_zip", [lambda: (torch.ones(2), torch.ones(2))]),
    ("while_counter", [lambda: (torch.ones(2),)]),
    ("while_size", [lambda: (torch.ones(4),)]),
    ("over_chunks", [lambda: (torch.ones(4),)]),
    ("over_a_shape", [lambda: (torch.ones(4, 2),)]),
    ("Stack", [lambda: (torch.ones(2),)]),
]
