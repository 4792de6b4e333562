"""Where tensors come from: annotations, uses, containers, helpers, attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
import torch
from torch import nn


@dataclass
class Batch:
    features: torch.Tensor
    name: str = "train"


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


def string_annotation(x: "torch.Tensor"):
    y = x + 1
    if x.mean() > 0:  # GM101
        y = y * 2
    return y


def optional_argument(x: torch.Tensor, mask: Optional[torch.Tensor] = None):
    y = x + 1
    if mask is not None and mask.any():  # GM101
        y = y * 2
    return y


def union_annotation(x: torch.Tensor, mask: torch.Tensor | None = None):
    y = x + 1
    if mask is None or mask.all():  # GM101
        y = y * 2
    return y


def known_by_its_use(x, w):
    y = torch.matmul(x, w)
    if y.sum() > 0:  # GM101
        y = y + 1
    return y


def list_of_tensors(xs: list[torch.Tensor]):
    total = xs[0] * 0
    total = total + xs[0].sum()
    if xs[1].sum() > 0:  # GM101
        total = total + 1
    return total


def dict_of_tensors(batch: dict[str, torch.Tensor]):
    y = batch["x"] * 2
    if batch["mask"].any():  # GM101
        y = y + 1
    return y


def dataclass_field(batch: Batch):
    y = batch.features * 2
    if batch.features.sum() > 0:  # GM101
        y = y + 1
    return y


def named_tuple_field(pair: Pair):
    y = pair.left + pair.right
    if pair.left.sum() > 0:  # GM101
        y = y + 1
    return y


def tuple_result(x: torch.Tensor):
    values, index = x.max(dim=0)
    y = x + 1
    if values > 1:  # GM101
        y = y * 2
    return y


def _norm(x):
    return x.square().sum().sqrt()


def through_a_helper(x: torch.Tensor):
    y = x + 1
    if _norm(x) > 2:  # GM101
        y = y * 2
    return y


def created_here(n: int):
    x = torch.arange(n) * 1.0
    y = x + 1
    if x.sum() > 3:  # GM101
        y = y * 2
    return y


def loop_carried(x: torch.Tensor):
    total = torch.zeros(())
    for row in x:
        total = total + row.sum()
    y = x + 1
    if total > 1:  # GM101
        y = y * 2
    return y


def unpacked(xs: tuple[torch.Tensor, torch.Tensor]):
    a, b = xs
    y = a + 1
    if (b == 0).all():  # GM101
        y = y * 2
    return y


def extracted_scalar(x: torch.Tensor):
    y = x + 1
    if math.isnan(x.sum()):  # GM101
        y = y * 2
    return y


class Child(nn.Module):
    def forward(self, x):
        return x * 2, x.sum()


class Parent(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        h, total = self.child(x)
        if total > 0:  # GM101
            h = h + self.scale
        if self.scale.min() < 2:  # GM101
            h = h * 2
        return h


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, 0.5]),)


class NumpyScalars(nn.Module):
    """What numpy computes of plain numbers is traced as an array, wherever it was computed."""

    def __init__(self):
        super().__init__()
        self.step = np.lcm(2, 3)
        self.size = int(np.lcm(2, 3))

    def forward(self, x):
        if x.shape[0] % self.size:
            x = x + 1
        if x.shape[0] % self.step:  # GM101
            x = x + 1
        return x


def numpy_of_numbers(x: torch.Tensor, width: int = 4):
    if x.shape[0] % np.lcm(width, 6) != 0:  # GM101
        x = x + 1
    return x


CASES = [
    ("NumpyScalars", [up]),
    ("numpy_of_numbers", [up]),
    ("string_annotation", [up, down]),
    ("optional_argument", [lambda: (torch.ones(3), torch.tensor([True])), lambda: (torch.ones(3), torch.tensor([False]))]),
    ("union_annotation", [lambda: (torch.ones(3), torch.tensor([True])), lambda: (torch.ones(3), torch.tensor([False]))]),
    ("known_by_its_use", [lambda: (torch.ones(2, 2), torch.ones(2, 2)), lambda: (torch.ones(2, 2), -torch.ones(2, 2))]),
    ("list_of_tensors", [lambda: ([torch.ones(2), torch.ones(2)],), lambda: ([torch.ones(2), -torch.ones(2)],)]),
    (
        "dict_of_tensors",
        [
            lambda: ({"x": torch.ones(2), "mask": torch.tensor([True, False])},),
            lambda: ({"x": torch.ones(2), "mask": torch.tensor([False, False])},),
        ],
    ),
    ("dataclass_field", [lambda: (Batch(torch.ones(2)),), lambda: (Batch(-torch.ones(2)),)]),
    ("named_tuple_field", [lambda: (Pair(torch.ones(2), torch.ones(2)),), lambda: (Pair(-torch.ones(2), torch.ones(2)),)]),
    ("tuple_result", [up, down]),
    ("through_a_helper", [up, lambda: (torch.tensor([0.1, 0.1]),)]),
    ("created_here", [lambda: (3,), lambda: (5,)]),
    ("loop_carried", [up, down]),
    ("unpacked", [lambda: ((torch.ones(2), torch.zeros(2)),), lambda: ((torch.ones(2), torch.ones(2)),)]),
    ("extracted_scalar", [up]),
    ("Parent", [up, down]),
]
