"""Elements that a mask chooses are changed in place."""

import torch
from torch import Tensor


def raised(x: Tensor):
    y = x.clone()
    y.copy_(torch.where(y > 1, y + 5, y))  # GM501
    return y


def lowered(x: Tensor):
    y = torch.relu(x)
    low = y < 1
    y.copy_(torch.where(low, y - 2, y))  # GM501
    return y, low


def scaled(x: Tensor):
    y = x.float() * 2
    y.copy_(torch.where(~(y > 1), y * 0.5, y))  # GM501
    return y


def scaled_by_name(x: Tensor):
    y = x.float() * 2
    low = y < 1
    y.copy_(torch.where(~low, y * 0.5, y))  # GM501
    return y


def divided(x: Tensor):
    y = x.clone()
    y[y > 1] /= 2  # GM501
    return y


def outside(z: Tensor):
    inside = (z >= -1) & (z <= 2)
    out = torch.zeros_like(z)
    out.copy_(torch.where(~inside, z, out))  # GM501
    return out


def computed(z: Tensor):
    inside = z > 0
    out = torch.empty_like(z)
    out.copy_(torch.where(inside, z * 2 + 1, out))  # GM501
    out.copy_(torch.where(~inside, -z, out))  # GM501
    return out


def of_itself(z: Tensor):
    out = z.clone()
    low = out < 1
    out[low] = out[low] * out[low]  # GM501
    return out


def at_places(z: Tensor):
    out = z.clone()
    out[z > 2] = 2.0  # GM501
    places = z < -2  # GM501
    out[places] = -2.0
    return out


def at_places_that_are_returned(z: Tensor):
    out = z.clone()
    places = torch.where(z > 2)  # GM501
    out[places] = 2.0
    return out, places[0]


def of_another_type(z: Tensor):
    mask = z > 1
    out = torch.zeros(z.shape, dtype=torch.float64)
    out[mask] = z[mask].double()  # GM501
    return out


def rows_of_it(z: Tensor):
    mask = z.sum(-1) > 1
    out = torch.zeros_like(z)
    out[mask] = z[mask]  # GM501
    return out


def by_a_mask_from_elsewhere(z: Tensor):
    mask = (z > 1).cpu()
    out = torch.zeros_like(z)
    out[mask] = z[mask]  # GM501
    return out


def of_an_argument(x: Tensor):
    x[x > 1] += 5  # GM501
    return x * 2


def by_another(x: Tensor, step: Tensor):
    y = x.clone()
    y[y > 1] += step  # GM501
    return y


def of_rows(x: Tensor):
    y = x.clone()
    y[x.sum(-1) > 1] += 1  # GM501
    return y


def of_unknown_type(x: Tensor):
    y = x.clone()
    y[y > 1] += 0.5  # GM501
    return y


def values():
    return (torch.tensor([0.0, 2.0, float("nan"), -0.0]),)


CASES = [
    ("of_an_argument", [lambda: (torch.tensor([0.5, 2.0]),), lambda: (torch.tensor([[0.5, 2.0]]).expand(3, 2),)]),
    ("computed", [lambda: (torch.tensor([[-3.0, 0.5, float("nan")], [1.0, 7.0, -0.0]]),), lambda: (torch.ones(0),)]),
    ("of_itself", [lambda: (torch.tensor([[-3.0, 0.5, float("nan")], [1.0, 7.0, -0.0]]),), lambda: (torch.ones(0),)]),
    ("at_places", [lambda: (torch.tensor([[-3.0, 0.5, float("nan")], [1.0, 7.0, -0.0]]),), lambda: (torch.ones(0),)]),
    ("at_places_that_are_returned", [lambda: (torch.tensor([[-3.0, 0.5, float("nan")], [1.0, 7.0, -0.0]]),), lambda: (torch.ones(0),)]),
    ("outside", [lambda: (torch.tensor([[-3.0, 0.5, float("nan")], [1.0, 7.0, -0.0]]),), lambda: (torch.ones(0),)]),
    ("of_another_type", [lambda: (torch.tensor([0.5, 2.0]),)]),
    ("rows_of_it", [lambda: (torch.tensor([[0.5, 2.0], [0.0, 0.0]]),)]),
    ("by_a_mask_from_elsewhere", [lambda: (torch.tensor([0.5, 2.0]),)]),
    ("raised", [values, lambda: (torch.tensor([0, 2]),)]),
    ("lowered", [values]),
    ("scaled", [values]),
    ("scaled_by_name", [values]),
    ("divided", [values]),
    ("by_another", [lambda: (*values(), torch.tensor(1.0))]),
    ("of_rows", [lambda: (torch.ones(3, 2),)]),
    ("of_unknown_type", [values]),
]
