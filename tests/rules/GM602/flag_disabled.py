"""Functions that are disabled by a call, not by a decorator."""

import torch
from torch import Tensor, nn


def lookup(x):
    return x * 2


kept_out = torch.compiler.disable(lookup)
kept_out_itself = torch._dynamo.disable(lookup, recursive=False)
made_later = torch.compiler.disable(recursive=False)(lookup)


def by_name(x: Tensor):
    return kept_out(x + 1) + 1  # GM602


def not_what_it_calls(x: Tensor):
    return kept_out_itself(x + 1) + 1  # GM602


def of_two_calls(x: Tensor):
    return made_later(x + 1) + 1  # GM602


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.find = torch.compiler.disable(lookup)
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.find(self.fc(x)) + 1  # GM602


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["by_name", "not_what_it_calls", "of_two_calls", "Net"]]
