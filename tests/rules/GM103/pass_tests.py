"""Tests that look like GM103 and ask for no tensor's truth."""

from typing import Optional

import torch
from torch import Tensor


def bitwise(x: Tensor):
    # element by element
    return (x > 0) & (x < 1) | ~(x == 2)


def comparison(x: Tensor):
    # one comparison is a tensor
    return x > 0


def default(x: Tensor, bias: Optional[Tensor] = None):
    # or/and of None and sizes
    n = x.shape[0] or 1
    has = bias is not None and x.dim() == 1
    return x * n, has, not has


def any_of_names(x: Tensor, names: tuple[str, ...] = ("a", "b")):
    # any/all over Python values
    return x if any(n == "a" for n in names) and all(n for n in names) else -x


def tensor_any(x: Tensor):
    # the tensor functions
    return torch.any(x > 0), x.all()


def membership(x: Tensor, named: dict[str, Tensor]):
    # keys and sizes
    return x * 2 if "a" in named and x.dtype in (torch.float32,) else x


def filtered_by_size(xs: list[Tensor]):
    # the filter is a size
    return [x * 2 for x in xs if x.shape[0] > 1]


def sorted_sizes(xs: list[Tensor]):
    # sorted by Python numbers
    return sorted(xs, key=lambda t: t.shape[0])


def chained_sizes(x: Tensor):
    # a chain of integers
    return x * 2 if 0 < x.shape[0] < 10 else x


def builtin_max(x: Tensor, y: Tensor):
    # max and min of tensors are traced
    return max(x.sum(), y.sum()), min(x.sum(), 1.0)


CASES = [
    ("bitwise", [lambda: (torch.ones(2),)]),
    ("comparison", [lambda: (torch.ones(2),)]),
    ("default", [lambda: (torch.ones(2),)]),
    ("any_of_names", [lambda: (torch.ones(2),)]),
    ("tensor_any", [lambda: (torch.ones(2),)]),
    ("membership", [lambda: (torch.ones(2), {"a": torch.ones(1)})]),
    ("filtered_by_size", [lambda: ([torch.ones(2), torch.ones(1)],)]),
    ("sorted_sizes", [lambda: ([torch.ones(2), torch.ones(1)],)]),
    ("chained_sizes", [lambda: (torch.ones(2),)]),
    ("builtin_max", [lambda: (torch.ones(2), torch.ones(2))]),
]
