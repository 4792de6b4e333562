"""Branches whose sides differ, or may differ, in strides or in the dtype that an in-place operation keeps."""

import torch
from torch import Tensor
from graphmend_lsp.runtime import select


def other_strides(x: Tensor):
    y = x * 2
    # GM101
    return select(y.sum() > 0, y.masked_fill(y > 1, 0.0), y**2)


def part_of_a_tensor(x: Tensor):
    h = (x * 2)[:, :2]
    # GM101
    h = select(x.sum() > 0, h + 1, h)
    return h


def written_where_elements_overlap(x: Tensor):
    h = torch.stack((x[0], x[0]))[:1].expand(3, 4)
    if x.sum() > 0:  # GM101
        h -= 0.5
    return h


def augmented_by_a_float(x: Tensor):
    h = torch.nan_to_num(x)
    if x.sum() > 0:  # GM101
        h *= 0.5
    return h


def augmented_floating(x: Tensor):
    h = x.float() + 1
    # GM101
    h = torch.where(x.sum() > 0, h / 2, h)
    return h


def inner_sides_alike(x: Tensor):
    h = x * 3
    # GM101
    # GM101
    h = select(x.sum() > 0, h + 1, torch.where(x.mean() < -2, h.relu(), h.relu()))
    return h


def rows():
    return (torch.arange(-3.0, 9.0).reshape(3, 4),)


def columns():
    return (-torch.arange(-3.0, 9.0).reshape(4, 3).t(),)


def low():
    return (torch.full((3, 4), -2.5),)


def integers():
    return (-torch.arange(12).reshape(3, 4),)


CASES = [
    ("other_strides", [rows, columns]),
    ("part_of_a_tensor", [rows, columns]),
    ("written_where_elements_overlap", [rows, columns]),
    ("augmented_by_a_float", [rows, columns, integers]),
    ("augmented_floating", [rows, columns]),
    ("inner_sides_alike", [rows, columns, low]),
]
