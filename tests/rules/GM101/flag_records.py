"""Records: fields that are replaced, attributes that ``__post_init__`` adds, tables of tensors and numbers."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn


@dataclass
class State:
    h: Tensor
    step: int = 0

    def __post_init__(self):
        self.peak = self.h.abs().max()
        self.label = f"step {self.step}"

    @property
    def finite(self):
        return torch.isfinite(self.h).all()

    def advanced(self, by):
        return replace(self, h=self.h + by, step=self.step + 1)


class Point(NamedTuple):
    at: Tensor
    count: int = 0


def replaced(x: Tensor):
    state = State(x).advanced(x)
    y = state.h
    if state.finite:  # GM101
        y = y + 1
    if state.step > 0:
        y = y * 2
    return y


def added_after_the_fields(x: Tensor):
    state = State(x)
    y = x * 2
    if state.peak > 1:  # GM101
        y = y + 1
    if state.label:
        y = y + 1
    return y


def another_point(x: Tensor):
    point = Point(x)._replace(at=x * 2, count=3)
    y = point.at + 1
    if point.count > 2:
        y = y + 1
    if point.at.sum() > 0:  # GM101
        y = y + 1
    return y * 2 if point[1] > 2 else y


class Limits(nn.Module):
    TABLE = {"low": torch.tensor(-1.0), "steps": 2}

    def __init__(self):
        super().__init__()
        self.given = {"scale": torch.ones(2), "count": 3}

    def forward(self, x):
        y = x + 1
        if self.TABLE["steps"] > 1 and self.given["count"] > 2:
            y = y + 1
        if x.mean() > self.TABLE["low"]:  # GM101
            y = y * 2
        if self.given.get("other") is None:
            y = y + 1
        if self.given["scale"][0] > 0:  # GM101
            y = y + 1
        return y


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, -3.0]),)


CASES = [
    ("replaced", [up, down]),
    ("added_after_the_fields", [up, down]),
    ("another_point", [up, down]),
    ("Limits", [up, down]),
]
