"""warnings.warn in every spelling."""

import warnings
from warnings import warn

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect


@graph_effect
def _warn_slow_path():
    warnings.warn("slow path")


def plain(x: Tensor):
    y = x * 2
    _warn_slow_path()  # GM203
    return y + 1


@graph_effect
def _warn_group_none_deprecated():
    warnings.warn("group=None is deprecated", DeprecationWarning)


def with_category(x: Tensor, group=None):
    if group is None:
        _warn_group_none_deprecated()  # GM203
    return x * 2


@graph_effect
def _warn_shape(x):
    warn(f"shape {tuple(x.shape)}", UserWarning)


def imported(x: Tensor):
    y = x * 2
    _warn_shape(x)  # GM203
    return y + 1


def with_stacklevel(x: Tensor):
    y = x * 2
    warnings.warn("look at the caller", stacklevel=2)  # GM203
    return y + 1


@graph_effect
def _warn_minimum(y):
    if (y < 0).any():  # GM101
        warnings.warn(f"minimum {y.min():.1f}")


def of_a_value(x: Tensor):
    y = x * 2
    # GM101
    _warn_minimum(y)
    return y + 1


@graph_effect
def _warn_old_helper():
    warnings.warn("old helper", FutureWarning)


def deprecated(y):
    _warn_old_helper()  # GM203
    return y + 1


class Net(nn.Module):
    def forward(self, x):
        return deprecated(x * 2)


CASES = [
    (name, [lambda: (torch.tensor([1.0, 2.0]),), lambda: (torch.tensor([-1.0, 2.0]),)])
    for name in ["plain", "with_category", "imported", "with_stacklevel", "of_a_value", "Net"]
]
