"""Objects of the host whose methods are traced, or that are not used in compiled code."""

import contextlib
import io
import pathlib
import random
import re
import threading

import torch
from torch import Tensor, nn

PATTERN = re.compile("a+")
DRAWS = random.Random(0)
READY = threading.Event()
HERE = pathlib.Path("data") / "x.txt"


def matched(x: Tensor):
    return x * (2 if PATTERN.match("aa") else 3)


def drawn(x: Tensor):
    return x * DRAWS.uniform(1.0, 1.0) + DRAWS.randint(0, 0)


def ready(x: Tensor):
    return x + 1 if READY.is_set() else x * 2


def named(x: Tensor):
    return x * len(HERE.name), str(HERE)


def array(x: Tensor):
    return torch.from_numpy(x.numpy().copy().reshape(-1)) + 1


def stacked(x: Tensor):
    with contextlib.ExitStack():
        return x * 2


class Scaled:
    def __init__(self, flag):
        self.flag = flag

    def __enter__(self):
        self.old, self.flag["scale"] = self.flag["scale"], 2.0
        return self.flag

    def __exit__(self, *error):
        self.flag["scale"] = self.old


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
        self.text = io.StringIO()
        self.flag = {"scale": 1.0}

    def write(self):
        with self.lock:
            self.text.write("not called by forward")

    def forward(self, x):
        with Scaled(self.flag) as flag:
            x = x * flag["scale"]
        return x

    def __deepcopy__(self, memo):
        return self


CASES = [
    (name, [lambda: (torch.ones(2),)])
    for name in ["matched", "drawn", "ready", "named", "array", "stacked", "Net"]
]
