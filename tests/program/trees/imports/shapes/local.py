from torch import nn

from .helpers.a_local import note


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        note(x)
        return y + 1
