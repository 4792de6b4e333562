"""Assertions in the forms that break."""

import torch
from torch import Tensor, nn


def formatted_message(x: Tensor):
    assert torch.isfinite(x).all(), f"non-finite among {x.shape[0]}"  # GM302
    return x * 2


def value_in_the_message(x: Tensor):
    assert (x >= 0).all(), f"minimum {x.min()}"  # GM302
    return x * 2


def both(x: Tensor, y: Tensor):
    assert (x >= 0).all() and (y >= 0).all(), "negative"  # GM302
    return x + y


def negated(x: Tensor):
    assert not (x < 0).any(), "negative"  # GM302
    return x * 2


def chained(t: Tensor):
    assert 0 <= t.sum() <= 10  # GM302
    return t * 2


def equal(x: Tensor, y: Tensor):
    assert torch.equal(x, y), "differ"  # GM302
    return x + y


def allclose(x: Tensor, y: Tensor):
    assert torch.allclose(x, y)  # GM302
    return x + y


def item(x: Tensor):
    assert x.sum().item() > 0, "empty"  # GM302
    return x * 2


def over_a_generator(xs: list[Tensor]):
    assert all((x >= 0).all() for x in xs), "negative"  # GM302
    return xs[0] * 2


def torch_assert(x: Tensor):
    torch._assert((x >= 0).all(), "negative")  # GM302
    return x * 2


class Net(nn.Module):
    def forward(self, x, mask):
        assert mask.any(), "mask of %d is empty" % mask.shape[0]  # GM302
        return x * mask


def one_of_two_tests(x: Tensor, most: float = 3.0):
    assert (x < most).all() if most > 0 else (x > most).all(), "out of range"  # GM302
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
