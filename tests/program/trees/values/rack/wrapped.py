import torch
from torch import nn


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def scores(self, x):
        if x.mean() > 0:  # GM101
            return x * 2
        return x

    @property
    def weighted(self):
        print("weighted")  # GM201
        return self.weight * 2
