"""Integers that a module keeps as tensors, and computes sizes with."""

import torch
import torch.nn.functional as F
from torch import nn


class Pads(nn.Module):
    def __init__(self, kernel_size: int = 5, stride: int = 2, dilation: int = 1):
        super().__init__()
        stride = torch.tensor(stride, dtype=torch.int64)
        kernel_size = torch.tensor((kernel_size - 1) * dilation + 1)
        self.register_buffer("stride", stride, persistent=False)
        self.register_buffer("kernel_size", kernel_size, persistent=False)
        self.register_buffer("padding", kernel_size - stride, persistent=False)

    def forward(self, x):
        half = self.padding // 2
        scaled = x * self.stride  # a tensor beside a tensor is right as it is
        return F.pad(scaled, (half, self.padding - half))  # GM402


class Slices(nn.Module):
    def __init__(self, keep: int = 3):
        super().__init__()
        self.keep = nn.Buffer(torch.tensor(keep), persistent=False)

    def forward(self, x):
        return x[..., : self.keep]  # GM402


class Reads(nn.Module):
    def __init__(self, groups: int = 2):
        super().__init__()
        self.register_buffer("groups", torch.tensor(groups), persistent=False)

    def forward(self, x):
        rows = int(self.groups)  # GM401
        return x.reshape(rows, -1) * self.groups.item()  # GM401


class Repeats(nn.Module):
    def __init__(self, steps: int = 2):
        super().__init__()
        self.steps = torch.tensor(steps)

    def forward(self, x):
        for _ in range(self.steps):  # GM102
            x = x * 2
        return x


class Compares(nn.Module):
    def __init__(self, limit: int = 4):
        super().__init__()
        self.register_buffer("limit", torch.tensor(limit), persistent=False)

    def forward(self, x):
        if x.shape[-1] > self.limit + 1:  # GM101
            return x[..., :2]
        return x.relu()


class IsSaved(nn.Module):
    """What is loaded counts."""

    def __init__(self, keep: int = 3):
        super().__init__()
        self.register_buffer("keep", torch.tensor(keep))

    def forward(self, x):
        return x[..., : self.keep]  # GM402


class IsWritten(nn.Module):
    def __init__(self, keep: int = 3):
        super().__init__()
        self.register_buffer("kept", torch.tensor(keep), persistent=False)

    def narrow(self):
        self.kept.sub_(1)

    def forward(self, x):
        return x[..., : self.kept]  # GM402


class Narrows(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = IsWritten()
        self.inner.narrow()

    def forward(self, x):
        return self.inner(x)


class IsWrittenByName(nn.Module):
    def __init__(self, keep: int = 3):
        super().__init__()
        self.register_buffer("span", torch.tensor(keep), persistent=False)
        span = self.span
        span -= 1

    def forward(self, x):
        return x[..., : self.span]  # GM402


class IsFilled(nn.Module):
    def __init__(self, keep: int = 3):
        super().__init__()
        self.register_buffer("reach", torch.tensor(keep), persistent=False)
        nn.init.constant_(self.reach, 2)

    def forward(self, x):
        return x[..., : self.reach]  # GM402


class IsReplaced(nn.Module):
    def __init__(self, keep: int = 3):
        super().__init__()
        self.register_buffer("width", torch.tensor(keep), persistent=False)

    def forward(self, x):
        return x[..., : self.width]  # GM402


class Replaces(IsReplaced):
    def __init__(self):
        super().__init__()
        self.width = torch.tensor(2)


class IsATensorToo(nn.Module):
    def __init__(self, keep: int = 3):
        super().__init__()
        self.register_buffer("length", torch.tensor(keep), persistent=False)

    def forward(self, x):
        length = self.length + 1
        return x[..., :length] * length.to(x.dtype)  # GM402


def rows():
    return (torch.arange(12.0).reshape(2, 6),)


def short():
    return (torch.arange(4.0).reshape(2, 2),)


CASES = [
    ("Pads", [rows, short]),
    ("Slices", [rows, short]),
    ("Reads", [rows, short]),
    ("Repeats", [rows]),
    ("Compares", [rows, short]),
    ("IsSaved", [rows]),
    ("IsWritten", [rows]),
    ("Narrows", [rows]),
    ("IsWrittenByName", [rows]),
    ("IsFilled", [rows]),
    ("IsReplaced", [rows]),
    ("Replaces", [rows]),
    ("IsATensorToo", [rows]),
]
