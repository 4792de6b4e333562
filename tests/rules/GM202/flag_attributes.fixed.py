"""Loggers and functions that are kept in attributes."""

import logging

import torch
from torch import nn
from graphmend_lsp.runtime import graph_effect

LOGGER = logging.getLogger(__name__)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = LOGGER
        self.log: logging.Logger = logging.getLogger("base")


@graph_effect
def _log_mean(h_mean):
    LOGGER.info("mean %s", h_mean)


@graph_effect
def _warn_inherited():
    logging.getLogger("base").warning("inherited")


class Net(Base):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        h = self.fc(x)
        _log_mean(h.mean())  # GM202
        _warn_inherited()  # GM202
        return h + 1


class Console(nn.Module):
    def __init__(self):
        super().__init__()
        self.say = LOGGER.info
        self.show = print

    def forward(self, x):
        y = x * 2
        self.say("mean %s", y.mean())  # GM202
        self.show("mean", y.mean())  # GM201
        return y + 1


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["Net", "Console"]]
