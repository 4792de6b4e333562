"""Run both arms in workers, one after the other: two that run at once would slow each other down."""

from __future__ import annotations

from collections.abc import Callable

from graphmend_lsp.profile.plan import Plan
from graphmend_lsp.profile.report import Report

Progress = Callable[[str, int], None]
"""Takes the stage in words, and how much is done in percent."""


def profile(
    plan: Plan,
    python: str,
    *,
    folder: str,
    progress: Progress,
    cancelled: Callable[[], bool] = lambda: False,
) -> Report:
    """Profile one entry; what goes wrong is in the report.  Blocks; ``cancelled`` is asked several times a second.

    Args:
        python: the user's interpreter.
        folder: where the processes run.
    """
    raise NotImplementedError
