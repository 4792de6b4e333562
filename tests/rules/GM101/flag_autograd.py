"""Own differentiable functions: their forward is traced, and their backward where a gradient is wanted."""

import torch
from torch import nn


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        scale = x.abs().max()
        if scale > 2:  # GM101
            scale = scale * 1
        return (x / scale * levels).round() / levels

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        if grad.sum() == 0:  # GM101
            return grad
        return grad * (x >= 0)


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 4))
        self.round = Rounded.apply

    def forward(self, x):
        return x * self.round(self.weight, 4)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return Clamped.apply(self.fc(x))


CASES = [
    ("Quantized", [lambda: (torch.ones(4),)]),
    ("Gated", [lambda: (torch.ones(2),)]),
]
