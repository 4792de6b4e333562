"""Assertions in the forms that break."""

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect


@graph_effect
def _check_non_finite_among(x):
    assert torch.isfinite(x).all(), f"non-finite among {x.shape[0]}"


def formatted_message(x: Tensor):
    _check_non_finite_among(x)  # GM302
    return x * 2


@graph_effect
def _check_minimum(x):
    assert (x >= 0).all(), f"minimum {x.min()}"


def value_in_the_message(x: Tensor):
    _check_minimum(x)  # GM302
    return x * 2


@graph_effect
def _check_negative(x, y):
    assert (x >= 0).all() and (y >= 0).all(), "negative"


def both(x: Tensor, y: Tensor):
    _check_negative(x, y)  # GM302
    return x + y


@graph_effect
def _check_negative_2(x):
    assert not (x < 0).any(), "negative"


def negated(x: Tensor):
    _check_negative_2(x)  # GM302
    return x * 2


@graph_effect
def _check_0_at_most_t(t):
    assert 0 <= t.sum() <= 10


def chained(t: Tensor):
    _check_0_at_most_t(t)  # GM302
    return t * 2


@graph_effect
def _check_differ(x, y):
    assert torch.equal(x, y), "differ"


def equal(x: Tensor, y: Tensor):
    _check_differ(x, y)  # GM302
    return x + y


@graph_effect
def _check_allclose_x(x, y):
    assert torch.allclose(x, y)


def allclose(x: Tensor, y: Tensor):
    _check_allclose_x(x, y)  # GM302
    return x + y


@graph_effect
def _check_empty(x):
    assert x.sum().item() > 0, "empty"


def item(x: Tensor):
    _check_empty(x)  # GM302
    return x * 2


@graph_effect
def _check_negative_3(xs):
    assert all((x >= 0).all() for x in xs), "negative"


def over_a_generator(xs: list[Tensor]):
    _check_negative_3(xs)  # GM302
    return xs[0] * 2


@graph_effect
def _check_negative_4(x):
    torch._assert((x >= 0).all(), "negative")


def torch_assert(x: Tensor):
    _check_negative_4(x)  # GM302
    return x * 2


@graph_effect
def _check_mask_empty(mask):
    assert mask.any(), "mask of %d is empty" % mask.shape[0]


class Net(nn.Module):
    def forward(self, x, mask):
        _check_mask_empty(mask)  # GM302
        return x * mask


@graph_effect
def _check_out_range(most, x):
    assert (x < most).all() if most > 0 else (x > most).all(), "out of range"


def one_of_two_tests(x: Tensor, most: float = 3.0):
    _check_out_range(most, x)  # GM302
    return x * 2


def good():
    return (torch.tensor([1.0, 2.0]),)


def bad():
    return (torch.tensor([-1.0, 2.0]),)


def pair():
    return (torch.ones(2), torch.ones(2))


def unequal():
    return (torch.ones(2), -torch.ones(2))


CASES = [
    ("formatted_message", [good, lambda: (torch.tensor([float("nan")]),)]),
    ("value_in_the_message", [good, bad]),
    ("both", [pair, unequal]),
    ("negated", [good, bad]),
    ("chained", [good, lambda: (torch.tensor([-1.0]),)]),
    ("equal", [pair, unequal]),
    ("allclose", [pair, unequal]),
    ("item", [good, lambda: (torch.tensor([-1.0]),)]),
    ("over_a_generator", [lambda: ([torch.ones(2), torch.ones(1)],)]),
    ("torch_assert", [good, bad]),
    ("Net", [lambda: (torch.ones(2), torch.tensor([True, False])), lambda: (torch.ones(2), torch.tensor([False, False]))]),
    ("one_of_two_tests", [good, lambda: (torch.tensor([9.0]),)]),
]
