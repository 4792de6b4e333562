"""Loggers outside compiled code, and things called like them."""

import logging
import math

import torch
from torch import Tensor, nn

logger = logging.getLogger(__name__)
logger.info("module level")


class Recorder:
    def __init__(self):
        self.last = None

    def info(self, value):
        self.last = value


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        # before compilation
        logger.info("built")
        self.recorder = Recorder()

    def forward(self, x):
        # an object of one's own with a method info
        y = x * 2
        self.recorder.info(x.shape[0])
        return y


def logarithm(x: Tensor):
    # other things called log
    return x.log() + torch.log(x) + math.log(x.shape[0])


def guarded(x: Tensor):
    # only in eager mode
    if not torch.compiler.is_compiling():
        logger.warning("eager")
    return x * 2


def level_constant(x: Tensor):
    # a constant of the module
    return x * logging.INFO


def short_input(x: Tensor):
    # behind a test that is false: the branch is never traced
    if x.dim() > 5:
        raise ValueError("too many dimensions")
    return x * 2


CASES = [
    (name, [lambda: (torch.ones(2),)])
    for name in ["Net", "logarithm", "guarded", "level_constant", "short_input"]
]
