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
def passed_in_and_read_in_the_test(x: Tensor, count: Tensor):
    if count.item() > 3 and int(count) != 7:
        x = x * 2
    assert count.item() > 3, f"only {x.shape[0]}"
    return x * 2 if count.item() else x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def as_often_as_passed(x: Tensor, count: Tensor):
    for _ in range(count.item()):
        x = x + 1
    return x


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def other_sizes(x: Tensor):
    large, found = x[x > 1], (x > 1).nonzero()
    if large.dim() == 1 and found.shape[1] == 1 and large.numel() >= 0:
        x = x + torch.zeros(max(large.shape[0], 1)).sum()
    assert large.numel() > 0
    return x * large.shape[0]


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def told_that_there_are_some(x: Tensor):
    large = x[x > 1]
    torch._check(large.numel() > 0)
    if large.numel() == 0:
        return x
    return x + 1


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
    ("passed_in_and_read_in_the_test", [lambda: (torch.ones(4), torch.tensor(5))]),
    ("as_often_as_passed", [lambda: (torch.ones(4), torch.tensor(5))]),
    ("other_sizes", [floats]),
    ("told_that_there_are_some", [floats]),
    ("measured", [floats]),
]
