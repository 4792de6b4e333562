"""The text of a tensor that is kept, stored, raised or put into another one; and that of what is known while tracing."""

import torch
from torch import Tensor, nn


def kept(x: Tensor):
    text = f"mean {x.mean():.2f}"
    return x + 1, text, f"<{text}>", "{}".format(x.sum())


def key(x: Tensor):
    return x + 1, {f"{x.mean()}": 1}, [f"{v}" for v in (x, x * 2)]


def raised(x: Tensor):
    if x.dim() > 4:
        raise ValueError("too many: " + f"{x}")
    return x * 2


def of_sizes(x: Tensor):
    text = f"{tuple(x.shape)}" + f" {x.dtype}"
    return x + len(text), text.upper(), ", ".join(f"{n}" for n in x.shape)


class Net(nn.Module):
    def forward(self, x):
        self.message = f"mean {x.mean():.2f}"
        return x * 2


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["kept", "key", "raised", "of_sizes", "Net"]]
