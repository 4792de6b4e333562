"""Loggers that are not made by `getLogger` alone, or not called by name."""

import logging

import torch
from torch import Tensor, nn

parts = logging.getLogger(__name__).getChild("parts")
tagged = logging.LoggerAdapter(parts, {"tag": "a"})


class Adapter(logging.LoggerAdapter):
    def process(self, msg, kwargs):
        return f"[{self.extra['tag']}] {msg}", kwargs


named = Adapter(parts, {"tag": "b"})


def child(x: Tensor):
    y = x * 2
    parts.info("child")  # GM202
    return y + 1


def adapted(x: Tensor):
    y = x * 2
    tagged.info("adapted")  # GM202
    return y + 1


def adapted_by_a_class(x: Tensor):
    y = x * 2
    named.info("adapted")  # GM202
    return y + 1


def leveled(x: Tensor):
    y = x * 2
    if parts.level > logging.DEBUG:  # GM202
        y = y + 1
    return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.say = parts.info

    def forward(self, x):
        y = x * 2
        self.say("kept")  # GM202
        return y + 1


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["child", "adapted", "adapted_by_a_class", "leveled", "Net"]]
