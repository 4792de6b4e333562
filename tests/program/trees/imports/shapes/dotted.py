from torch import nn

import shapes.helpers.a_dotted as tools


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        tools.note(x)
        return y + 1
