"""State that changes and is not compiled anew at each call."""

import collections

import torch
from torch import nn

RATE = 1.0


class Stats:
    def __init__(self):
        self.calls = 0
        self.items = []

    def tick(self, x):
        self.calls += 1
        self.items.append(x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.rate = 1.0
        self.even = False
        self.items = []
        self.table = {}
        self.recent = collections.deque(maxlen=3)
        self.cache = None
        self.first = True
        self.sizes = None
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.total = torch.zeros(())

    def forward(self, x):
        return x * 2


class Float(Base):
    def forward(self, x):
        self.rate *= 0.9
        return x * self.rate


class Buffer(Base):
    def forward(self, x):
        self.steps += 1
        self.steps.add_(1)
        self.total = self.total + 1
        return x * self.steps


class Cache(Base):
    def forward(self, x):
        self.cache = x * 2
        self.sizes = x.shape
        return x * 2


class Norm(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        self.norm.num_batches_tracked.add_(1)
        return x * 2


class Zero(Base):
    def forward(self, x):
        self.n += 0
        return x * 2


class SetBack(Base):
    def forward(self, x):
        self.n = 0
        for _ in range(3):
            self.n += 1
        return x * self.n


class SetBackElsewhere(Base):
    def forward(self, x):
        self.begin()
        self.n += 1
        self.items.append(x.sum())
        return x * self.n

    def begin(self):
        self.n = 0
        self.items = []


class ShortRound(Base):
    def forward(self, x):
        self.n = (self.n + 1) % 4
        return x * 2


class Few(Base):
    def forward(self, x):
        self.n = min(self.n + 1, 3)
        return x * 2


class UnderATest(Base):
    def forward(self, x):
        if self.n < 3:
            self.n += 1
        if len(self.items) < 2:
            self.items.append(x.sum())
        return x * 2


class FilledUp(Base):
    """As caches do that make their layers on demand."""

    def forward(self, x):
        while len(self.items) <= x.shape[0]:
            self.items.append(0)
        return x * 2


class AfterATest(Base):
    def forward(self, x):
        if self.n > 2:
            return x * 3
        self.n += 1
        return x * 2


class StartsOver(Base):
    def forward(self, x):
        self.n += 1
        if self.n >= 3:
            self.n = 0
        return x * 2


class Toggle(Base):
    def forward(self, x):
        self.n = 1 - self.n
        self.even = not self.even
        return x * 2


class Once(Base):
    def forward(self, x):
        if self.first:
            self.first = False
            self.items.append(x.sum())
        return x * 2


class Evaluated(Base):
    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.n += 1
        return x * 2


class Anew(Base):
    def forward(self, x):
        self.items = []
        self.items.append(x.sum())
        return x * 2


class Emptied(Base):
    def forward(self, x):
        self.items.append(x.sum())
        y = x + self.items[0]
        self.items.clear()
        return y


class Cut(Base):
    def forward(self, x):
        self.items.append(x.sum())
        self.items = self.items[-3:]
        return x * 2


class Popped(Base):
    def forward(self, x):
        self.items.append(x.sum())
        if len(self.items) > 3:
            self.items.pop(0)
        return x * 2


class ShortQueue(Base):
    def forward(self, x):
        self.recent.append(x.sum())
        return x * 2


class SameKeys(Base):
    def forward(self, x):
        self.table["last"] = x.sum()
        self.table[x.shape[0]] = x.mean()
        return x * 2


class Remembered(Base):
    def forward(self, x):
        size = x.shape[0]
        if size not in self.table:
            self.table[size] = torch.arange(size)
        return x * self.table[size]


class Local(Base):
    def forward(self, x):
        stats, items = Stats(), []
        stats.tick(x)
        put(items, x)
        return x * stats.calls + len(items)


def put(items, x):
    items.append(x)


class Plain:
    """The number of a plain object whose own method is compiled becomes symbolic."""

    def __init__(self):
        self.calls = 0
        self.table = {"calls": 0}

    def counted(self, x):
        self.calls += 1
        self.table["calls"] += 1
        return x * self.calls


def counted(x, stats):
    stats.calls += 1
    return x * 2


def global_rate(x):
    global RATE
    RATE += 0.5
    return x * RATE


def floats():
    return (torch.arange(4.0),)


def plain():
    return Plain(), torch.arange(4.0)


def with_stats():
    return torch.arange(4.0), Stats()


CALLS = {"repeat": 9}
class Counted:
    def __init__(self, items):
        self.items = items
        self.seen = 0

    def __iter__(self):
        for item in self.items:
            self.seen += 1
            yield item


class MadeInTheCall(nn.Module):
    """What counts is made anew in each call."""

    def forward(self, x):
        for _ in Counted(range(2)):
            x = x * 2
        return x


CASES = [
    ("MadeInTheCall", [floats], CALLS),
    ("Float", [floats], CALLS),
    ("Buffer", [floats], CALLS),
    ("Cache", [floats], CALLS),
    ("Norm", [floats], CALLS),
    ("Zero", [floats], CALLS),
    ("SetBack", [floats], CALLS),
    ("SetBackElsewhere", [floats], CALLS),
    ("ShortRound", [floats], CALLS),
    ("Few", [floats], CALLS),
    ("UnderATest", [floats], CALLS),
    ("FilledUp", [floats], CALLS),
    ("AfterATest", [floats], CALLS),
    ("StartsOver", [floats], CALLS),
    ("Toggle", [floats], CALLS),
    ("Once", [floats], CALLS),
    ("Evaluated", [floats], CALLS),
    ("Anew", [floats], CALLS),
    ("Emptied", [floats], CALLS),
    ("Cut", [floats], CALLS),
    ("Popped", [floats], CALLS),
    ("ShortQueue", [floats], CALLS),
    ("SameKeys", [floats], CALLS),
    ("Remembered", [floats], CALLS),
    ("Local", [floats], CALLS),
    ("Plain.counted", [plain], CALLS),
    ("counted", [with_stats], CALLS),
    ("global_rate", [floats], CALLS),
]
