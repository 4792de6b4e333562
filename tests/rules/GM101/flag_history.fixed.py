"""Selections where gradients are not recorded: what comes from outside has a history, what is made there has none."""

import torch
from torch import nn
from graphmend_lsp.runtime import select


def ones(*shape):
    return torch.ones(*shape)


def from_outside(x):
    h = x + x
    with torch.no_grad():
        if x.sum() > 0:  # GM101
            h = h * 2
    return h


def made_inside(x):
    with torch.no_grad():
        k = x + 1
        # GM101
        k = torch.where(k.sum() > 0, k * 2, k)
    return x * k


@torch.no_grad()
def of_an_argument(x):
    h = x.abs()
    # GM101
    h = torch.where(h.sum() > 0, h * 2, h)
    return h


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.tensor(0.5))

    def forward(self, x):
        with torch.no_grad():
            low = x.amin()
            # GM101
            low = select(low > self.low, self.low, low)
        return x.clamp(min=low)


def _cut(h):
    if h.sum() > 0:  # GM101
        h = h * 2
    return h * 1


def called_without_recording(x):
    h = x + x
    with torch.no_grad():
        k = _cut(h)
    return h + k


def guarded_root(v):
    scale = torch.sqrt(v)
    if v.sum() < 1e-6:  # GM101
        scale = torch.ones_like(v)
    return v * scale


def clamped_quotient(x):
    h = x / x.norm()
    # GM101
    h = select(h.abs().max() > 0.5, h.clamp(-0.5, 0.5), h)
    return h


def quotient_of_an_earlier_turn(x):
    h = x * 2
    for _ in range(2):
        if h.sum() >= 1:  # GM101
            h = x**2
        h = h / h
    return h


CASES = [
    ("from_outside", [lambda: (ones(3),), lambda: (-ones(3),)]),
    ("made_inside", [lambda: (ones(3),), lambda: (-2 * ones(3),)]),
    ("of_an_argument", [lambda: (ones(3),), lambda: (torch.zeros(3),)]),
    ("Frozen", [lambda: (ones(3),), lambda: (-ones(3),)]),
    ("called_without_recording", [lambda: (ones(3),), lambda: (-ones(3),)]),
    ("guarded_root", [lambda: (ones(3),), lambda: (torch.zeros(3),)]),
    ("clamped_quotient", [lambda: (ones(3),), lambda: (torch.eye(3),)]),
    ("quotient_of_an_earlier_turn", [lambda: (ones(3),), lambda: (torch.tensor([1.0, 0.0, 2.0]),)]),
]
