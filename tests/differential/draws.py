"""Where a generator's choices come from: hypothesis, so that failures shrink, or a seeded random generator.

Both give nothing but integers in a range, so one seed or one hypothesis example is one module's text.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Draws:
    """Choices; the first of several is the simplest, towards which hypothesis shrinks."""

    integer: Callable[[int, int], int]

    @staticmethod
    def seeded(seed: int) -> Draws:
        return Draws(random.Random(seed).randint)

    def chance(self, percent: int) -> bool:
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[_T]) -> _T:
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, _T]]) -> _T:
        at = self.integer(1, sum(weight for weight, _ in options))
        for weight, option in options:
            at -= weight
            if at <= 0:
                return option
        raise AssertionError("weights are positive")
