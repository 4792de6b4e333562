"""What verification found: plain data for people, editors and tools."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from graphmend_lsp.finding import Applied

Verdict = Literal["same", "different", "inconclusive", "unchanged"]
"""``unchanged``: there was nothing to mend, so nothing was run."""


@dataclass(frozen=True)
class Site:
    """A place where Dynamo broke the graph, in the text that ran; ``line`` is 0 where it names none."""

    path: str
    line: int
    reason: str
    gb: str = ""


@dataclass(frozen=True)
class Counts:
    """Graphs and break events for the first inputs, break sites over all; ``training`` is the mode that was counted."""

    graphs: int
    events: int
    training: bool
    sites: tuple[Site, ...]

    @classmethod
    def read(cls, data: dict[str, Any]) -> Counts:
        """From the worker's message."""
        return cls(data["graphs"], data["events"], data["training"], tuple(Site(*row) for row in data["sites"]))


@dataclass(frozen=True)
class Differing:
    """One difference: ``label`` names the inputs, ``backend`` is "eager" or ``torch.compile``'s."""

    label: str
    backend: str
    gradients: bool
    part: str
    message: str


@dataclass(frozen=True)
class NotCompared:
    """A run that says nothing, and why."""

    label: str
    backend: str
    reason: str


@dataclass(frozen=True)
class EntryReport:
    """The verdict on one entry; ``reason`` says why it is inconclusive or unchanged."""

    entry: str
    verdict: Verdict
    reason: str = ""
    inputs: str = ""
    runs: tuple[tuple[str, int], ...] = ()
    """How many runs were compared, by backend."""
    differences: tuple[Differing, ...] = ()
    not_compared: tuple[NotCompared, ...] = ()
    before: Counts | None = None
    after: Counts | None = None


@dataclass(frozen=True)
class Report:
    """The verdicts on the entries of one file."""

    path: str
    entries: tuple[EntryReport, ...]
    applied: tuple[Applied, ...] = ()
    against: str = ""
    """The file that was compared in place of mended code."""
    torch: str = ""
    python: str = ""
    calls: int = 2
    seconds: float = 0.0
    left_out: tuple[tuple[str, str], ...] = ()
    """Entries that were not tried, with reasons."""

    def as_json(self) -> dict[str, Any]:
        """Plain data; grows only by addition."""
        data = asdict(self)
        for row in data["entries"]:
            row["runs"] = dict(row["runs"])
        data["left_out"] = [{"entry": name, "reason": reason} for name, reason in self.left_out]
        return data


TOLERANCE = "rounding: 1e-5 of the largest value in float32, 1e-9 in float64, 5e-3 in float16, 3e-2 in bfloat16"
"""What compiled results may deviate by (``worker.compare``)."""
