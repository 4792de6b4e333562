"""Numbers that are carried through the graph, and then decide: TorchDynamo captures the read, not the test."""

import torch
from torch import Tensor


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def branched(x: Tensor):
    n = int(x.sum())
    if n > 3:  # GM101
        x = x * 2
    return x + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def chosen(x: Tensor):
    total = x.sum().item()
    y = x * 2 if total > 3 else x  # GM101
    return y + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def flagged(x: Tensor):
    some = bool((x > 1).any())
    if some:  # GM101
        x = x * 2
    return x + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def between(x: Tensor):
    n = int(x.sum())
    if 1 < n < 30:  # GM101
        x = x * 2
    return x + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def one_of(x: Tensor):
    n = int(x.sum())
    if n in (10, 20):  # GM101
        x = x * 2
    return x + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def derived(x: Tensor, limit: int = 3):
    n = int(x.sum()) + 1
    if limit == 3 and n * 2 > limit:  # GM101
        x = x * 2
    return x + 1


def scaled(x: Tensor, n):
    if n > 3:  # GM101
        return x * 2
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def in_a_helper(x: Tensor):
    return scaled(x, int(x.sum())) + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def first_of(x: Tensor):
    sizes = (x * 2).long().tolist()
    if sizes[0] > 1:  # GM101
        x = x * 2
    return x + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def guarded(x: Tensor):
    n = int(x.sum())
    if n > 300:  # GM301
        raise ValueError("too many")
    return x * n


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def looped(x: Tensor):
    n = int(x.sum())
    while n > 3:  # GM102
        n -= 4
        x = x + 1
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def counted(x: Tensor):
    n = int(x.sum())
    for _ in range(n):  # GM102
        x = x + 1
    return x


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def asserted(x: Tensor):
    n = int(x.sum())
    assert n > 3, f"only {n}"  # GM302
    return x * n


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def empty(x: Tensor):
    found = (x > 1).nonzero()
    if found.numel() == 0:  # GM101
        return x
    return x + found.sum()


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def empty_after_arithmetic(x: Tensor):
    large = x[x > 1] * 2
    if len(large) < 1 or x.dim() == 2:  # GM101
        return x
    return x + 1


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def any_rows(x: Tensor):
    large = torch.masked_select(x, x > 1)
    return x * 2 if large.shape[0] > 0 else x  # GM101


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def no_rows(x: Tensor):
    places = torch.where(x > 1)[0]
    if places.size(0) != 0:  # GM101
        return x
    return x + 1


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def kinds(x: Tensor):
    if 0 < torch.unique(x).numel():  # GM101
        return x * 2
    return x


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def must_be_some(x: Tensor):
    found = (x > 1).nonzero()
    if found.shape[0] == 0:  # GM301
        raise ValueError("nothing is above one")
    return x[found]


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def passed_and_changed(x: Tensor, count: Tensor):
    if (count + 1).item() > 3:  # GM101
        x = x * 2
    return x + 1


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def item_of_passed(x: Tensor, counts: Tensor):
    first = counts[0]
    if first.item() > 3:  # GM101
        x = x * 2
    return x + 1


def floats():
    return (torch.tensor([1.0, 2.0, 3.0, 4.0]),)


CASES = [
    ("branched", [floats]),
    ("chosen", [floats]),
    ("flagged", [floats]),
    ("between", [floats]),
    ("one_of", [floats]),
    ("derived", [floats]),
    ("in_a_helper", [floats]),
    ("first_of", [floats]),
    ("guarded", [floats]),
    ("looped", [floats]),
    ("counted", [floats]),
    ("asserted", [floats]),
    ("empty", [floats]),
    ("empty_after_arithmetic", [floats]),
    ("any_rows", [floats]),
    ("no_rows", [floats]),
    ("kinds", [floats]),
    ("must_be_some", [floats]),
    ("passed_and_changed", [lambda: (torch.ones(4), torch.tensor(5))]),
    ("item_of_passed", [lambda: (torch.ones(4), torch.tensor([5, 6]))]),
]
