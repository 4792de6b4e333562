"""Calls that have a twin which is traced."""

import copy
import random

import torch
from torch import Tensor


def noisy(x: Tensor):
    return x * random.uniform(0.0, 1.0) + random.uniform(0.0, 1.0)  # GM601


def jittered(x: Tensor):
    scale = 1.0 + 0.1 * random.random()  # GM601
    return x * scale


def decided(x: Tensor):
    p = 1.0 if random.random() < 2.0 else 0.5  # GM601
    return x * p


def copied(x: Tensor):
    sizes = [1, 2]
    more = list(sizes)  # GM601
    more.append(3)
    return x * len(more) * len(sizes)


def copied_mapping(x: Tensor):
    options = {"scale": 2.0}
    mine = dict(options)  # GM601
    mine["scale"] = 3.0
    return x * mine["scale"] * options["scale"]


def copied_argument(x: Tensor, sizes: list[int]):
    return x * len(copy.copy(sizes))  # GM601


def copied_tensor(x: Tensor):
    y = copy.deepcopy(x)  # GM601
    return y + 1


CASES = [
    ("copied_tensor", [lambda: (torch.ones(2),)]),
    ("noisy", [lambda: (torch.ones(2),)]),
    ("jittered", [lambda: (torch.ones(2),)]),
    ("decided", [lambda: (torch.ones(2),)]),
    ("copied", [lambda: (torch.ones(2),)]),
    ("copied_mapping", [lambda: (torch.ones(2),)]),
    ("copied_argument", [lambda: (torch.ones(2), [1, 2])]),
]
