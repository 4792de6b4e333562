import torch
from torch import nn

from . import gate


class Fourth(nn.Module):
    def forward(self, x: torch.Tensor, flag: torch.Tensor):
        return gate.gated(x, flag)
