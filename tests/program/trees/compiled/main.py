"""A script that compiles what other files define."""

import torch

import library.steps as steps
from library.net import Built, Made, Net
from library.late import Late

CALLS = [
    (steps.step, (torch.ones(3),)),
    (Net(), (torch.ones(3),)),
    (steps.other, (torch.ones(3),)),
    (Late().encode, (torch.ones(3),)),
    (Made(), (torch.ones(3),)),
    (Built(), (torch.ones(3),)),
]


def run():
    from library.factory import build, make
    from library.late import Late as Encoder

    step = torch.compile(steps.step)
    model = torch.compile(Net(), fullgraph=True)
    fast = torch.compile(steps.other)
    encoder = Encoder()
    encode = torch.compile(encoder.encode)
    made = torch.compile(make())
    built = build()
    built.compile()
    return step, model, fast, encode, made, built
