"""Containers that have one item more at each call, wherever they live."""

import collections

import torch
from torch import nn

HISTORY = []


class Recorder:
    def __init__(self):
        self.items = []

    def add(self, x):
        self.items.append(x)  # GM701


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []
        self.pairs = ()
        self.by_number = {}
        self.by_name = {"loss": []}
        self.groups = [[], []]
        self.recent = collections.deque(maxlen=64)
        self.all = collections.deque()
        self.recorder = Recorder()

    def forward(self, x):
        self.history.append(x.sum())  # GM701
        return x * 2


class Constant(Kept):
    def forward(self, x):
        self.history.append(None)  # GM701
        return x * 2


class Augmented(Kept):
    def forward(self, x):
        self.history += [x.sum()]  # GM701
        return x * 2


class Anew(Kept):
    def forward(self, x):
        self.history = self.history + [x.sum()]  # GM701
        return x * 2


class Unpacked(Kept):
    def forward(self, x):
        self.history = [*self.history, x.sum()]  # GM701
        return x * 2


class Extended(Kept):
    def forward(self, x):
        self.history.extend([x.sum(), x.mean()])  # GM701
        return x * 2


class Inserted(Kept):
    def forward(self, x):
        self.history.insert(0, x.sum())  # GM701
        return x * 2


class Tuple(Kept):
    def forward(self, x):
        self.pairs += (x.sum(),)  # GM701
        return x * 2


class NewKey(Kept):
    def forward(self, x):
        self.by_number[len(self.by_number)] = x.sum()  # GM701
        return x * 2


class InDict(Kept):
    def forward(self, x):
        self.by_name["loss"].append(x.sum())  # GM701
        return x * 2


class InList(Kept):
    def forward(self, x):
        for index in range(2):
            self.groups[index].append(x.sum())  # GM701
        return x * 2


class LongQueue(Kept):
    def forward(self, x):
        self.recent.append(x.sum())  # GM701
        return x * 2


class Queue(Kept):
    def forward(self, x):
        self.all.appendleft(x.sum())  # GM701
        return x * 2


class OtherName(Kept):
    def forward(self, x):
        history = self.history
        history.append(x.sum())  # GM701
        return x * 2


class ByMethod(Kept):
    def forward(self, x):
        self.recorder.add(x)
        return x * 2


class ByHelper(Kept):
    def forward(self, x):
        put(self.history, x)
        return x * 2


class PartOfThem(Kept):
    """The other list is emptied, this one is not."""

    def forward(self, x):
        self.groups.clear()
        self.history.append(x.sum())  # GM701
        return x * 2


def put(items, x):
    items.append(x)  # GM701


def global_list(x):
    HISTORY.append(x.sum())  # GM701
    return x * 2


class Plain:
    def __init__(self):
        self.history = []
        self.recorder = Recorder()

    def kept(self, x):
        self.history.append(x.sum())  # GM701
        return x * 2

    def recorded(self, x):
        self.recorder.add(x)
        return x * 2


def floats():
    return (torch.arange(4.0),)


def plain():
    return Plain(), torch.arange(4.0)


CALLS = {"repeat": 9}
CASES = [
    ("Kept", [floats], CALLS),
    ("Constant", [floats], CALLS),
    ("Augmented", [floats], CALLS),
    ("Anew", [floats], CALLS),
    ("Unpacked", [floats], CALLS),
    ("Extended", [floats], CALLS),
    ("Inserted", [floats], CALLS),
    ("Tuple", [floats], CALLS),
    ("NewKey", [floats], CALLS),
    ("InDict", [floats], CALLS),
    ("InList", [floats], CALLS),
    ("LongQueue", [floats], CALLS),
    ("Queue", [floats], CALLS),
    ("OtherName", [floats], CALLS),
    ("ByMethod", [floats], CALLS),
    ("ByHelper", [floats], CALLS),
    ("PartOfThem", [floats], CALLS),
    ("global_list", [floats], CALLS),
    ("Plain.kept", [plain], CALLS),
    ("Plain.recorded", [plain], CALLS),
]
