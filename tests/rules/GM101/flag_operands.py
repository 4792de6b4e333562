"""Sides that raise whenever they run, since an operand is no tensor: computing them on every call would raise, too."""

import torch
from torch import Tensor


def tuple_of_tensors(x: Tensor):
    pair = (x, x)
    return torch.zeros_like(pair) if x.sum() > 0 else x * 2  # GM101


def dict_in_the_second_place(x: Tensor):
    parts = {"out": x}
    return torch.maximum(x, parts) if x.sum() > 0 else x * 2  # GM101


def list_in_a_method(x: Tensor):
    parts = [x, x]
    return x.maximum(parts) if x.sum() > 0 else x * 2  # GM101


def list_in_an_operator(x: Tensor):
    parts = [x, x]
    return x * parts if x.sum() > 0 else x * 2  # GM101


def text(x: Tensor, name: str = "a"):
    return x + name if x.sum() > 0 else x * 2  # GM101


def text_to_a_function(x: Tensor):
    return torch.relu("a") if x.sum() > 0 else x * 2  # GM101


def compared_with_a_list(x: Tensor):
    parts = [x, x]
    return x < parts if x.sum() > 0 else x < 0  # GM101


def what_a_helper_returns(x: Tensor):
    def halves(v):
        return (v / 2, v) if v.shape[0] > 1 else (v, v)

    both = halves(x)
    return torch.zeros_like(both) if x.sum() > 0 else x * 2  # GM101


def given_by_name(x: Tensor):
    parts = [x, x]
    return torch.add(x, other=parts) if x.sum() > 0 else x * 2  # GM101


def operators_that_take_containers(x: Tensor):
    parts = [x, x]
    return torch.stack(parts).sum((0,)) if x.sum() > 0 else x * 2  # GM101


def down():
    return (torch.arange(-9.0, 3.0).reshape(3, 4),)


def up():
    return (torch.arange(-3.0, 9.0).reshape(3, 4),)


CASES = [
    ("tuple_of_tensors", [down]),
    ("dict_in_the_second_place", [down]),
    ("list_in_a_method", [down]),
    ("list_in_an_operator", [down]),
    ("text", [down]),
    ("text_to_a_function", [down]),
    ("compared_with_a_list", [down]),
    ("what_a_helper_returns", [down]),
    ("given_by_name", [down]),
    ("operators_that_take_containers", [down, up]),
]
