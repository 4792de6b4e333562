"""Prints in every place, mended by an effect of the graph."""

import sys
from pprint import pprint

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect

DEBUG = True


@graph_effect
def _report_here():
    print("here")


def constant(x: Tensor):
    y = x * 2
    _report_here()  # GM201
    return y + 1


@graph_effect
def _report_norm(y):
    print(f"norm {y.norm():.3f}")


def of_a_tensor(x: Tensor):
    y = x * 2
    _report_norm(y)  # GM201
    return y.relu()


@graph_effect
def _report_shape(y_mean, x):
    print("shape", x.shape, y_mean, sep=" | ", end="!\n")


def several_arguments(x: Tensor):
    y = x * 2
    _report_shape(y.mean(), x)  # GM201
    return y + 1


@graph_effect
def _report_stderr():
    print("to stderr", file=sys.stderr)


def to_stderr(x: Tensor):
    y = x * 2
    _report_stderr()  # GM201
    return y + 1


@graph_effect
def _report_written(x):
    sys.stdout.write(f"{x.shape}\n")


def written(x: Tensor):
    y = x * 2
    _report_written(x)  # GM201
    return y + 1


@graph_effect
def _report_mean_shape(y, x):
    pprint({"mean": y.mean(), "shape": x.shape})


def pretty(x: Tensor):
    y = x * 2
    _report_mean_shape(y, x)  # GM201
    return y + 1


@graph_effect
def _report_text_made_for_it(y):
    print("%s" % y, str(y) + "!")


def text_made_for_it(x: Tensor):
    y = x + 1
    _report_text_made_for_it(y)  # GM201
    return y * 2


@graph_effect
def _report_debug(y):
    print("debug", y)


def guarded_by_a_flag(x: Tensor):
    y = x * 2
    if DEBUG:
        _report_debug(y)  # GM201
    return y + 1


@graph_effect
def _report_y(y):
    print(y)


def before_a_write(x: Tensor):
    y = x * 2
    _report_y(y)  # GM201
    y.add_(1)
    return y


@graph_effect
def _report_step(x_sum, i):
    print("step", i, x_sum)


def in_a_loop(x: Tensor):
    for i in range(2):
        x = x * 2
        _report_step(x.sum(), i)  # GM201
    return x


@graph_effect
def _report_tried(y):
    print("tried", y)


def in_a_try(x: Tensor):
    y = x
    try:
        y = x * 2
        _report_tried(y)  # GM201
    except ValueError:
        y = x
    return y


@graph_effect
def _report_y_sum(y_sum):
    print(y_sum)


def last(x: Tensor):
    y = x * 2
    _report_y_sum(y.sum())  # GM201
    return y


@graph_effect
def _report_helper(y):
    print("helper", y)


def report(y):
    _report_helper(y)  # GM201


def in_a_helper(x: Tensor):
    y = x * 2
    report(y)
    return y + 1


@graph_effect
def _report_large_value(y):
    if (y > 3).any():  # GM101
        print("large value", y.max())


def branch_that_only_prints(x: Tensor):
    y = x * 2
    # GM101
    _report_large_value(y)
    return y + 1


@graph_effect
def _report_child(h):
    print("child", h.shape[0])


class Child(nn.Module):
    def forward(self, x):
        h = x * 2
        _report_child(h)  # GM201
        return h


@graph_effect
def _report_name(h_mean_detach, name):
    print(name, h_mean_detach)


class Parent(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child()
        self.name = "parent"

    def forward(self, x):
        h = self.child(x)
        _report_name(h.mean().detach(), self.name)  # GM201
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
