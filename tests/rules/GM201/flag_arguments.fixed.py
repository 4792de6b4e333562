"""Prints whose arguments do more than give a value: what they do keeps its place and its order."""

import torch
from torch import nn
from graphmend_lsp.runtime import graph_effect

seen = []


def noted(name, value):
    seen.append(name)
    return value


def formatted(value):
    return f"<{value:.2f}>"


@graph_effect
def _report_call(bump):
    print("call", bump)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def bump(self):
        self.calls += 1  # GM701
        return self.calls

    def forward(self, x):
        _report_call(self.bump())  # GM201
        return x * self.calls


@graph_effect
def _report_grown(x_mean, grown, x_sum):
    print("grown", x_mean, grown, x_sum)


@graph_effect
def _report_formatted_float_x_shape(x_sum, x):
    print(formatted(float(x.shape[0])), x_sum)


class Bumping(nn.Module):
    def grown(self, x):
        x.add_(1)
        return 3

    def forward(self, x):
        _report_grown(x.mean(), self.grown(x), x.sum())  # GM201
        _report_formatted_float_x_shape(x.sum(), x)  # GM201
        return x + 0


@graph_effect
def _report_first(noted_value):
    print(f"first {noted_value}")


def recorded(x):
    seen.clear()
    _report_first(noted('a', x.sum()))  # GM201
    return x * 2, list(seen)


def popped(x, names: list):
    print("next", names.pop())  # GM201
    return x * len(names)


def written_before(x):
    y = x + 0
    print(f"{y.sum()} then {y.add_(1)}")  # GM201
    return y


def several(x):
    seen.clear()
    print("each", [noted("b", n) for n in (1, 2)])  # GM201
    return x * len(seen)


CASES = [
    ("Counting", [lambda: (torch.ones(3),)], {"repeat": 2}),
    ("Bumping", [lambda: (torch.ones(3),)]),
    ("recorded", [lambda: (torch.ones(3),)]),
    ("popped", [lambda: (torch.ones(3), ["a", "b", "c"])]),
    ("written_before", [lambda: (torch.ones(3),)]),
    ("several", [lambda: (torch.ones(3),)]),
]
