"""Numbers that are carried through the graph and decide nothing there."""

import torch
from torch import Tensor


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def computed_with(x: Tensor):
    n = int(x.sum())
    return x * min(n, 3) + max(n, 1)


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def told(x: Tensor):
    n = int(x.sum())
    torch._check(n > 3)
    if n > 3:
        x = x * 2
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def asserted(x: Tensor):
    n = int(x.sum())
    assert n > 3, "too few"
    return x * n


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def there(x: Tensor):
    n = int(x.sum())
    if n is not None:
        x = x * n
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def passed_in(x: Tensor, count: Tensor):
    n = count.item()
    if n > 3:
        x = x * 2
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def measured(x: Tensor):
    sizes = (x * 2).long().tolist()
    if len(sizes) > 3 and sizes:
        x = x * sizes[0]
    return x


def floats():
    return (torch.tensor([1.0, 2.0, 3.0, 4.0]),)


CASES = [
    ("computed_with", [floats]),
    ("told", [floats]),
    ("asserted", [floats]),
    ("there", [floats]),
    ("passed_in", [lambda: (torch.ones(4), torch.tensor(5))]),
    ("measured", [floats]),
]
