"""A decorator around ``forward``, as rotary embeddings have it."""

import functools

import torch


def growing(forward):
    def longest(self, positions):
        length = torch.max(positions) + 1
        if length > self.limit:  # GM101
            self.scale = 2.0
        else:
            self.scale = 1.0

    def fixed(self, positions):
        if positions.shape[0] > self.limit:
            self.scale = 1.0

    @functools.wraps(forward)
    def wrapper(self, positions):
        if self.kind == "long":
            longest(self, positions)
        else:
            fixed(self, positions)
        return forward(self, positions)

    return wrapper


def logged(message):
    def decorate(function):
        def inner(*args):
            print(message)  # GM201
            return function(*args)

        return inner

    return decorate


def never(function):
    def inner(*args):
        print("not used on compiled code")
        return function(*args)

    return inner
