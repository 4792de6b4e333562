"""Guards on data that only raise."""

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect


class RangeError(ValueError):
    pass


@graph_effect
def _check_negative(x):
    if (x < 0).any():  # GM301
        raise ValueError("negative")


def constant_message(x: Tensor):
    # GM301
    _check_negative(x)
    return x.sqrt()


@graph_effect
def _check_negative_2(x):
    if (x < 0).any():  # GM301
        raise ValueError(f"negative: {x.min()}")


def message_with_a_value(x: Tensor):
    # GM301
    _check_negative_2(x)
    return x.sqrt()


@graph_effect
def _check_not_finite(x):
    if not torch.isfinite(x).all():  # GM301
        raise RuntimeError("not finite")


def negated(x: Tensor):
    # GM301
    _check_not_finite(x)
    return x * 2


@graph_effect
def _check_outside(x, low, high):
    if (x < low).any() or (x > high).any():  # GM301
        raise RangeError(f"outside [{low}, {high}]")


def own_type(x: Tensor, low: float, high: float):
    # GM301
    _check_outside(x, low, high)
    return x * 2


@graph_effect
def _check_x_max_above_5(x):
    if x.max() > 5:  # GM301
        message = f"too large: {x.max():.1f}"
        raise ValueError(message)


def message_built_before(x: Tensor):
    # GM301
    _check_x_max_above_5(x)
    return x * 2


@graph_effect
def _check_negative_3(x):
    if (x < 0).any():  # GM301
        raise ValueError("negative")


@graph_effect
def _check_sum_above(x):
    if x.sum() > 100:  # GM301
        raise OverflowError("sum above 100")


def two_guards(x: Tensor):
    # GM301
    _check_negative_3(x)
    # GM301
    _check_sum_above(x)
    return x * 2


@graph_effect
def _check_negative_4(x):
    if (x < 0).any():  # GM301
        raise ValueError("negative")


def static_then_tensor(x: Tensor):
    if x.dim() != 1:
        raise ValueError(f"expected 1 dimension, got {x.dim()}")
    # GM301
    _check_negative_4(x)
    return x * 2


def after_a_write(x: Tensor):
    x.add_(1)
    if (x < 0).any():  # GM301
        raise ValueError("negative")
    return x * 2


@graph_effect
def _check_id_out_range(ids):
    if ids.max() >= 10:  # GM301
        raise IndexError(f"id {ids.max().item()} out of range")


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x, ids):
        # GM301
        _check_id_out_range(ids)
        return self.fc(x)


@graph_effect
def _check_x_below_0_any(x):
    if (x < 0).any():  # GM301
        assert False, "negative"


def never_true(x: Tensor):
    # GM301
    _check_x_below_0_any(x)
    return x * 2


@graph_effect
def _check_not_x_at_least_0(x):
    if not (x >= 0).all():  # GM301
        assert False, f"{x.shape[0]} values"


def never_true_with_a_value(x: Tensor):
    # GM301
    _check_not_x_at_least_0(x)
    return x * 2


@graph_effect
def _check_negative_5(x, strict):
    if (x < 0).any():  # GM301
        where = "input"
        if strict:
            raise ValueError(f"negative {where}")
        else:
            where += " (not strict)"
            raise RuntimeError(where)


def one_of_two_errors(x: Tensor, strict: bool = True):
    # GM301
    _check_negative_5(x, strict)
    return x.sqrt()


@graph_effect
def _check_not_positive(x, strict):
    if (x < 0).any():  # GM301
        if strict:
            raise ValueError("negative")
        raise RuntimeError("not positive")


def only_a_choice_of_errors(x: Tensor, strict: bool = True):
    # GM301
    _check_not_positive(x, strict)
    return x.sqrt()


def good():
    return (torch.tensor([1.0, 2.0]),)


def bad():
    return (torch.tensor([-1.0, 2.0]),)


CASES = [
    ("constant_message", [good, bad]),
    ("message_with_a_value", [good, bad]),
    ("negated", [good, lambda: (torch.tensor([float("inf")]),)]),
    ("own_type", [lambda: (torch.ones(2), 0.0, 2.0), lambda: (torch.ones(2), 3.0, 4.0)]),
    ("message_built_before", [good, lambda: (torch.tensor([9.0]),)]),
    ("two_guards", [good, bad, lambda: (torch.tensor([101.0]),)]),
    ("static_then_tensor", [good, bad]),
    ("after_a_write", [good]),
    ("Checked", [lambda: (torch.ones(2), torch.tensor([1])), lambda: (torch.ones(2), torch.tensor([11]))]),
    ("never_true", [good, bad]),
    ("never_true_with_a_value", [good, bad]),
    ("one_of_two_errors", [good, bad, lambda: (torch.tensor([-1.0]), False)]),
    ("only_a_choice_of_errors", [good, bad, lambda: (torch.tensor([-1.0]), False)]),
]
