from torch import nn

from ..parts.masks import masked


class Attention(nn.Module):
    def forward(self, x):
        return masked(x)
