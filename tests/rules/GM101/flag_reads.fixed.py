"""Numbers read for a test only, which a comparison on the device decides alike; masked fills in a branch."""

import torch
from torch import Tensor
from graphmend_lsp.runtime import select


def read_and_compared(x: Tensor):
    y = x + 1
    # GM101
    y = torch.where(x.sum() > 0, y * 2, y)
    return y


def counted(x: Tensor):
    y = x + 1
    # GM101
    y = torch.where((x > 0).sum() == 2, y * 2, y)
    return y


def read_as_a_float(x: Tensor):
    y = x + 1
    if float(x.sum()) <= 0.5 and x.max().item() < 3:  # GM101
        y = y * 2
    return y


def two_answers_read(x: Tensor):
    y = x + 1
    # GM101
    y = torch.where(torch.logical_or(torch.isnan(x).any(), torch.isinf(x).any()), torch.nan_to_num(y), y)
    return y


def in_an_expression(x: Tensor):
    return select((x > 1.5).any(), x.masked_fill(x > 1.5, 0.0), x * 1)  # GM101


def rounded_in_single_precision(x: Tensor):
    y = x + 1
    if x.sum().item() > 0.1:  # GM101
        y = y * 2
    return y


def of_any_number_of_elements(x: Tensor):
    y = x + 1
    if x[:1].item() > 0:  # GM101
        y = y * 2
    return y


def filled(x: Tensor):
    y = x * 2
    mask = y < 0
    # GM101
    y = torch.where(mask.any(), y.clone().masked_fill_(mask, 0.0), y)
    return y


def copied_and_filled(x: Tensor):
    mask = torch.isnan(x)
    # GM101
    new_x = x.clone()
    x = torch.where(mask.any(), new_x.clone().masked_fill_(mask, 0.0), x)
    return x * 2


def filled_where_others_see_it(x: Tensor):
    y = x * 2
    z = y.view(-1)
    mask = y < 0
    if mask.any():  # GM101
        y[mask] = 0.0
    return z


def filled_argument(x: Tensor):
    mask = x < 0
    if mask.any():  # GM101
        x[mask] = 0.0
    return x * 2


def filled_by_rows(x: Tensor, rows: Tensor):
    y = x * 2
    mask = rows > 0
    if mask.any():  # GM101
        y[mask] = 0.0
    return y


class Kept(torch.nn.Module):
    def forward(self, x: Tensor):
        y = x * 2
        mask = y > 0
        self.last = y
        if mask.any():  # GM101
            y[mask] = 0.0
        return y + 1, self.last


class Viewed:
    def __init__(self, t):
        self.flat = t.view(-1)


def filled_where_an_object_holds_it(x: Tensor):
    y = x * 2
    mask = y > 0
    held = Viewed(y)
    if mask.any():  # GM101
        y[mask] = 0.0
    return y, held.flat


def filled_and_turned(x: Tensor):
    y = x * 2
    mask = y > 0
    # GM101
    y = torch.where(mask.any(), y.clone().masked_fill_(mask, 0.0), y)
    return y + 1


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    return (torch.tensor([-1.0, -2.0, -3.0]),)


def mixed():
    return (torch.tensor([1.5, float("nan"), float("inf")]),)


def grid():
    return torch.arange(6.0).reshape(3, 2) - 2, torch.tensor([1.0, -1.0, 0.0])


def whole():
    return (torch.tensor([1, 2, -3]),)


CASES = [
    ("read_and_compared", [up, down, mixed, whole]),
    ("counted", [up, down, mixed, whole]),
    ("read_as_a_float", [up, down, mixed, whole]),
    ("two_answers_read", [up, down, mixed]),
    ("in_an_expression", [up, down, mixed]),
    ("rounded_in_single_precision", [up, down]),
    ("of_any_number_of_elements", [up, down]),
    ("filled", [up, down, mixed, whole]),
    ("copied_and_filled", [up, down, mixed]),
    ("filled_where_others_see_it", [up, down]),
    ("filled_argument", [up, down]),
    ("filled_by_rows", [grid]),
    ("Kept", [up, down]),
    ("filled_where_an_object_holds_it", [up, down]),
    ("filled_and_turned", [up, down, lambda: (grid()[0].T,)]),
]
