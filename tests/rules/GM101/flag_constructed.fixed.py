"""Tensors and modules that objects were given when they were made: helpers without annotations, bases, wrappers."""

import torch
from torch import nn
from graphmend_lsp.runtime import select


class Schedule:
    """No module: what it holds is what its constructor was given."""

    def __init__(self, betas, name="linear"):
        self.name = name
        self.alphas = 1 - betas

    @classmethod
    def linear(cls, steps):
        return cls(torch.linspace(0.1, 0.5, steps))

    @property
    def checked(self):
        if (self.alphas <= 0.6).any():  # GM101
            return self.alphas + 1
        return self.alphas

    def __iter__(self):
        for alpha in self.alphas:
            yield alpha


class Limit:
    def __init__(self, most):
        self.most = most

    def twice(self, x):
        if self.most > 1:  # GM101
            return x * 2
        return x


class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        betas = torch.linspace(0.1, 0.5, 3)
        self.schedule = Schedule(betas)
        self.limit = Limit(torch.tensor(0.5))

    def forward(self, x):
        y = x * self.schedule.checked
        if self.schedule.name == "linear":
            y = y + 1
        return self.limit.twice(y)


class MadeByAClassMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.schedule = Schedule.linear(3)

    def forward(self, x):
        y = x + 1
        for alpha in self.schedule:
            # GM101
            y = select(alpha > 0.7, y + alpha, y)
        return y


class Base(nn.Module):
    def __init__(self, threshold):
        super().__init__()
        self.threshold = threshold

    def over(self, x):
        if self.threshold > 0.1:  # GM101
            x = x + 1
        return x


class Derived(Base):
    def __init__(self):
        super().__init__(torch.tensor(0.3))

    def forward(self, x):
        y = x * 2
        # GM101
        y = torch.where(self.threshold > 0.2, y + 1, y)
        return self.over(y)


class Gate(nn.Module):
    def forward(self, x):
        y = x + 1
        # GM101
        y = torch.where(y.mean() > 0, y * 2, y)
        return y


class Wrapper:
    def __init__(self, net, post):
        self.net = net
        self.post = post

    def __call__(self, x):
        return self.post(self.net(x))


def sign(x):
    y = x * 3
    # GM101
    y = torch.where(y.sum() > 0, -y, y)
    return y


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.whole = Wrapper(Gate(), sign)

    def forward(self, x):
        return self.whole(x)


class Box:
    def __init__(self, low, high):
        self.low, self.high = low, high


def made_while_compiled(x):
    box = Box(x.min(), x.max())
    y = x + 1
    # GM101
    y = torch.where(box.low > 0, y * 2, y)
    if box.high is not None:
        y = y + 1
    return y


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, -3.0]),)


CASES = [
    ("Sampler", [up, down]),
    ("MadeByAClassMethod", [up]),
    ("Derived", [up, down]),
    ("Wrapped", [up, down]),
    ("made_while_compiled", [up, down]),
]
