import torch
from torch import nn

from .growing import growing, logged, never


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = 5
        self.kind = "long"
        self.scale = 1.0

    @torch.no_grad()
    @growing
    def forward(self, positions):
        return positions * self.scale


class Plain(nn.Module):
    @logged("plain")
    def forward(self, x):
        return x + 1


@never
def load(path):
    return torch.load(path)
