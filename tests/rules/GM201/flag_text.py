"""A tensor as text."""

import torch
from torch import Tensor


def with_str(x: Tensor):
    y = x * 2
    text = str(y)  # GM201
    return y + len(text)


def with_repr(x: Tensor):
    y = x * 2
    text = repr(y)  # GM201
    return y + len(text)


def percent(x: Tensor):
    y = x * 2
    text = "%s" % y  # GM201
    return y + 1, text


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["with_str", "with_repr", "percent"]]
