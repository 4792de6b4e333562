"""Prints that compiled code does not run, and text that breaks nothing."""

import torch
from torch import Tensor, nn

DEBUG = False


def switched_off(x: Tensor):
    # the flag is a constant of the file
    if DEBUG:
        print("debug", x)
    return x * 2


def text_of_sizes(x: Tensor):
    # sizes and dtypes are Python values
    name = f"{x.shape} {x.dtype}" + str(x.shape) + "{:d}".format(x.shape[0])
    return x * len(name)


def format_of_a_tensor(x: Tensor):
    # formatting alone is traced
    name = f"{x.sum():.2f}" + "{:.2f}".format(x.sum())
    return x * 2, len(name) > 0


def eager_only(x: Tensor):
    # not in compiled code
    if not torch.compiler.is_compiling():
        print("eager", x)
    return x * 2


def static_guard(x: Tensor):
    # the print stands behind a test that is never true here
    if x.dim() == 0:
        raise ValueError(f"no scalars: {x.shape}")
    return x * 2


def own_print(x: Tensor):
    # a local function of that name
    def print(y):
        return y * 2

    return print(x)


class Net(nn.Module):
    def describe(self):
        # not called by forward
        print("a net")

    def forward(self, x):
        return x * 2


if __name__ == "__main__":
    # module level
    print(Net()(torch.ones(2)))


CASES = [
    (name, [lambda: (torch.ones(2),)])
    for name in ["switched_off", "text_of_sizes", "eager_only", "static_guard", "own_print", "Net"]
]
