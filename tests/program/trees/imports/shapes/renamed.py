from torch import nn

from .helpers.a_renamed import note as remember


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        remember(x)
        return y + 1
