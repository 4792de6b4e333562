"""Parameters made in compiled code, there or in the constructor of a layer that is."""

import torch
from torch import Tensor, nn


def made(x: Tensor):
    return nn.Parameter(torch.ones(2)) * x  # GM603


def kept_fixed(x: Tensor):
    bias = torch.nn.parameter.Parameter(torch.zeros(2), requires_grad=False)  # GM603
    return x + bias


def copied(x: Tensor):
    return nn.Parameter(x * 2) + 1  # GM603





CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["made", "kept_fixed", "copied"]]
