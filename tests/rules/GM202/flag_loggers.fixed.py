"""Loggers in every spelling."""

import functools
import logging
from logging import getLogger

import torch
from torch import Tensor, nn
from graphmend_lsp.runtime import graph_effect

logger = logging.getLogger(__name__)
log = getLogger("other")


@graph_effect
def _log_mean(y_mean):
    logger.info("mean %s", y_mean)


def info(x: Tensor):
    y = x * 2
    _log_mean(y.mean())  # GM202
    return y + 1


@graph_effect
def _log_x():
    log.debug("x")


def below_the_level(x: Tensor):
    y = x * 2
    _log_x()  # GM202
    return y + 1


@graph_effect
def _warn_shape(x):
    logging.warning("shape %s", tuple(x.shape))


def module_function(x: Tensor):
    y = x * 2
    _warn_shape(x)  # GM202
    return y + 1


@graph_effect
def _warn_long_input(x):
    logger.warning("long input: %d", x.shape[-1])


def long_input(x: Tensor):
    if x.shape[-1] > 2:
        _warn_long_input(x)  # GM202
    return x * 2


@graph_effect
def _log_sum(y):
    logging.getLogger("third").error(f"sum {y.sum():.1f}")


def fetched_here(x: Tensor):
    y = x * 2
    _log_sum(y)  # GM202
    return y + 1


@graph_effect
def _warn_message(message):
    logger.warning(message)


@functools.lru_cache(None)
def warning_once(message):
    _warn_message(message)  # GM202


def once(x: Tensor):
    y = x * 2
    warning_once("this model is old")
    return y + 1


def enabled(x: Tensor):
    y = x * 2
    if logger.isEnabledFor(logging.DEBUG):  # GM202
        y = y + 1
    return y


@graph_effect
def _log_logging_WARNING(x):
    logger.log(logging.WARNING, "at %s", x.dtype)


def with_level(x: Tensor):
    y = x * 2
    _log_logging_WARNING(x)  # GM202
    return y + 1


@graph_effect
def _warn_negative_values(y):
    if (y < 0).any():  # GM101
        logger.warning("negative values")


def only_logs(x: Tensor):
    y = x * 2
    # GM101
    _warn_negative_values(y)
    return y + 1


@graph_effect
def _log_forward():
    logging.getLogger("net").info("in forward")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = logging.getLogger("net")
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        h = self.fc(x)
        _log_forward()  # GM202
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
