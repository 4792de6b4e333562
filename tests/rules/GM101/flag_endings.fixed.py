"""Both sides end with the same store or call: it stays one, and takes its operand from the side that holds."""

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import select


class StoresWhatItReturns(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        with torch.no_grad():
            # GM101
            self.last = torch.where(x.sum() > 0, x * 2, x - 1)
        return x + self.last


class RegistersABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3), persistent=False)

    @torch.no_grad()
    def forward(self, x):
        # GM101
        # Large ones are scaled down.
        # Small ones are left alone.
        self.register_buffer(
            "scale",
            select(x.abs().max() > 1, x.abs() * 0.5, torch.ones_like(x)),
            persistent=False,
        )
        return x * self.scale


class SeveralStores(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.low = torch.zeros(3)
        self.high = torch.zeros(3)

    @torch.no_grad()
    def forward(self, x):
        # GM101
        if self.calls >= 0:
            calls_at_least_and_x = x.sum() > self.low.sum()
            self.calls += 1
            self.low = torch.where(calls_at_least_and_x, x - 1, x - 2)
            self.high = torch.where(calls_at_least_and_x, x + 1, x + 2)
        else:
            self.calls += 1
            self.low = x - 2
            self.high = x + 2
        return self.low, self.high


class Heavy(nn.Module):
    """The layer runs once, on the input of the side that holds."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        h = x * 1
        # GM101
        y = self.layer(torch.where(x.sum() > 0, h * 2, h - 1))
        return y


class KeepsOneObject(nn.Module):
    """What is stored and what is returned are one tensor."""

    def __init__(self):
        super().__init__()
        self.last = torch.zeros(3)

    @torch.no_grad()
    def forward(self, x):
        # GM101
        y = torch.where(x.sum() > 0, x * 2, x - 1)
        self.last = y
        y.add_(1)
        return y


class Detached(nn.Module):
    """Neither side has a gradient history that the attribute would hold."""

    def __init__(self):
        super().__init__()
        self.seen = torch.zeros(3)

    def forward(self, x):
        y = x * 2
        # GM101
        self.seen = torch.where(x.sum() > 0, (y + 1).detach(), (y - 1).detach())
        return y


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.ones(3)

    @torch.no_grad()
    def forward(self, x):
        # GM101
        self.gain = select(x.sum() > 1, x * 2, torch.where(x.sum() > 0, x * 3, x * 4))
        return x + self.gain


def dropout_once(x: Tensor):
    """Random numbers are drawn once on either path, and still are."""
    h = x + 1
    # GM101
    y = nn.functional.dropout(torch.where(x.sum() > 0, h * 2, h - 1), p=0.5)
    return y


def appends_on_both_sides(x: Tensor):
    kept = []
    # GM101
    kept.append(torch.where(x.sum() > 0, x * 2, x - 2))
    return kept


def works_before_the_end(x: Tensor):
    kept = []
    # GM101
    new_a = x * 2
    b = new_a + 1
    kept.append(torch.where(x.sum() > 0, b * new_a, x - 2))
    return kept


class ReturnsALayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        # GM101
        return self.layer(select(x.sum() > 0, x, x * 0.5))


def two_operands(x: Tensor):
    h = x + 1
    # GM101
    x_sum_above_0 = x.sum() > 0
    y = torch.matmul(torch.where(x_sum_above_0, h * 2, h - 1), torch.where(x_sum_above_0, h + 1, h - 2))
    return y


def stores_an_item(x: Tensor):
    kept = {"sum": 0, "all": torch.zeros(3)}
    # GM101
    kept["all"] = torch.where(x.sum() > 0, x * 2, x - 2)
    return kept


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, 0.5]),)


CASES = [
    ("StoresWhatItReturns", [up, down], {"repeat": 2}),
    ("RegistersABuffer", [up, lambda: (torch.tensor([0.1, 0.2, -0.3]),)], {"repeat": 2}),
    ("SeveralStores", [up, down], {"repeat": 3}),
    ("Heavy", [up, down]),
    ("KeepsOneObject", [up, down], {"repeat": 2}),
    ("Detached", [up, down], {"repeat": 2}),
    ("Chain", [up, down, lambda: (torch.tensor([0.1, 0.2, 0.3]),)]),
    ("dropout_once", [up, down]),
    ("appends_on_both_sides", [up, down]),
    ("works_before_the_end", [up, down]),
    ("ReturnsALayer", [up, down]),
    ("two_operands", [up, down]),
    ("stores_an_item", [up, down]),
]
