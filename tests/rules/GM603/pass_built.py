"""What may be built in compiled code, and what is built outside it."""

import torch
from torch import Tensor, nn


def without_parameters(x: Tensor):
    return nn.ReLU()(x) + nn.Softmax(-1)(x) + nn.MSELoss()(x, x)


def functional(x: Tensor):
    return torch.func.grad(lambda t: (t * t).sum())(x)


def detached(x: Tensor):
    return x.detach() + torch.zeros(2)


def initialised(x: Tensor):
    return nn.init.zeros_(torch.empty(2)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()

        class Config:
            width = 2

        self.layer = nn.Linear(Config.width, 2)
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.layer(x) * self.weight


CASES = [
    ("without_parameters", [lambda: (torch.ones(2),)]),
    ("functional", [lambda: (torch.ones(2),)]),
    ("detached", [lambda: (torch.ones(2),)]),
    ("initialised", [lambda: (torch.ones(2),)]),
    ("Net", [lambda: (torch.ones(2),)]),
]
