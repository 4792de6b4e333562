"""Prints in every place, mended by an effect of the graph."""

import sys
from pprint import pprint

import torch
from torch import Tensor, nn

DEBUG = True


def constant(x: Tensor):
    y = x * 2
    print("here")  # GM201
    return y + 1


def of_a_tensor(x: Tensor):
    y = x * 2
    print(f"norm {y.norm():.3f}")  # GM201
    return y.relu()


def several_arguments(x: Tensor):
    y = x * 2
    print("shape", x.shape, y.mean(), sep=" | ", end="!\n")  # GM201
    return y + 1


def to_stderr(x: Tensor):
    y = x * 2
    print("to stderr", file=sys.stderr)  # GM201
    return y + 1


def written(x: Tensor):
    y = x * 2
    sys.stdout.write(f"{x.shape}\n")  # GM201
    return y + 1


def pretty(x: Tensor):
    y = x * 2
    pprint({"mean": y.mean(), "shape": x.shape})  # GM201
    return y + 1


def text_made_for_it(x: Tensor):
    y = x + 1
    print("%s" % y, str(y) + "!")  # GM201
    return y * 2


def guarded_by_a_flag(x: Tensor):
    y = x * 2
    if DEBUG:
        print("debug", y)  # GM201
    return y + 1


def before_a_write(x: Tensor):
    y = x * 2
    print(y)  # GM201
    y.add_(1)
    return y


def in_a_loop(x: Tensor):
    for i in range(2):
        x = x * 2
        print("step", i, x.sum())  # GM201
    return x


def in_a_try(x: Tensor):
    y = x
    try:
        y = x * 2
        print("tried", y)  # GM201
    except ValueError:
        y = x
    return y


def last(x: Tensor):
    y = x * 2
    print(y.sum())  # GM201
    return y


def report(y):
    print("helper", y)  # GM201


def in_a_helper(x: Tensor):
    y = x * 2
    report(y)
    return y + 1


def branch_that_only_prints(x: Tensor):
    y = x * 2
    if (y > 3).any():  # GM101
        print("large value", y.max())
    return y + 1


class Child(nn.Module):
    def forward(self, x):
        h = x * 2
        print("child", h.shape[0])  # GM201
        return h


class Parent(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child()
        self.name = "parent"

    def forward(self, x):
        h = self.child(x)
        print(self.name, h.mean().detach())  # GM201
        return h + 1


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


CASES = [
    (name, [up])
    for name in [
        "constant",
        "of_a_tensor",
        "several_arguments",
        "to_stderr",
        "written",
        "pretty",
        "text_made_for_it",
        "guarded_by_a_flag",
        "before_a_write",
        "in_a_loop",
        "in_a_try",
        "last",
        "in_a_helper",
        "branch_that_only_prints",
        "Child",
        "Parent",
    ]
]
