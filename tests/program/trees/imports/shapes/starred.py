from torch import nn

from shapes.helpers.a_starred import *  # noqa: F403


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        note_starred(x)
        return y + 1
