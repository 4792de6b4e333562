"""Rows at a place that is computed."""

import torch
from torch import Tensor, nn


class Best(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)

    def forward(self, beams):
        scores = self.score(beams).squeeze(-1)
        best = scores.argmax()
        chosen = beams[best.reshape(1)].squeeze(0)  # GM402
        return chosen + beams[0], scores[scores.argmin().reshape(1)].squeeze(0) * 2  # GM402


def summed(x: Tensor):
    return x[x.sum(-1).argmax().reshape(1)].squeeze(0).sum()  # GM402


def by_a_number(x: Tensor):
    best = x.sum(-1).argmax()  # GM401
    row = x[best.reshape(1)].squeeze(0)
    return row + x[best.reshape(1)].squeeze(0).abs()


def by_an_item(x: Tensor):
    return x[x.sum(-1).argmin().reshape(1)].squeeze(0) * 2  # GM401


def a_column(x: Tensor):
    return x[:, x.sum(0).argmax().reshape(1)].squeeze(1) * 2  # GM402


def number_is_returned(x: Tensor):
    best = int(x.sum(-1).argmax())  # GM401
    return x[best] * 2, best


def number_in_a_lambda(x: Tensor):
    best = int(x.sum(-1).argmax())  # GM401
    return x[best] * 2, (lambda: best)()


def number_of_a_view(x: Tensor):
    best = int(x.sum(-1).argmax())  # GM401
    return x[best]


def is_a_view(x: Tensor):
    return x[x.sum(-1).argmax()]  # GM402


def is_written(x: Tensor):
    row = x[x.sum(-1).argmax()]  # GM402
    row += 1
    return x * 2


def was_written(x: Tensor):
    row = x[x.sum(-1).argmax()]  # GM402
    x.mul_(2)
    return row + 1


def counted(x: Tensor):
    return x[(x.sum(-1) > 0).sum()] * 2  # GM402


def rows():
    return (torch.arange(12.0).reshape(3, 4),)


def turned():
    return (torch.arange(-12.0, 0.0).reshape(4, 3).T,)


CASES = [
    ("Best", [rows, turned]),
    ("summed", [rows, turned, lambda: (torch.tensor([[1.0, float("nan")], [2.0, 3.0]]),)]),
    ("by_a_number", [rows, turned]),
    ("by_an_item", [rows, turned]),
    ("a_column", [rows, turned]),
    ("number_is_returned", [rows]),
    ("number_in_a_lambda", [rows]),
    ("number_of_a_view", [rows]),
    ("is_a_view", [rows]),
    ("is_written", [rows]),
    ("was_written", [rows]),
    ("counted", [turned]),
]
