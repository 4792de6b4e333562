"""Truth tests of tensors outside if, while and assert."""

import torch
from torch import Tensor, nn


def and_value(x: Tensor, y: Tensor):
    both = torch.logical_and(x.sum() > 0, y.sum() > 0)  # GM103
    return both


def or_value(x: Tensor, y: Tensor):
    return torch.logical_or(x.any(), y.any())  # GM103


def three_values(x: Tensor, y: Tensor):
    known = torch.logical_and(torch.logical_and(x.sum() > 0, y.sum() > 0), torch.isfinite(x).all())  # GM103
    return known, x


def named_value(x: Tensor, y: Tensor):
    some = x.any()
    return some and y.sum() > 0, some  # GM103


def guarded_value(x: Tensor, y: Tensor):
    return (x >= 0).all() and y[x.long()].sum() > 0  # GM103


def not_value(x: Tensor):
    return not x.any()  # GM103


def chained(t: Tensor):
    return 0 < t < 1  # GM103


def contained(t: Tensor, n: int = 2):
    return n in t + 0  # GM103


def any_of(xs: list[Tensor]):
    found = any(x.sum() > 3 for x in xs)  # GM103
    return found


def all_of(x: Tensor):
    return all([x.sum() > 0, x.max() > 1])  # GM103


def filtered(xs: list[Tensor]):
    return [x for x in xs if x.sum() > 0]  # GM103


def filtered_builtin(xs: list[Tensor]):
    return list(filter(lambda x: x.sum() > 0, xs))  # GM103


def sorted_by(xs: list[Tensor]):
    return sorted(xs, key=lambda t: t.mean())  # GM103


class Gate(nn.Module):
    def forward(self, x, flag):
        done = not (x > 0).all()  # GM103
        return x * 2, done


def pair():
    return (torch.ones(2), torch.ones(2))


CASES = [
    ("and_value", [pair, lambda: (torch.ones(2), -torch.ones(2)), lambda: (-torch.ones(2), torch.ones(2))]),
    ("or_value", [pair, lambda: (torch.zeros(2), torch.ones(2)), lambda: (torch.zeros(2), torch.zeros(2))]),
    ("three_values", [pair, lambda: (torch.tensor([float("inf"), 1.0]), torch.ones(2)), lambda: (torch.zeros(2), pair()[0])]),
    ("named_value", [pair]),
    ("guarded_value", [pair]),
    ("not_value", [lambda: (torch.ones(2),)]),
    ("chained", [lambda: (torch.tensor(0.5),)]),
    ("contained", [lambda: (torch.ones(2),)]),
    ("any_of", [lambda: ([torch.ones(2), torch.ones(4)],)]),
    ("all_of", [lambda: (torch.ones(2) * 3,)]),
    ("filtered", [lambda: ([torch.ones(2), -torch.ones(4)],)]),
    ("filtered_builtin", [lambda: ([torch.ones(2), -torch.ones(4)],)]),
    ("sorted_by", [lambda: ([torch.ones(2), -torch.ones(4)],)]),
    ("Gate", [lambda: (torch.ones(2), True)]),
]
