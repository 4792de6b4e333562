from torch import nn

import shapes.helpers.a_absolute


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        shapes.helpers.a_absolute.note(x)
        return y + 1
