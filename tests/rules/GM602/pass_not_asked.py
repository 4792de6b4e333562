"""Functions that are traced although a decorator stands above them."""

import functools

import torch
from torch import Tensor


@torch.jit.ignore
def ignored(x):
    return x * 2


@torch.jit.unused
def unused(x):
    return x * 2


def plain(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@plain
def wrapped(x):
    return x * 2


@torch.no_grad()
def without_gradients(x):
    return x * 2


def calls(x: Tensor):
    return ignored(x) + unused(x) + wrapped(x) + without_gradients(x)


@torch.compiler.disable
def outside(x):
    return x * 3


class Reference(torch.nn.Module):
    @torch.compiler.disable
    def forward(self, x):
        # never compiled
        if x.sum() > 0:
            print("positive")
        return x * 2


CASES = [("calls", [lambda: (torch.ones(2),)])]
