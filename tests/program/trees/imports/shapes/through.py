from torch import nn

from shapes.helpers import note_through


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        note_through(x)
        return y + 1
