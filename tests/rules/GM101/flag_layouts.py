"""Branches whose sides differ, or may differ, in strides or in the dtype that an in-place operation keeps."""

import torch
from torch import Tensor


def other_strides(x: Tensor):
    y = x * 2
    if y.sum() > 0:  # GM101
        return y.masked_fill(y > 1, 0.0)
    return y**2


def part_of_a_tensor(x: Tensor):
    h = (x * 2)[:, :2]
    if x.sum() > 0:  # GM101
        h = h + 1
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
    if x.sum() > 0:  # GM101
        h /= 2
    return h


def inner_sides_alike(x: Tensor):
    h = x * 3
    if x.sum() > 0:  # GM101
        h = h + 1
    elif x.mean() < -2:  # GM101
        h = h.relu()
    else:
        h = h.relu()
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
