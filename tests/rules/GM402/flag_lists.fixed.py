"""Numbers out of a tensor that was made of a list, and out of one that was passed in."""

import torch
from torch import Tensor


def levels(x: Tensor):
    sizes = [(1, x.shape[1]), (x.shape[0] - 1, x.shape[1])]
    shapes = torch.as_tensor(sizes, dtype=torch.long, device=x.device)
    found = []
    at = 0
    for level, (height, width) in enumerate(sizes):
        found.append(x.reshape(-1)[at : at + height * width].view(height, width).sum() + level)  # GM402
        at += height * width
    return torch.stack(found), shapes.prod(1)


def single(x: Tensor):
    lengths = [x.shape[0], 2]
    made = torch.tensor(lengths)
    found = []
    for length in lengths:
        found.append(torch.linspace(0.5, length - 0.5, length + 1))  # GM402
    return torch.cat(found)


def tested(x: Tensor):
    sizes = [x.shape[0], 1]
    made = torch.tensor(sizes)
    for size in sizes:
        if size > 1:  # GM101
            x = torch.cat((x, x))
    return x


def of_what_is_passed(x: Tensor, shapes: Tensor):
    return [x.new_zeros(height, width) for height, width in shapes]  # GM402


def halved(x: Tensor):
    sizes = [x.shape[0], x.shape[1]]
    shapes = torch.as_tensor(sizes)
    found = []
    for size in shapes:
        found.append(x.new_full((size + 1,), 2.0) * (size / 3))  # GM402
    return torch.cat(found)


def kept(x: Tensor):
    sizes = [x.shape[0], x.shape[1]]
    shapes = torch.as_tensor(sizes)
    found = []
    for size in shapes:
        found.append((size + 1, x.new_zeros(size + 1)))  # GM402
    return found


def changed(x: Tensor):
    sizes = [x.shape[0], x.shape[1]]
    shapes = torch.as_tensor(sizes)
    sizes.append(4)
    found = []
    for size in shapes:
        found.append(x.new_zeros(size + 1))  # GM402
    return torch.cat(found), sizes


def of_floats(x: Tensor):
    sizes = [2.0, 3.0]
    shapes = torch.as_tensor(sizes, dtype=torch.long)
    found = []
    for size in shapes:
        found.append(x.new_zeros(size + 1))  # GM402
    return torch.cat(found)


def made_of_several_numbers(x: Tensor):
    return torch.zeros(torch.tensor([2, 3])[0]), torch.zeros(torch.arange(3).sum())  # GM402


def rows():
    return (torch.arange(12.0).reshape(3, 4),)


def sized():
    return (torch.arange(12.0), torch.tensor([[2, 3], [1, 4]]))


CASES = [
    ("levels", [rows, lambda: (torch.ones(2, 5),)]),
    ("single", [rows]),
    ("tested", [rows]),
    ("of_what_is_passed", [sized]),
    ("halved", [rows]),
    ("kept", [rows]),
    ("changed", [rows]),
    ("of_floats", [rows]),
    ("made_of_several_numbers", [rows]),
]
