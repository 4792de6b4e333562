"""When a command that reads many files looks for garbage.

Python's own search starts every few thousand objects and walks over all trees that are held: it more than doubled the
time of a check.  Here it is made between files, when enough has come together to be worth it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_MUCH = 1_500_000
"""So many blocks of memory (about 100 MiB) more than after the last search are worth another one."""


def between(jobs: Iterable[T]) -> Iterator[T]:
    """The jobs one by one, with a search for garbage in front of one where much may be there, and none meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    known = sys.getallocatedblocks()
    try:
        for job in jobs:
            if sys.getallocatedblocks() - known > _MUCH:
                gc.collect()
                known = sys.getallocatedblocks()
            yield job
    finally:
        if enabled:
            gc.enable()
