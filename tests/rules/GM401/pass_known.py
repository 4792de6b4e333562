"""Numbers that are known while tracing."""

import math

import numpy as np
import torch
from torch import Tensor, nn


def sizes(x: Tensor):
    n = int(x.shape[0])
    return x * n * float(x.dim()) * math.sqrt(x.shape[-1])


def counted(x: Tensor):
    return x / float(x.numel())


def of_a_setting(x: Tensor, p: float = 0.5):
    return x * float(p) + int(2.5)


def tensor_of_numbers(x: Tensor):
    return torch.tensor([1.0, 2.0]) + torch.as_tensor(x)


def type_of_it(x: Tensor):
    return x * torch.finfo(x.dtype).eps


def elements(x: Tensor):
    return x * len(x) + abs(x.sum()) + max(x.sum(), x.min())


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.scale = float(torch.tensor(3.0))

    def forward(self, x):
        return self.layer(x) * self.scale * sum(p.numel() for p in self.parameters())

def rounded_by_numpy(x: Tensor):
    # numpy's arrays of plain floats have a value while tracing
    n = int(np.ceil(x.shape[0] / 2)) + int(np.ceil(np.log2(x.shape[0])))
    return x[: int(np.floor(1.5))] * n / float(np.sqrt(x.shape[0])) * np.rint(2.5).item()


def arithmetic_of_numpy(x: Tensor):
    steps = np.sqrt(x.shape[0]) * 2 + 1
    return x * int(2 ** np.ceil(steps)) * float(-np.exp(1.0) / np.pi) * bool(np.sqrt(4.0))


CASES = [
    ("sizes", [lambda: (torch.ones(2),)]),
    ("counted", [lambda: (torch.ones(2),)]),
    ("of_a_setting", [lambda: (torch.ones(2),)]),
    ("tensor_of_numbers", [lambda: (torch.ones(2),)]),
    ("type_of_it", [lambda: (torch.ones(2),)]),
    ("elements", [lambda: (torch.ones(2),)]),
    ("Head", [lambda: (torch.ones(2, 2),)]),
    ("rounded_by_numpy", [lambda: (torch.ones(4),)]),
    ("arithmetic_of_numpy", [lambda: (torch.ones(4),)]),
]
