"""Elements that a mask chooses are changed in place."""

import torch
from torch import Tensor


def raised(x: Tensor):
    y = x.clone()
    y.copy_(torch.where(y > 1, y + 5, y))  # GM501
    return y


def lowered(x: Tensor):
    y = torch.relu(x)
    low = y < 1
    y.copy_(torch.where(low, y - 2, y))  # GM501
    return y, low


def scaled(x: Tensor):
    y = x.float() * 2
    y.copy_(torch.where(~(y > 1), y * 0.5, y))  # GM501
    return y


def scaled_by_name(x: Tensor):
    y = x.float() * 2
    low = y < 1
    y.copy_(torch.where(~low, y * 0.5, y))  # GM501
    return y


def divided(x: Tensor):
    y = x.clone()
    y[y > 1] /= 2  # GM501
    return y


def by_another(x: Tensor, step: Tensor):
    y = x.clone()
    y[y > 1] += step  # GM501
    return y


def of_rows(x: Tensor):
    y = x.clone()
    y[x.sum(-1) > 1] += 1  # GM501
    return y


def of_unknown_type(x: Tensor):
    y = x.clone()
    y[y > 1] += 0.5  # GM501
    return y


def values():
    return (torch.tensor([0.0, 2.0, float("nan"), -0.0]),)


CASES = [
    ("raised", [values, lambda: (torch.tensor([0, 2]),)]),
    ("lowered", [values]),
    ("scaled", [values]),
    ("scaled_by_name", [values]),
    ("divided", [values]),
    ("by_another", [lambda: (*values(), torch.tensor(1.0))]),
    ("of_rows", [lambda: (torch.ones(3, 2),)]),
    ("of_unknown_type", [values]),
]
