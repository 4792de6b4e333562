"""Breaks that somebody asked for."""

import torch
from torch import Tensor, nn


@torch.compiler.disable
def lookup(x):
    return x * 2


@torch._dynamo.disable
def lookup_as_before(x):
    return x * 2


def of_a_function(x: Tensor):
    return lookup(x + 1) + 1  # GM602


def of_another(x: Tensor):
    return lookup_as_before(x + 1) + 1  # GM602


def here(x: Tensor):
    y = x + 1
    torch._dynamo.graph_break()  # GM602
    return y * 2


class Cached(nn.Module):
    @torch.compiler.disable
    def remember(self, x):
        return x

    def forward(self, x):
        return self.remember(x) + 1  # GM602


CASES = [
    ("of_a_function", [lambda: (torch.ones(2),)]),
    ("of_another", [lambda: (torch.ones(2),)]),
    ("here", [lambda: (torch.ones(2),)]),
    ("Cached", [lambda: (torch.ones(2),)]),
]
