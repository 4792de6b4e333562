from torch import nn

from .gate import bounded, gated, static


class Third(nn.Module):
    def forward(self, x):
        return static(gated(bounded(x, 0), self.training), x.shape[1])
