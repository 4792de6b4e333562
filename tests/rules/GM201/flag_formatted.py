"""More than keeping is asked of the text of a tensor that an f-string or `format` makes."""

import torch
from torch import Tensor


def joined_by_plus(x: Tensor):
    return x + 1, "mean " + f"{x.mean():.2f}"  # GM201


def added_to(x: Tensor):
    text = "mean "
    text += f"{x.mean():.2f}"  # GM201
    return x + 1, text


def joined(x: Tensor):
    return x + 1, ", ".join(f"{v:.2f}" for v in [x.mean(), x.sum()])  # GM201


def measured(x: Tensor):
    text = f"{x.mean():.2f}"
    return x + 1, len(text)  # GM201


def padded(x: Tensor):
    return x + 1, "{:.2f}".format(x.mean()).rjust(9)  # GM201


def looked_into(x: Tensor):
    y = x + 1
    if "nan" in f"{x.mean()}":  # GM201
        y = y * 2
    return y


CASES = [
    (name, [lambda: (torch.ones(2),)])
    for name in ["joined_by_plus", "added_to", "joined", "measured", "padded", "looked_into"]
]
