from torch import nn

from .gate import bounded, gated, static


class First(nn.Module):
    def forward(self, x):
        return static(gated(bounded(x), True), x.shape[1])
