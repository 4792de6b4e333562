"""Checks of torch that read their condition: an operator of the graph in a model, and in a helper that models call."""

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect


@graph_effect
def _check_x_above_50(x):
    torch._check_tensor_all(x > -50)


def every(x: Tensor):
    _check_x_above_50(x)  # GM302
    return x * 2


@graph_effect
def _check_below(x):
    torch._check_tensor_all(x > -50, lambda: f"below {x.min().item()} of {tuple(x.shape)}")


def value_in_the_message(x: Tensor):
    _check_below(x)  # GM302
    return x * 2


@graph_effect
def _check_below_2(x):
    torch._check_tensor_all_with(ValueError, (x > -50).all(), message=lambda: "below")


def of_another_type(x: Tensor):
    _check_below_2(x)  # GM302
    return x * 2


@graph_effect
def _check_cond(cond, message):
    torch._check_tensor_all(cond, lambda: message)


def compilable_check(cond, message="tokens and features differ"):
    if isinstance(cond, Tensor):
        _check_cond(cond, message)  # GM302
    else:
        torch._check(cond, lambda: "a bool")


class Merges(nn.Module):
    def forward(self, x, features):
        compilable_check(x.dim() == 1)
        tokens = (x > 0).sum()
        compilable_check(tokens * 2 == features.numel())
        return x * 2 + features.sum()


def written_before(x: Tensor):
    x.mul_(2)
    torch._check_tensor_all(x > -50)  # GM302
    return x * 2


def caught(x: Tensor):
    try:
        return guarded(x)
    except IndexError:
        return x


def guarded(x: Tensor):
    torch._check_tensor_all_with(IndexError, x > -50)  # GM302
    return x * 2


def good():
    return (torch.tensor([1.0, 2.0]),)


def bad():
    return (torch.tensor([-60.0, 2.0]),)


CASES = [
    ("every", [good, bad, lambda: (torch.ones(0),)]),
    ("value_in_the_message", [good, bad]),
    ("of_another_type", [good, bad, lambda: (torch.tensor([float("nan")]),)]),
    ("Merges", [lambda: (torch.tensor([-1.0, 2.0]), torch.ones(2)), lambda: (torch.ones(2), torch.ones(2))]),
    ("written_before", [good, bad]),
    ("caught", [good, bad]),
]
