from torch import nn

from .gate import bounded, gated, static


class Second(nn.Module):
    def forward(self, x):
        return static(gated(bounded(x), False), x.shape[1])
