"""What a test computes itself raises on no path alone; a divisor that has a lower bound makes nothing infinite."""

import torch
from torch import Tensor


def shifted(x: Tensor):
    if x.min() < 0:  # GM101
        x = x - x.min()
    return x * 2


def shifted_and_scaled(x: Tensor):
    low, high = x.min(), x.max()
    if high > 1.0:  # GM101
        x = (x - low) / (high - low).float().clamp(min=1e-5)
    return x * 2


def scaled_by_a_peak(x: Tensor):
    x = x.float()
    if x.abs().max() > 1:  # GM101
        x = x / (x.abs().max() + 1e-6)
    return x * 2


def behind_a_static_test(x: Tensor):
    if x.dim() == 1 and x.max() > 0:  # GM101
        x = x * x.max()
    return x + 1


def in_an_expression(x: Tensor, i: int = 1):
    return x[i] * 2 if x[i] > 0 else x[i] - 1  # GM101


def masked_mean(x: Tensor):
    mask = (x > 0).float()
    count = mask.sum().clamp(min=1)
    if x.sum() > 0:  # GM101
        y = (x * mask).sum() / count
    else:
        y = x.sum() * 0
    return y + 1


def summed_squares(x: Tensor):
    if x.sum() > 0:  # GM101
        x = torch.div(x, x.square().sum() + 1.0)
    return x * 2


def of_another_value(x: Tensor):
    if x.min() < 0:  # GM101
        x = x[1:]
        x = x - x.min()
    return x.sum() * 2


def only_in_the_second_test(x: Tensor, on: bool = False):
    if on or x.max() > 0:  # GM101
        x = x * x.max()
    return x + 1


def a_bound_that_is_written_over(x: Tensor):
    count = (x > 0).sum().float().clamp(min=1.0)
    count.sub_(1.0)
    if x.sum() > 0:  # GM101
        x = x / count
    return x * 2


def bounded_by_a_parameter(x: Tensor, eps: float = 1e-6):
    if x.sum() > 0:  # GM101
        x = x / (x.abs().sum() + eps)
    return x * 2


def the_smaller_of_two(x: Tensor, y: Tensor):
    if x.sum() > 0:  # GM101
        x = x / (x.abs().min(y) + 1.0)
    return x * 2


def a_bound_that_a_half_does_not_hold(x: Tensor):
    if x.max() > 1:  # GM101
        x = x / (x.abs().sum() + 1e-8)
    return x * 2


def a_bound_under_another_name(x: Tensor):
    x = x.float()
    count = x.abs() + 1
    other = count
    other -= 1
    if x.sum() > 0:  # GM101
        x = x / count
    return x * 2


def a_remainder_that_wraps(x: Tensor):
    if x.sum() == 7:  # GM101
        x = x % (x.abs() + 5)
    return x * 2


def without_a_derivative(x: Tensor):
    if x.sum() == 7:  # GM101
        x = x // 2
    return x * 2


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, -3.0]),)


def zeros():
    return (torch.zeros(3),)


def empty():
    return (torch.zeros(0),)


CASES = [
    ("shifted", [up, down, zeros, empty]),
    ("shifted_and_scaled", [up, down, zeros, empty]),
    ("scaled_by_a_peak", [up, down, zeros, empty]),
    ("behind_a_static_test", [up, down, zeros, empty]),
    ("in_an_expression", [up, down, zeros, empty]),
    ("masked_mean", [up, down, zeros, empty]),
    ("summed_squares", [up, down, zeros, empty]),
    ("of_another_value", [up, down]),
    ("only_in_the_second_test", [up, down]),
    ("a_bound_that_is_written_over", [up, down]),
    ("bounded_by_a_parameter", [up, down]),
    ("a_bound_that_a_half_does_not_hold", [up, down]),
    ("a_bound_under_another_name", [up, down]),
    ("a_remainder_that_wraps", [up, down, lambda: (torch.tensor([251, 255], dtype=torch.uint8),)]),
    ("without_a_derivative", [up, down, lambda: (torch.zeros(3, requires_grad=True),)]),
    ("the_smaller_of_two", [lambda: (*up(), *down()), lambda: (*down(), *up())]),
]
