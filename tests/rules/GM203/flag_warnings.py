"""warnings.warn in every spelling."""

import warnings
from warnings import warn

import torch
from torch import Tensor, nn


def plain(x: Tensor):
    y = x * 2
    warnings.warn("slow path")  # GM203
    return y + 1


def with_category(x: Tensor, group=None):
    if group is None:
        warnings.warn("group=None is deprecated", DeprecationWarning)  # GM203
    return x * 2


def imported(x: Tensor):
    y = x * 2
    warn(f"shape {tuple(x.shape)}", UserWarning)  # GM203
    return y + 1


def with_stacklevel(x: Tensor):
    y = x * 2
    warnings.warn("look at the caller", stacklevel=2)  # GM203
    return y + 1


def of_a_value(x: Tensor):
    y = x * 2
    if (y < 0).any():  # GM101
        warnings.warn(f"minimum {y.min():.1f}")
    return y + 1


def deprecated(y):
    warnings.warn("old helper", FutureWarning)  # GM203
    return y + 1


class Net(nn.Module):
    def forward(self, x):
        return deprecated(x * 2)


CASES = [
    (name, [lambda: (torch.tensor([1.0, 2.0]),), lambda: (torch.tensor([-1.0, 2.0]),)])
    for name in ["plain", "with_category", "imported", "with_stacklevel", "of_a_value", "Net"]
]
