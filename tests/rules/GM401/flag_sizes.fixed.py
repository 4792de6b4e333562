"""The number of elements, taken the long way round."""

import numpy as np
import torch
from torch import Tensor


def elements(x: Tensor):
    return x / x.shape.numel()  # GM401


def of_a_part(x: Tensor):
    count = x.size()[1:].numel()  # GM401
    return x.view(-1, count)


def of_something_else(x: Tensor, sizes: tuple[int, ...]):
    return x / int(np.prod(sizes))  # GM401


CASES = [
    ("elements", [lambda: (torch.ones(2, 3),), lambda: (torch.ones(()),)]),
    ("of_a_part", [lambda: (torch.ones(2, 3),)]),
    ("of_something_else", [lambda: (torch.ones(2, 3), (2, 3))]),
]
