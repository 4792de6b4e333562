"""Tests that are decided while tracing."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Mode(Enum):
    MEAN = "mean"
    SUM = "sum"


@dataclass
class Config:
    scale: float = 2.0
    use_bias: bool = True


def shape(x: Tensor):
    # sizes are Python integers
    if x.shape[0] > 2 and x.size(-1) % 2 and len(x) > 1 and x.numel() > 0:
        return x * 2
    return x


def dtype_and_device(x: Tensor):
    # so are dtypes and devices
    if x.dtype == torch.float16 or x.device.type == "cuda" or x.is_cuda or x.is_floating_point():
        return x * 2
    return x


def none_tests(x: Tensor, mask: Optional[Tensor] = None):
    # identity with None asks nothing of the tensor
    if mask is None:
        return x
    return x * mask if mask is not None else x


def rank(x: Tensor):
    # dimensions, strides, requires_grad
    if x.dim() == 1 and x.ndim == 1 and x.is_contiguous() and not x.requires_grad and x.stride(0) == 1:
        return x * 2
    return x


def kinds(x):
    # type tests
    if isinstance(x, torch.Tensor) and torch.is_tensor(x) and torch.is_floating_point(x):
        return x.relu()
    return x


def containers(xs: list[Tensor], named: dict[str, Tensor]):
    # a container's truth is its length
    if xs and named and "a" in named and named.get("b") is None:
        return xs[0] + named["a"]
    return xs[0]


def numbers(x: Tensor, n: int, scale: float = 1.0, mode: str = "mean"):
    # Python values are guarded on, not read from a device
    if n > 2 and scale != 0 and mode == "mean":
        return x * scale
    return x


def chosen_by_an_enum(x: Tensor, mode: Mode = Mode.MEAN):
    # members of an Enum are constants
    if mode is Mode.MEAN:
        return x.mean()
    return x.sum()


def grad_mode(x: Tensor):
    # global modes
    if torch.is_grad_enabled() and not torch.cuda.is_available() and not torch.jit.is_scripting():
        return x * 2
    return x


def compiling(x: Tensor):
    # this is how one keeps something out of compiled code
    if not torch.compiler.is_compiling():
        print("eager", x)
    return x * 2


def same_object(x: Tensor, y: Tensor):
    # identity of objects
    if x is y:
        return x * 2
    return x + y


def selection(x: Tensor):
    # the tensor forms of a branch
    y = torch.where(x > 0, x, -x)
    return y.masked_fill(y > 2, 0.0) + ((x > 0) & (x < 1))


def match_on_strings(x: Tensor, how: str = "mean"):
    # match on a Python value, and on a shape
    match how:
        case "mean":
            y = x.mean(0)
        case _:
            y = x.sum(0)
    match x.shape:
        case (n,) if n > 2:
            return y * 2
    return y


def shape_of_a_result(x: Tensor):
    # sizes of an intermediate
    b, = x.shape
    h = F.pad(x, (0, 1))
    return h[:b] if h.size(0) > b else h


def item_count(x: Tensor):
    # a count from shapes only
    n = x.numel() // 2
    if n * 2 == x.numel():
        return x[:n]
    return x


def names(x: Tensor):
    # a local called like a tensor's method
    any = False
    if any:
        return x
    return x + 1


def constant_size(x: Tensor):
    # max() of sizes
    if max(x.shape[0], 3) > 2:
        return x * 2
    return x


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.bias = nn.Parameter(torch.zeros(3))
        self.norm = None
        self.limit = 3

    def forward(self, x):
        # attributes of a configuration, modules that may be None, training mode, hasattr
        if self.config.use_bias:
            x = x + self.bias
        if self.norm is not None:
            x = self.norm(x)
        if self.training and self.config.scale > 1:
            x = F.dropout(x)
        if hasattr(self, "missing") or x.shape[-1] > self.limit:
            x = x * 2
        return x * getattr(self, "gain", 1.0)


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


CASES = [
    ("shape", [lambda: (torch.ones(3, 3),)]),
    ("dtype_and_device", [up]),
    ("none_tests", [up, lambda: (torch.ones(3), torch.ones(3))]),
    ("rank", [up]),
    ("kinds", [up, lambda: (3,)]),
    ("containers", [lambda: ([torch.ones(2)], {"a": torch.ones(2)})]),
    ("numbers", [lambda: (torch.ones(2), 3)]),
    ("chosen_by_an_enum", [up]),
    ("grad_mode", [up]),
    ("compiling", [up]),
    ("same_object", [lambda: (torch.ones(2), torch.ones(2))]),
    ("selection", [up]),
    ("match_on_strings", [up]),
    ("shape_of_a_result", [up]),
    ("item_count", [lambda: (torch.ones(4),), up]),
    ("names", [up]),
    ("constant_size", [up]),
    ("Configured", [up]),
]
