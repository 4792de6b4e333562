"""Every form of a branch, on values that are plainly tensors."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def if_else(x: Tensor):
    if x.sum() > 0:  # GM101
        y = x + 1
    else:
        y = x - 1
    return y


def if_alone(x: Tensor):
    y = x * 2
    if (x < 0).any():  # GM101
        y = y + 1
    return y


def negated(x: Tensor):
    y = x.relu()
    if not (x > 0).all():  # GM101
        y = y * 0.5
    return y


def elif_chain(x: Tensor):
    m = x.mean()
    if m > 1:  # GM101
        s = x * 2
    elif m < -1:  # GM101
        s = x * 3
    else:
        s = x * 4
    return s


def conditional_expression(x: Tensor):
    y = x * 2 if x.max() > 1 else x * 3  # GM101
    return y


def early_return(x: Tensor):
    if x.norm() > 10:  # GM101
        return x / 10
    return x * 2


def nested(x: Tensor):
    y = x + 1
    if x.sum() > 0:  # GM101
        if x.max() > 2:  # GM101
            y = y * 2
    return y


def static_and_tensor(x: Tensor, scale: float = 2.0):
    y = x + 1
    if scale > 1 and (x > 0).any():  # GM101
        y = y * scale
    return y


def two_tensors(x: Tensor):
    y = x + 1
    if torch.isinf(x).any() or torch.isnan(x).any():  # GM101
        y = torch.clamp(y, min=-10, max=10)
    return y


def walrus(x: Tensor):
    y = x + 1
    if (total := x.sum()) > 0:  # GM101
        y = y * total
    return y


def test_over_several_lines(x: Tensor):
    y = x * 2
    if (
        x.min() < -1
        and x.max() > 1
    ):  # GM101
        y = y.tanh()
    return y


def match_statement(x: Tensor):
    y = x * 2
    match bool((x > 0).any()):  # GM101
        case True:
            y = y + 1
        case _:
            y = y - 1
    return y


def value_of_a_module_call(x: Tensor):
    h = F.relu(x)
    if F.mse_loss(h, x) > 1:  # GM101
        h = h * 0.5
    return h


def item_in_the_test(x: Tensor):
    y = x + 1
    if x.sum().item() > 0:  # GM101
        y = y * 2
    return y


def other_shape(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y = y.sum(dim=0)
    return y


def other_dtype(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y = y.to(torch.float64)
    return y


class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("limit", torch.tensor(0.5))

    def forward(self, x):
        h = self.fc(x)
        if h.abs().max() > self.limit:  # GM101
            h = h.clamp(-0.5, 0.5)
        return h


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, 0.5]),)


def mixed():
    return (torch.tensor([-2.0, 1.5, 30.0]),)


CASES = [
    ("if_else", [up, down]),
    ("if_alone", [up, down]),
    ("negated", [up, down]),
    ("elif_chain", [up, down, lambda: (torch.tensor([0.1, -0.1, 0.0]),), lambda: (torch.tensor([-9.0, -3.0, -4.0]),)]),
    ("conditional_expression", [up, down]),
    ("early_return", [up, mixed]),
    ("nested", [up, down, lambda: (torch.tensor([0.5, 0.5, 0.5]),)]),
    ("static_and_tensor", [up, down]),
    ("two_tensors", [up, lambda: (torch.tensor([float("inf"), 1.0, 1.0]),), lambda: (torch.tensor([float("nan"), 1.0, 1.0]),)]),
    ("walrus", [up, down]),
    ("test_over_several_lines", [up, mixed]),
    ("match_statement", [up, lambda: (torch.tensor([-1.0, -1.0]),)]),
    ("value_of_a_module_call", [up, lambda: (torch.tensor([-9.0, -3.0, -4.0]),)]),
    ("item_in_the_test", [up, down]),
    ("other_shape", [up, down]),
    ("other_dtype", [up, lambda: (torch.ones(2, dtype=torch.float64),)]),
    ("Clamped", [lambda: (torch.ones(2, 3),), lambda: (torch.zeros(2, 3),)]),
]
