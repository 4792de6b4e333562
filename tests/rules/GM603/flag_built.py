"""State and gradients made in compiled code."""

import torch
from torch import Tensor, nn


def layer(x: Tensor):
    return nn.Linear(2, 2)(x).shape[0] + x  # GM603


def norm(x: Tensor):
    made = nn.LayerNorm(2)  # GM603
    return made(x)


def class_of_its_own(x: Tensor):
    class Scale:  # GM603
        factor = 2

    return x * Scale.factor


def class_that_is_made(x: Tensor):
    class Gain(nn.Module):  # GM603
        def forward(self, x):
            return x * 2

    return Gain()(x)


def class_of_what_is_passed(x: Tensor, k: int):
    class Scaled:  # GM603
        factor = k

    return x * Scaled.factor


def class_that_is_given(x: Tensor):
    class Marked:  # GM603
        factor = 3

    return x * Marked.factor, Marked


def trained(x: Tensor, w: Tensor):
    loss = (x * w).sum()
    loss.backward()  # GM603
    return loss.detach()


def gradient(x: Tensor, w: Tensor):
    (found,) = torch.autograd.grad((x * w).sum(), w)  # GM603
    return found


def required(x: Tensor):
    x.requires_grad_(True)  # GM603
    return (x * 2).sum().detach()


def required_by_name(x: Tensor):
    y = x * 2
    y.requires_grad = True  # GM603
    return y.detach() + 1


def retained(x: Tensor, w: Tensor):
    y = x * w
    y.retain_grad()  # GM603
    return y.sum()


WEIGHT = torch.ones(2, requires_grad=True)
OPTIMIZER = torch.optim.SGD([WEIGHT], lr=0.1)


def stepped(x: Tensor):
    WEIGHT.grad = x
    OPTIMIZER.step()  # GM603
    return WEIGHT.detach() * 1


def weights():
    return torch.ones(2), torch.ones(2, requires_grad=True)


CASES = [
    ("class_that_is_made", [lambda: (torch.ones(2),)]),
    ("class_of_what_is_passed", [lambda: (torch.ones(2), 3)]),
    ("class_that_is_given", [lambda: (torch.ones(2),)]),
    ("layer", [lambda: (torch.ones(2),)]),
    ("norm", [lambda: (torch.ones(2),)]),
    ("class_of_its_own", [lambda: (torch.ones(2),)]),
    ("trained", [weights]),
    ("gradient", [weights]),
    ("required", [lambda: (torch.ones(2),)]),
    ("required_by_name", [lambda: (torch.ones(2),)]),
    ("retained", [weights]),
    ("stepped", [lambda: (torch.ones(2),)]),
]
