"""Calls that TorchDynamo cannot trace."""

import bisect
import copy
import gc
import hashlib
import heapq
import io
import json
import os.path
import random
import threading
import time
import types
import warnings
from datetime import datetime

import numpy as np
import torch
from torch import Tensor, nn

LOCK = threading.Lock()


class Timed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        started = time.perf_counter()  # GM601
        x = self.layer(x)
        self.seconds = time.perf_counter() - started  # GM601
        return x


def dated(x: Tensor):
    now = datetime.now()  # GM601
    return x + 1, now.year > 0


def drawn(x: Tensor):
    return x * random.random()  # GM601


def dropped(x: Tensor):
    if random.random() < 2.0:  # GM601
        x = x * 2
    return x


def copied(x: Tensor, sizes: list[int]):
    sizes = copy.copy(sizes)  # GM601
    return x * len(sizes)


def copied_deeply(x: Tensor):
    return copy.deepcopy(x) + 1  # GM601


def written(x: Tensor):
    text = json.dumps({"size": 2})  # GM601
    return x + 1, text


def hashed(x: Tensor):
    name = hashlib.sha1(b"a").hexdigest()  # GM601
    return x + 1, name


def looked_up(x: Tensor):
    if os.path.exists("nothing"):  # GM601
        x = x * 2
    return x + 1


def collected(x: Tensor):
    gc.collect()  # GM601
    return x * 2


def seeded(x: Tensor):
    torch.manual_seed(0)  # GM601
    return x + torch.rand(2)


def saved(x: Tensor, file):
    y = x * 2
    torch.save(y, file)  # GM601
    return y + 1


def guarded(x: Tensor):
    with LOCK:  # GM601
        y = x * 2
    return y + 1


def quiet(x: Tensor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GM601
        y = x * 2
    return y


def without_cudnn(x: Tensor):
    with torch.backends.cudnn.flags(enabled=False):  # GM601
        y = x * 2
    return y


def aligned(x: Tensor):
    if x.data_ptr() % 16:  # GM601
        x = x.clone()
    return x


def random_array(x: Tensor):
    return x * np.random.rand()  # GM601


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(2, 2)

    def forward(self, x):
        return self.rnn(x)[0]  # GM601

def widest(x: Tensor, parts: list[Tensor]):
    part = max(parts, key=lambda each: each.shape[0])  # GM601
    return x * part.shape[0]


def most(x: Tensor, counts: dict[str, int]):
    name, count = max(counts.items(), key=lambda each: each[1])  # GM601
    return x * count, name


def placed(x: Tensor, sizes: list[int]):
    return x * bisect.bisect_left(sizes, 2)  # GM601


def least(x: Tensor, sizes: list[int]):
    return x * heapq.nsmallest(1, sizes)[0]  # GM601


def grouped(x: Tensor):
    return types.SimpleNamespace(x=x * 2)  # GM601


def noisy(x: Tensor, generator: torch.Generator):
    return x + torch.rand(2, generator=generator)  # GM601


def common(x: Tensor, y: Tensor):
    return x.to(torch.result_type(x, y)) + y  # GM601


def copied_and_used(x: Tensor, names):
    names = copy.copy(names)  # GM601
    names.append("a")
    return x * len(names)


CASES = [
    ("Timed", [lambda: (torch.ones(2),)]),
    ("dated", [lambda: (torch.ones(2),)]),
    ("drawn", [lambda: (torch.ones(2),)]),
    ("dropped", [lambda: (torch.ones(2),)]),
    ("copied", [lambda: (torch.ones(2), [1, 2])]),
    ("copied_deeply", [lambda: (torch.ones(2),)]),
    ("written", [lambda: (torch.ones(2),)]),
    ("hashed", [lambda: (torch.ones(2),)]),
    ("looked_up", [lambda: (torch.ones(2),)]),
    ("collected", [lambda: (torch.ones(2),)]),
    ("seeded", [lambda: (torch.ones(2),)]),
    ("saved", [lambda: (torch.ones(2), io.BytesIO())]),
    ("guarded", [lambda: (torch.ones(2),)]),
    ("quiet", [lambda: (torch.ones(2),)]),
    ("without_cudnn", [lambda: (torch.ones(2),)]),
    ("aligned", [lambda: (torch.ones(2),)]),
    ("random_array", [lambda: (torch.ones(2),)]),
    ("Recurrent", [lambda: (torch.ones(3, 1, 2),)]),
    ("widest", [lambda: (torch.ones(2), [torch.ones(2), torch.ones(3)])]),
    ("most", [lambda: (torch.ones(2), {"a": 1, "b": 2})]),
    ("placed", [lambda: (torch.ones(2), [1, 2])]),
    ("least", [lambda: (torch.ones(2), [1, 2])]),
    ("grouped", [lambda: (torch.ones(2),)]),
    ("noisy", [lambda: (torch.ones(2), torch.Generator().manual_seed(0))]),
    ("common", [lambda: (torch.ones(2), torch.ones(2, dtype=torch.float64))]),
    ("copied_and_used", [lambda: (torch.ones(2), ["b"])]),
]
