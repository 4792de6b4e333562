"""Prints whose arguments do more than give a value: what they do keeps its place and its order."""

import torch
from torch import nn

seen = []


def noted(name, value):
    seen.append(name)
    return value


def formatted(value):
    return f"<{value:.2f}>"


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def bump(self):
        self.calls += 1  # GM701
        return self.calls

    def forward(self, x):
        print("call", self.bump())  # GM201
        return x * self.calls


class Bumping(nn.Module):
    def grown(self, x):
        x.add_(1)
        return 3

    def forward(self, x):
        print("grown", x.mean(), self.grown(x), x.sum())  # GM201
        print(formatted(float(x.shape[0])), x.sum())  # GM201
        return x + 0


def recorded(x):
    seen.clear()
    print(f"first {noted('a', x.sum())}")  # GM201
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
