"""Loggers that are not made by `getLogger` alone, or not called by name."""

import logging

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect

parts = logging.getLogger(__name__).getChild("parts")
tagged = logging.LoggerAdapter(parts, {"tag": "a"})


class Adapter(logging.LoggerAdapter):
    def process(self, msg, kwargs):
        return f"[{self.extra['tag']}] {msg}", kwargs


named = Adapter(parts, {"tag": "b"})


@graph_effect
def _log_child():
    parts.info("child")


def child(x: Tensor):
    y = x * 2
    _log_child()  # GM202
    return y + 1


@graph_effect
def _log_adapted():
    tagged.info("adapted")


def adapted(x: Tensor):
    y = x * 2
    _log_adapted()  # GM202
    return y + 1


@graph_effect
def _log_adapted_2():
    named.info("adapted")


def adapted_by_a_class(x: Tensor):
    y = x * 2
    _log_adapted_2()  # GM202
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
