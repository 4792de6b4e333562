"""A script that compiles what other files define."""

import library.steps as steps
import torch
from library.net import Net

CALLS = [(steps.step, (torch.ones(3),)), (Net(), (torch.ones(3),)), (steps.other, (torch.ones(3),))]


def run():
    step = torch.compile(steps.step)
    model = torch.compile(Net(), fullgraph=True)
    fast = torch.compile(steps.other)
    return step, model, fast
