"""Methods of objects that only the host has: files in memory, locks, queues, generators, paths."""

import contextlib
import contextvars
import hashlib
import io
import pathlib
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import Tensor, nn

SCOPE = contextvars.ContextVar("scope", default=2)
LINES = io.StringIO()
HERE = pathlib.Path(__file__).parent
DRAWS = random.Random(0)


def recorded(x: Tensor):
    y = x * 2
    LINES.write("seen\n")  # GM601
    return y + 1


def scoped(x: Tensor):
    return x * SCOPE.get()  # GM601


def located(x: Tensor):
    y = x * 2
    if HERE.exists():  # GM601
        y = y + 1
    return y


def chosen(x: Tensor):
    y = x * 2
    return y + DRAWS.choice([1, 1])  # GM601


def digested(x: Tensor):
    y = x * 2
    digest = hashlib.md5(b"a")  # GM601
    name = digest.hexdigest()  # GM601
    return y + len(name)


def raw(x: Tensor):
    return x + 1, x.detach().numpy().tobytes()  # GM601


def stacked(x: Tensor):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())  # GM601
        y = x * 2
    return y


class Guarded(nn.Module):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
        self.seen = queue.Queue()
        self.rng = np.random.default_rng(0)

    def forward(self, x):
        self.lock.acquire()  # GM601
        y = x * 2
        self.lock.release()  # GM601
        self.seen.put(1)  # GM601
        return y + self.rng.normal() * 0  # GM601


class Timer:
    def __enter__(self):
        self.began = time.perf_counter()  # GM601
        return self

    def __exit__(self, *error):
        return False


def timed(x: Tensor):
    with Timer():
        y = x * 2
    return y + 1


class Stamp:
    def __init__(self):
        self.at = time.time()  # GM601


def stamped(x: Tensor):
    y = x * 2
    stamp = Stamp()
    return y + 1, stamp


CASES = [
    (name, [lambda: (torch.ones(2),)])
    for name in [
        "recorded",
        "scoped",
        "located",
        "chosen",
        "digested",
        "raw",
        "stacked",
        "Guarded",
        "timed",
        "stamped",
    ]
]
