from torch import nn

try:
    from .helpers.a_optional import note
except ImportError:
    note = None


class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        if note is not None:
            note(x)
        return y + 1
