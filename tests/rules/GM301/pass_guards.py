"""Guards that are decided while tracing."""

from typing import Optional

import torch
from torch import Tensor, nn


def on_a_shape(x: Tensor):
    # a size
    if x.shape[0] > 100:
        raise ValueError(f"too long: {x.shape}")
    return x * 2


def on_a_dtype(x: Tensor):
    # a dtype
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"expected a float tensor, got {x.dtype}")
    return x * 2


def on_none(x: Tensor, mask: Optional[Tensor] = None, bias: Optional[Tensor] = None):
    # None tests
    if mask is not None and bias is None:
        raise ValueError("a mask needs a bias")
    return x * 2


def on_sizes_of_two(x: Tensor, y: Tensor):
    # sizes of two tensors
    if x.shape != y.shape or x.size(0) != y.size(0):
        raise ValueError(f"shapes differ: {x.shape}, {y.shape}")
    return x * y


def on_a_number(x: Tensor, p: float = 0.5):
    # a Python number
    if not 0 <= p <= 1:
        raise ValueError(f"p must be in [0, 1]: {p}")
    return x * p


def caught(x: Tensor, named: dict[str, Tensor]):
    # an exception that is caught inside
    try:
        y = named["missing"]
    except KeyError:
        y = x
    return x + y


class Typed(nn.Module):
    def forward(self, x):
        # a type test
        if not isinstance(x, torch.Tensor):
            raise TypeError("expected a tensor")
        return x * 2


def an_assertion_in_other_words(x: Tensor):
    # compiled like `assert (x >= 0).all(), "negative"`
    if not (x >= 0).all():
        assert False, "negative"
    return x * 2


def an_assertion_behind_a_static_test(x: Tensor, most: int = 4):
    # the other branch is static
    if x.shape[0] > most:
        x = x[:most]
    elif not (x >= 0).all():
        assert 0
    return x * 2


CASES = [
    ("on_a_shape", [lambda: (torch.ones(2),)]),
    ("on_a_dtype", [lambda: (torch.ones(2),)]),
    ("on_none", [lambda: (torch.ones(2),)]),
    ("on_sizes_of_two", [lambda: (torch.ones(2), torch.ones(2))]),
    ("on_a_number", [lambda: (torch.ones(2),)]),
    ("caught", [lambda: (torch.ones(2), {})]),
    ("Typed", [lambda: (torch.ones(2),)]),
    ("an_assertion_in_other_words", [lambda: (torch.ones(2),)]),
    ("an_assertion_behind_a_static_test", [lambda: (torch.ones(2),)]),
]
