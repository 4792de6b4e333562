"""Results whose shape is known while tracing."""

import torch
import torch.nn.functional as F
from torch import Tensor


def written_by_mask(x: Tensor):
    y = x.clone()
    y[y > 1] = 0.0
    return y


def given_by_mask(x: Tensor, mask: Tensor, values: Tensor):
    # only how many are read is data
    y = x.clone()
    y[mask] = values
    y[x > 1] = x.sum()
    return y


def by_index(x: Tensor, mask_index: Tensor, mask: Tensor):
    # a mask of integers is no mask
    return x[mask_index] + x[mask.long()]


def filled(x: Tensor, mask: Tensor):
    return x.masked_fill(mask, 0.0) + torch.where(mask, x, 0.0).sum()


def of_so_many(labels: Tensor):
    return F.one_hot(labels, 3)


def of_known_size(x: Tensor, counts: Tensor):
    return x.repeat_interleave(counts, output_size=3), x.repeat_interleave(2)


def how_many(x: Tensor):
    return torch.count_nonzero(x), (x > 1).sum(), torch.histc(x, 4)


def by_rows(x: Tensor, rows: Tensor):
    return x[rows], x[:, None], x[..., 0]


def of_a_fixed_size(x: Tensor):
    return torch.nonzero_static(x, size=2)


def table_of_truths(x: Tensor, n, table):
    large = n > 2
    return x * table[large]


CASES = [
    ("table_of_truths", [lambda: (torch.ones(3), 3, [1.0, 2.0])]),
    ("by_index", [lambda: (torch.ones(2), torch.tensor([0, 1]), torch.tensor([1, 0]))]),
    ("written_by_mask", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("given_by_mask", [lambda: (torch.tensor([0.0, 2.0]), torch.tensor([True, False]), torch.tensor([3.0]))]),
    ("filled", [lambda: (torch.tensor([0.0, 2.0]), torch.tensor([True, False]))]),
    ("of_so_many", [lambda: (torch.tensor([0, 2]),)]),
    ("of_known_size", [lambda: (torch.tensor([0.0, 2.0]), torch.tensor([1, 2]))]),
    ("how_many", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("by_rows", [lambda: (torch.ones(3, 2), torch.tensor([0, 2]))]),
    ("of_a_fixed_size", [lambda: (torch.tensor([0.0, 2.0]),)]),
]
