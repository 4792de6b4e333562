"""Texts that are deep, long or odd: a result or a message, no error of ours, and in bounded time."""

from __future__ import annotations

import time

import pytest

from graphmend_lsp.check import check
from tests.support.robust import nasty, sound

SECONDS = 12.0
"""Of CPU, for the text and for the same one with an edit."""
SMALL = dict(nasty.texts((60,), (300,)))
LARGE = dict(nasty.texts((20_000,), (20_000,)))
FEW = (
    "sum, 20,000 long",
    "parentheses, 20000 deep",
    "attributes, 20000 deep",
    "string, 20,000 long",
    "nul bytes, 20,000 long",
    "lone surrogates, 20,000 long",
    "line ends, 20,000 long",
    "form feeds, 20,000 long",
)


def _check(text: str) -> None:
    begun = time.process_time()
    analysis = check(text, "nasty.py")
    again = check(text + "\n", "nasty.py", previous=analysis)
    assert time.process_time() - begun < SECONDS
    assert sound.complaints(analysis) == sound.complaints(again) == []


@pytest.mark.parametrize("name", SMALL)
def test_small(name: str) -> None:
    _check(SMALL[name])


@pytest.mark.parametrize("name", FEW)
def test_large(name: str) -> None:
    _check(LARGE[name])
