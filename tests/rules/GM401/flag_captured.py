"""What no setting keeps in the graph: lists of floats, what only the host computes, and what Python must know."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def listed(x: Tensor):
    values = (x * 2.0).float().tolist()  # GM401
    return x * values[0]


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def rooted(x: Tensor):
    return x * math.sqrt(x.sum())  # GM401


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def compared(x: Tensor):
    return x * int(torch.equal(x, x + 1))  # GM401


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def sized(x: Tensor):
    return x * int(np.prod(x.shape))  # GM401


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def part_of_a_list(x: Tensor):
    return x * sum([1, 2, 3, 4][: (x > 1).sum()])  # GM402


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def classes(x: Tensor):
    return F.one_hot(x.long()) + 1  # GM501


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def each_found(x: Tensor):
    for row in (x > 1).nonzero():  # GM102
        x = x + row
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def each_kept(x: Tensor):
    kept = x[x > 1]
    for value in kept:  # GM102
        x = x + value
    return x


def floats():
    return (torch.tensor([1.0, 2.0, 3.0, 4.0]),)


CASES = [
    ("listed", [floats]),
    ("rooted", [floats]),
    ("compared", [floats]),
    ("sized", [floats]),
    ("part_of_a_list", [floats]),
    ("classes", [floats]),
    ("each_found", [floats]),
    ("each_kept", [floats]),
]
