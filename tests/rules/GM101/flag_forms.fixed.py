"""Every form of a branch, on values that are plainly tensors."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from graphmend_lsp.runtime import select


def if_else(x: Tensor):
    # GM101
    y = torch.where(x.sum() > 0, x + 1, x - 1)
    return y


def if_alone(x: Tensor):
    y = x * 2
    # GM101
    y = torch.where((x < 0).any(), y + 1, y)
    return y


def negated(x: Tensor):
    y = x.relu()
    # GM101
    y = select(torch.logical_not((x > 0).all()), y * 0.5, y)
    return y


def elif_chain(x: Tensor):
    m = x.mean()
    # GM101
    # GM101
    s = select(m > 1, x * 2, torch.where(m < -1, x * 3, x * 4))
    return s


def conditional_expression(x: Tensor):
    y = torch.where(x.max() > 1, x * 2, x * 3)  # GM101
    return y


def early_return(x: Tensor):
    # GM101
    return select(x.norm() > 10, x / 10, x * 2)


def nested(x: Tensor):
    y = x + 1
    if x.sum() > 0:  # GM101
        # GM101
        y = torch.where(x.max() > 2, y * 2, y)
    return y


def static_and_tensor(x: Tensor, scale: float = 2.0):
    y = x + 1
    # GM101
    if scale > 1:
        y = select((x > 0).any(), y * scale, y)
    return y


def two_tensors(x: Tensor):
    y = x + 1
    # GM101
    y = torch.where(torch.logical_or(torch.isinf(x).any(), torch.isnan(x).any()), torch.clamp(y, min=-10, max=10), y)
    return y


def walrus(x: Tensor):
    y = x + 1
    # GM101
    total = x.sum()
    y = select(total > 0, y * total, y)
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
    # GM101
    h = select(F.mse_loss(h, x) > 1, h * 0.5, h)
    return h


def item_in_the_test(x: Tensor):
    y = x + 1
    # GM101
    y = torch.where(x.sum() > 0, y * 2, y)
    return y


def other_shape(x: Tensor):
    y = x * 2
    if x.sum() > 0:  # GM101
        y = y.sum(dim=0)
    return y


def other_dtype(x: Tensor):
    y = x * 2
    # GM101
    y = select(x.sum() > 0, y.to(torch.float64), y)
    return y


class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("limit", torch.tensor(0.5))

    def forward(self, x):
        h = self.fc(x)
        # GM101
        h = torch.where(h.abs().max() > self.limit, h.clamp(-0.5, 0.5), h)
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
