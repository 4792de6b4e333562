"""Warnings that compiled code does not meet."""

import warnings

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore", message="module level")


def given(x: Tensor, group: str = "world"):
    # only for an argument that is not None here
    if torch.compiler.is_compiling():
        return x * 2
    warnings.warn("eager only")
    return x * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        # before compilation
        warnings.warn("built")

    def forward(self, x):
        return x * 2


class Warner:
    def warn(self, text):
        # an object of one's own
        return len(text)


def own_warn(x: Tensor):
    return x * Warner().warn("four")


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["given", "Net", "own_warn"]]
