"""Both sides end alike, or seem to, but no selection keeps what the branch does."""

import torch
from torch import Tensor, nn


class OtherEffects(nn.Module):
    """One side counts, too."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.last = torch.zeros(3)

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.calls += 1  # GM701
            self.last = x * 2
        else:
            self.last = x - 1
        return x + self.last


class OtherAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.high = torch.zeros(3)
        self.low = torch.zeros(3)

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.high = x * 2
        else:
            self.low = x - 1
        return self.high + self.low


class OneSided(nn.Module):
    """The attribute would be there although nothing has stored it."""

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.seen = x * 2
        return x + 1


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = 0

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.mode = 1
        else:
            self.mode = 2
        return x * self.mode


class OtherShapes(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(3)

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.last = x * 2
        else:
            self.last = x.sum(dim=0)
        return x + self.last


class OtherCallees(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)

    def forward(self, x):
        h = x + 1
        if x.sum() > 0:  # GM101
            y = self.first(h)
        else:
            y = self.second(h)
        return y


class OtherBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(3))
        self.register_buffer("b", torch.zeros(3))

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.register_buffer("a", x * 2)
        else:
            self.register_buffer("b", x * 3)
        return self.a + self.b


class StoreBeforeWork(nn.Module):
    """What follows the store on one side reads it."""

    def __init__(self):
        super().__init__()
        self.last = torch.zeros(3)

    @torch.no_grad()
    def forward(self, x):
        if x.sum() > 0:  # GM101
            self.last = x * 2
            y = self.last + 1
        else:
            y = x - 1
            self.last = y
        return y


def in_place(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y.add_(x)
    else:
        y.add_(x * 2)
    return y


def other_methods(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y.add_(1)
    else:
        y.mul_(2)
    return y


def operand_may_raise(x: Tensor, i: int):
    kept = []
    if (x > 0).any():  # GM101
        kept.append(x[i])
    else:
        kept.append(x[0] * 1)
    return kept


def operand_is_random(x: Tensor):
    kept = []
    if x.sum() > 0:  # GM101
        kept.append(torch.rand_like(x))
    else:
        kept.append(x * 1)
    return kept


def other_keywords(x: Tensor):
    y = x + 1
    if x.sum() > 0:  # GM101
        z = torch.softmax(y * 2, dim=0)
    else:
        z = torch.softmax(y * 3, dim=0, dtype=torch.float64)
    return z


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, 0.5]),)


CASES = [
    ("OtherEffects", [up, down], {"repeat": 2}),
    ("OtherAttributes", [up, down], {"repeat": 2}),
    ("OneSided", [up, down]),
    ("Numbers", [up, down]),
    ("OtherShapes", [up, down]),
    ("OtherCallees", [up, down]),
    ("OtherBuffers", [up, down]),
    ("StoreBeforeWork", [up, down]),
    ("in_place", [up, down]),
    ("other_methods", [up, down]),
    ("operand_may_raise", [lambda: (torch.ones(3), 1), lambda: (-torch.ones(3), 9)]),
    ("operand_is_random", [up, down]),
    ("other_keywords", [up, down]),
]
