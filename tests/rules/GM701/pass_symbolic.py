"""Where the numbers of modules are made symbolic, they cost two compilations."""

import torch
import torch._dynamo
from torch import nn


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    @torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True)
    def forward(self, x):
        self.count += 1
        return x * 2


def floats():
    return (torch.arange(4.0),)


CASES = [("Counts", [floats], {"repeat": 9})]
