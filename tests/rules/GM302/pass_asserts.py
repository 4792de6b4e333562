"""Assertions that do not break."""

import torch
from torch import Tensor


def constant_message(x: Tensor):
    # becomes an assertion of the graph
    assert (x >= 0).all(), "negative"
    return x * 2


def no_message(x: Tensor):
    # the same
    assert (x >= 0).all()
    return x * 2


def torch_all(x: Tensor):
    # the function instead of the method
    assert torch.all(x >= 0)
    return x * 2


def joined_message(x: Tensor):
    # a literal over several lines is one constant
    assert (x >= 0).all(), (
        "negative "
        "values"
    )
    return x * 2


def on_a_shape(x: Tensor):
    # sizes, with any message
    assert x.ndim == 1 and x.shape[0] > 1, f"bad shape {x.shape}"
    return x * 2


def on_a_type(x: Tensor):
    # types
    assert isinstance(x, torch.Tensor) and x.is_floating_point(), f"bad input {type(x)}"
    return x * 2


def static_and_tensor(x: Tensor):
    # the tensor is the last operand
    assert x.dim() == 1 and (x >= 0).all(), "negative"
    return x * 2


def checked_size(x: Tensor):
    # _check of a Python bool
    torch._check(x.shape[0] > 1)
    return x * 2


def text_without_a_field(x: Tensor):
    # an f-string that formats nothing is a constant
    assert (x >= 0).all(), f"negative"  # noqa: F541
    return x * 2


def repeated_text(x: Tensor):
    # folded by the compiler of Python
    assert (x >= 0).all(), "-" * 3 + " negative"
    return x * 2


CASES = [
    (name, [lambda: (torch.ones(2),)])
    for name in [
        "constant_message",
        "no_message",
        "text_without_a_field",
        "repeated_text",
        "torch_all",
        "joined_message",
        "on_a_shape",
        "on_a_type",
        "static_and_tensor",
        "checked_size",
    ]
]
