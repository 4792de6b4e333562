"""Results whose shape is data."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def where_it_is(x: Tensor):
    return x.nonzero() + 1  # GM501


def where_once(x: Tensor):
    return torch.where(x > 1)[0]  # GM501


def distinct(x: Tensor):
    return x.unique()  # GM501


def kept(x: Tensor, mask: Tensor):
    return torch.masked_select(x, mask).sum()  # GM501


def read_by_mask(x: Tensor):
    return x[x > 1].sum()  # GM501


def read_by_what_is_called_a_mask(x: Tensor, pad_masks: Tensor):
    return x[pad_masks, :].clone() * 2  # GM501


def any_of_mask(x: Tensor):
    bad = x > 1
    return (x < 3)[bad].any(), torch.all((x < 3)[bad]), x  # GM501


def counted_by_mask(x: Tensor):
    return x.argsort()[x > 1].sum() * 2  # GM501


def mean_by_mask(x: Tensor):
    return 2 * x[x > 1].mean()  # GM501


def read_by_mask_unannotated(x):
    return x[x > 1].sum()  # GM501


def added_by_mask(x: Tensor):
    y = x.clone()
    y[y > 1] += 5  # GM501
    return y


def moved_by_mask(x: Tensor):
    mask = x > 1
    y = x.clone()
    y[mask] = x[mask] * 2  # GM501
    return y


def counted(x: Tensor):
    return torch.bincount(x)  # GM501


def one_hot(labels: Tensor):
    return F.one_hot(labels)  # GM501


def repeated(x: Tensor, counts: Tensor):
    return x.repeat_interleave(counts)  # GM501


def confident(boxes, scores, threshold: float = 0.5):
    order = scores.argsort(descending=True)
    boxes, scores = boxes[order], scores[order]
    keep = scores > threshold
    boxes = boxes[keep]  # GM501
    scores = scores[keep]  # GM501
    return boxes, scores


def of_a_dtype(error: Tensor, valid):
    if valid.dtype != torch.bool:
        valid = valid > 0
    return error[valid].mean()  # GM501


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    def forward(self, x, chosen):
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().flatten()  # GM501
            out[rows] = expert(x[rows])
        return out

def picked_by_flags(x: Tensor, sizes: list[int]):
    return x[[size > 1 for size in sizes]].sum()  # GM501


def picked_by_tensor_of_flags(x: Tensor):
    return x[torch.tensor([True, False])].sum()  # GM501


def chosen_by_itself(logits, target):
    keep = target != -1
    logits, target = logits[keep], target[keep]  # GM501
    return logits * 2, target


def split_by_itself(x, y):
    high = y > 1
    return x[high], y[~high]  # GM501


CASES = [
    ("chosen_by_itself", [lambda: (torch.ones(3, 2), torch.tensor([0, -1, 2]))]),
    ("split_by_itself", [lambda: (torch.ones(3), torch.arange(3.0))]),
    ("read_by_what_is_called_a_mask", [lambda: (torch.ones(2, 2), torch.tensor([True, False]))]),
    ("any_of_mask", [lambda: (torch.tensor([0.5, 2.0, 4.0]),), lambda: (torch.zeros(3),), lambda: (torch.ones(0),)]),
    ("counted_by_mask", [lambda: (torch.tensor([0.5, 2.0, 4.0]),), lambda: (torch.zeros(3),)]),
    ("mean_by_mask", [lambda: (torch.tensor([0.5, 2.0, 4.0]),)]),
    ("where_it_is", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("where_once", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("distinct", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("kept", [lambda: (torch.tensor([0.0, 2.0]), torch.tensor([True, False]))]),
    ("read_by_mask", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("read_by_mask_unannotated", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("added_by_mask", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("moved_by_mask", [lambda: (torch.tensor([0.0, 2.0]),)]),
    ("counted", [lambda: (torch.tensor([0, 2]),)]),
    ("one_hot", [lambda: (torch.tensor([0, 2]),)]),
    ("repeated", [lambda: (torch.tensor([0.0, 2.0]), torch.tensor([1, 2]))]),
    ("confident", [lambda: (torch.ones(3, 4), torch.tensor([0.2, 0.9, 0.7]))]),
    ("of_a_dtype", [lambda: (torch.ones(3), torch.tensor([True, False, True]))]),
    ("Experts", [lambda: (torch.ones(3, 2), torch.tensor([0, 1, 1]))]),
    ("picked_by_flags", [lambda: (torch.ones(2), [1, 2])]),
    ("picked_by_tensor_of_flags", [lambda: (torch.ones(2),)]),
]
