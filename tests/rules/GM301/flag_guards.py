"""Guards on data that only raise."""

import torch
from torch import Tensor, nn


class RangeError(ValueError):
    pass


def constant_message(x: Tensor):
    if (x < 0).any():  # GM301
        raise ValueError("negative")
    return x.sqrt()


def message_with_a_value(x: Tensor):
    if (x < 0).any():  # GM301
        raise ValueError(f"negative: {x.min()}")
    return x.sqrt()


def negated(x: Tensor):
    if not torch.isfinite(x).all():  # GM301
        raise RuntimeError("not finite")
    return x * 2


def own_type(x: Tensor, low: float, high: float):
    if (x < low).any() or (x > high).any():  # GM301
        raise RangeError(f"outside [{low}, {high}]")
    return x * 2


def message_built_before(x: Tensor):
    if x.max() > 5:  # GM301
        message = f"too large: {x.max():.1f}"
        raise ValueError(message)
    return x * 2


def two_guards(x: Tensor):
    if (x < 0).any():  # GM301
        raise ValueError("negative")
    if x.sum() > 100:  # GM301
        raise OverflowError("sum above 100")
    return x * 2


def static_then_tensor(x: Tensor):
    if x.dim() != 1:
        raise ValueError(f"expected 1 dimension, got {x.dim()}")
    if (x < 0).any():  # GM301
        raise ValueError("negative")
    return x * 2


def after_a_write(x: Tensor):
    x.add_(1)
    if (x < 0).any():  # GM301
        raise ValueError("negative")
    return x * 2


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x, ids):
        if ids.max() >= 10:  # GM301
            raise IndexError(f"id {ids.max().item()} out of range")
        return self.fc(x)


def never_true(x: Tensor):
    if (x < 0).any():  # GM301
        assert False, "negative"
    return x * 2


def never_true_with_a_value(x: Tensor):
    if not (x >= 0).all():  # GM301
        assert False, f"{x.shape[0]} values"
    return x * 2


def one_of_two_errors(x: Tensor, strict: bool = True):
    if (x < 0).any():  # GM301
        where = "input"
        if strict:
            raise ValueError(f"negative {where}")
        else:
            where += " (not strict)"
            raise RuntimeError(where)
    return x.sqrt()


def only_a_choice_of_errors(x: Tensor, strict: bool = True):
    if (x < 0).any():  # GM301
        if strict:
            raise ValueError("negative")
        raise RuntimeError("not positive")
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
