"""Calls of the host that are traced."""

import contextlib
import copy
import functools
import itertools
import math
import os
import random
import re

import numpy as np
import torch
from torch import Tensor, nn


def drawn(x: Tensor):
    return x * random.uniform(0, 1) + random.randint(1, 3) + random.randrange(4)


def environment(x: Tensor):
    if os.environ.get("GRAPHMEND_TEST", "0") == "1" or os.getenv("GRAPHMEND_TEST") == "1":
        return x * 2
    return x + len(os.path.join("a", "b"))


def matched(x: Tensor):
    return x * 2 if re.match("a+", "aa") else x


def copied_deeply(x: Tensor, sizes: list[int]):
    sizes = copy.deepcopy(sizes)
    sizes.append(1)
    return x * len(sizes)


def chained(x: Tensor):
    return x * sum(itertools.chain([1], [2])) + functools.reduce(lambda a, b: a + b, [1, 2])


def within(x: Tensor):
    with contextlib.nullcontext(), torch.no_grad():
        return x * 2


def optional(x: Tensor):
    try:
        import math as fast
    except ImportError:
        return x
    return x * fast.pi


def arrays(x: Tensor):
    return x * float(math.prod(x.shape)) + torch.from_numpy(np.zeros(2, dtype=np.float32))


def device(x: Tensor):
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return x + 1


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 2)

    def forward(self, x):
        return self.cell(x)[0]

class Settings:
    def __init__(self):
        self.scale = 2


SETTINGS = Settings()


def copied(x: Tensor):
    # only lists, dicts and sets are copied by what cannot be traced
    return x * copy.copy(SETTINGS).scale * len(copy.copy((1, 2)))


def largest(x: Tensor, names: list[str], counts: dict[str, int]):
    longest = max(names, key=len)
    most = max(counts, key=counts.get)
    return x * len(longest) * len(most) * max(x.shape, key=lambda size: -size) * max((1, 2), default=0)


def noisy(x: Tensor):
    return x + torch.rand(2, generator=None) * 0


def frozen(x: Tensor):
    return x.to(torch.promote_types(x.dtype, torch.float64))


CASES = [
    ("drawn", [lambda: (torch.ones(2),)]),
    ("environment", [lambda: (torch.ones(2),)]),
    ("matched", [lambda: (torch.ones(2),)]),
    ("copied_deeply", [lambda: (torch.ones(2), [1, 2])]),
    ("chained", [lambda: (torch.ones(2),)]),
    ("within", [lambda: (torch.ones(2),)]),
    ("optional", [lambda: (torch.ones(2),)]),
    ("arrays", [lambda: (torch.ones(2),)]),
    ("device", [lambda: (torch.ones(2),)]),
    ("Cell", [lambda: (torch.ones(3, 2),)]),
    ("copied", [lambda: (torch.ones(2),)]),
    ("largest", [lambda: (torch.ones(2), ["a", "bc"], {"a": 1, "b": 2})]),
    ("noisy", [lambda: (torch.ones(2),)]),
    ("frozen", [lambda: (torch.ones(2),)]),
]
