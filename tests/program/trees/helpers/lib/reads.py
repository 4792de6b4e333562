"""Helpers without a test or a print: what they break is a read, a size or a call."""

import random

import torch


def scale(x):
    return x * x.max().item()  # GM401


def positive(x):
    return x[x > 0]  # GM501


def where(x):
    return torch.nonzero(x)  # GM501


def noise(x):
    return x + random.gauss(0, 1)  # GM601


def begins(x, count):
    return x[: count.sum()]  # GM402


def numbers(x):
    return torch.arange(x.sum(), device=x.device)  # GM402


def frozen(x):
    y = x * 2
    y.requires_grad = False  # GM603
    return y


def last(x):
    return x[..., x.shape[-1] // 2 :]
