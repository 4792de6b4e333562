"""Numbers and texts that count on: in a module, in what it holds, in a global, on a class."""

import collections

import torch
from torch import nn

STEPS = 0
TOTALS = {"calls": 0}


class Stats:
    seen = 0

    def __init__(self):
        self.calls = 0
        self.names = ["a"]

    def tick(self):
        self.calls += 1  # GM701


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count += 1  # GM701
        return x * 2


class Written(nn.Module):
    """What the attribute is used for does not matter: adding to it reads it."""

    def __init__(self, start: int = 3):
        super().__init__()
        self.step = start
        self.left = 1000
        self.tokens = 0
        self.size = 1
        self.tag = ""

    def forward(self, x):
        self.step = self.step + 1  # GM701
        return x * 2


class Backwards(Written):
    def forward(self, x):
        self.left -= 1  # GM701
        return x * 2


class Tokens(Written):
    def forward(self, x):
        self.tokens += x.shape[0]  # GM701
        return x * 2


class Doubled(Written):
    def forward(self, x):
        self.size = self.size * 2  # GM701
        return x * 2


class InTwoSteps(Written):
    def forward(self, x):
        step = self.step
        self.step = step + 1  # GM701
        return x * 2


class Tagged(Written):
    def forward(self, x):
        self.tag += "x"  # GM701
        return x * 2


class LongRound(Written):
    def forward(self, x):
        self.step = (self.step + 1) % 100  # GM701
        return x * 2


class InALoop(Written):
    def forward(self, x):
        for _ in range(2):
            self.step += 1  # GM701
        return x * 2


class Used(Written):
    def forward(self, x):
        self.step += 1  # GM701
        if self.step % 3 == 0:
            x = x + 1
        return x * self.step


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = Stats()
        self.numbers = {"calls": 0, "size": 3}
        self.pair = [0, 1]
        self.per_name = collections.defaultdict(int)
        self.tally = collections.Counter()

    def forward(self, x):
        self.stats.calls += 1  # GM701
        return x * 2


class HeldDict(Held):
    def forward(self, x):
        self.numbers["calls"] += 1  # GM701
        return x * 2


class HeldList(Held):
    def forward(self, x):
        self.pair[0] += 1  # GM701
        return x * 2


class HeldDefault(Held):
    def forward(self, x):
        self.per_name["calls"] += 1  # GM701
        return x * 2


class HeldCounter(Held):
    def forward(self, x):
        self.tally["calls"] += 1  # GM701
        return x * 2


class HeldMethod(Held):
    def forward(self, x):
        self.stats.tick()
        return x * 2


class Property(Held):
    @property
    def calls(self):
        self.pair[1] += 1  # GM701
        return self.pair[1]

    def forward(self, x):
        return x * 2 if self.calls else x


class OnClass(nn.Module):
    made = 0

    def forward(self, x):
        OnClass.made += 1  # GM701
        return x * 2


class OnItsClass(nn.Module):
    made = 0

    def forward(self, x):
        type(self).made += 1  # GM701
        return x * 2


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = None

    def forward(self, x):
        if self.count is None:
            self.count = 0
        self.count += 1  # GM701
        return x * 2


class Trained(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        if self.training:
            self.count += 1  # GM701
        return x * 2


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Counts() for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class ByHelper(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = Stats()

    def forward(self, x):
        bump(self.stats)
        return x * 2


def bump(stats):
    stats.calls += 1  # GM701


def global_number(x):
    global STEPS
    STEPS += 1  # GM701
    return x * 2


def global_dict(x):
    TOTALS["calls"] += 1  # GM701
    return x * 2


def on_class(x):
    Stats.seen += 1  # GM701
    return x * 2


class Plain:
    """Its own numbers become symbolic (pass_growth.py); its texts do not, nor the numbers of a module it holds."""

    def __init__(self):
        self.tag = ""
        self.module = Counts()

    def tagged(self, x):
        self.tag += "x"  # GM701
        return x * 2

    def counted(self, x):
        return self.module(x) + 1


def floats():
    return (torch.arange(4.0),)


def plain():
    return Plain(), torch.arange(4.0)


CALLS = {"repeat": 9}
CASES = [
    ("Counts", [floats], CALLS),
    ("Written", [floats], CALLS),
    ("Backwards", [floats], CALLS),
    ("Tokens", [floats], CALLS),
    ("Doubled", [floats], CALLS),
    ("InTwoSteps", [floats], CALLS),
    ("Tagged", [floats], CALLS),
    ("LongRound", [floats], CALLS),
    ("InALoop", [floats], CALLS),
    ("Used", [floats], CALLS),
    ("Held", [floats], CALLS),
    ("HeldDict", [floats], CALLS),
    ("HeldList", [floats], CALLS),
    ("HeldDefault", [floats], CALLS),
    ("HeldCounter", [floats], CALLS),
    ("HeldMethod", [floats], CALLS),
    ("Property", [floats], CALLS),
    ("OnClass", [floats], CALLS),
    ("OnItsClass", [floats], CALLS),
    ("Lazy", [floats], CALLS),
    ("Layers", [floats], CALLS),
    ("ByHelper", [floats], CALLS),
    ("global_number", [floats], CALLS),
    ("global_dict", [floats], CALLS),
    ("on_class", [floats], CALLS),
    ("Plain.tagged", [plain], CALLS),
    ("Plain.counted", [plain], CALLS),
    ("Trained", [floats], {**CALLS, "train": True}),
]
