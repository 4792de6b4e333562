"""Loggers in every spelling."""

import functools
import logging
from logging import getLogger

import torch
from torch import Tensor, nn

logger = logging.getLogger(__name__)
log = getLogger("other")


def info(x: Tensor):
    y = x * 2
    logger.info("mean %s", y.mean())  # GM202
    return y + 1


def below_the_level(x: Tensor):
    y = x * 2
    log.debug("x")  # GM202
    return y + 1


def module_function(x: Tensor):
    y = x * 2
    logging.warning("shape %s", tuple(x.shape))  # GM202
    return y + 1


def long_input(x: Tensor):
    if x.shape[-1] > 2:
        logger.warning("long input: %d", x.shape[-1])  # GM202
    return x * 2


def fetched_here(x: Tensor):
    y = x * 2
    logging.getLogger("third").error(f"sum {y.sum():.1f}")  # GM202
    return y + 1


@functools.lru_cache(None)
def warning_once(message):
    logger.warning(message)  # GM202


def once(x: Tensor):
    y = x * 2
    warning_once("this model is old")
    return y + 1


def enabled(x: Tensor):
    y = x * 2
    if logger.isEnabledFor(logging.DEBUG):  # GM202
        y = y + 1
    return y


def with_level(x: Tensor):
    y = x * 2
    logger.log(logging.WARNING, "at %s", x.dtype)  # GM202
    return y + 1


def only_logs(x: Tensor):
    y = x * 2
    if (y < 0).any():  # GM101
        logger.warning("negative values")
    return y + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = logging.getLogger("net")
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        h = self.fc(x)
        self.log.info("in forward")  # GM202
        return h.relu()


def up():
    return (torch.tensor([1.0, 2.0, 3.0]),)


CASES = [
    (name, [up])
    for name in [
        "info",
        "below_the_level",
        "module_function",
        "long_input",
        "fetched_here",
        "once",
        "enabled",
        "with_level",
        "only_logs",
        "Net",
    ]
]
