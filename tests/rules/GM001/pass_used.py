"""Comments that are no suppressions of ours."""

import torch


def other_tools(x: torch.Tensor):
    # codes of other tools are none of our business
    y = x * 2  # noqa: E501
    z = y + 1  # noqa
    return z  # type: ignore


def text(x: torch.Tensor):
    # a string is no comment
    return x * len("# graphmend: ignore")


CASES = [(name, [lambda: (torch.ones(2),)]) for name in ["other_tools", "text"]]
