"""Prints that must be flagged but must not move: an operator of the graph raises past a traced ``try`` or ``with``."""

import torch
from torch import Tensor


def format_error_is_handled(x: Tensor):
    y = x * 2
    try:
        print(f"{y:.3f}")  # GM201
    except TypeError:
        y = y + 1
    return y


def percent_error_is_handled(x: Tensor):
    y = x * 2
    try:
        print("%d" % y)  # GM201
    except TypeError:
        y = y + 1
    return y


def format_error_under_no_grad(x: Tensor):
    with torch.no_grad():
        print(f"{x.sum():d}")  # GM201
    return x * 2


CASES = [
    ("format_error_under_no_grad", [lambda: (torch.ones(3, dtype=torch.int64),)]),
    ("format_error_is_handled", [lambda: (torch.ones(3),), lambda: (torch.ones(()),)]),
    ("percent_error_is_handled", [lambda: (torch.ones(()),)]),
]
