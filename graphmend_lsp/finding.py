"""What the analysis says: findings with evidence, and for each an offer or a refusal."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.text import Edit, Span

Severity = Literal["error", "warning", "information", "hint"]
Confidence = Literal["explicit", "implied"]
Safety = Literal["safe", "unsafe"]
Reason = Literal[
    "alias",
    "dtype",
    "shape",
    "may-raise",
    "state-write",
    "random",
    "gradient",
    "side-effect",
    "heavy",
    "control-flow",
    "caught-exception",
    "exception-type",
    "unbound-name",
    "container-mutation",
    "host-value",
    "deliberate",
    "location",
    "unsupported",
]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One step of the chain that makes a value tensor-valued or a region compiled.

    ``path`` is None for the file of the finding itself.
    """

    span: Span
    message: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class EntryName:
    """An entry by name, and the file that says it is one; None for the finding's own."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a break costs one entry, as an estimate: at most so many graphs more, or a function given up as a whole.

    ``drops`` is the qualified name of the first function on the way that runs without a graph of its own, or "";
    ``reason`` what stands around the place in it ("a loop", "a try", "a generator", "with NAME").
    """

    entry: str
    graphs: int
    drops: str = ""
    reason: str = ""
    whole: bool = False
    """Whether what is given up is the entry itself."""

    @property
    def words(self) -> str:
        if self.drops:
            inside = f"inside `{self.reason}`" if self.reason.startswith("with ") else f"inside {self.reason}"
            return f"{inside}, so `{self.drops}` is given up: it runs without a graph of its own"
        more = "1 more graph" if self.graphs == 1 else f"up to {self.graphs} more graphs"
        return f"{more} in `{self.entry}`"


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file an offer needs beside its edits (the runtime, ``_graphmend.py``)."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """The text an offer stands for: edits of the finding's own file, and files to create."""

    edits: tuple[Edit, ...]
    creates: tuple[NewFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """One possible change for a finding whose legality has been proved (``safe``) or not (``unsafe``).

    ``changes`` says in the user's terms what behaviour changes; empty for a safe offer.  The edits
    are computed on demand by ``graphmend_lsp.check.resolve``.
    """

    kind: str
    title: str
    safety: Safety
    changes: str = ""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a transformation is not offered: ``reason`` from the closed list, ``message`` in words."""

    kind: str
    reason: Reason
    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A break site predicted by a rule.

    ``function`` is the qualified name of the function it stands in, ``entry`` the region's entry
    that reaches it.  ``gb`` is PyTorch's id ("GB0170") on the release assumed, or None.
    """

    code: str
    name: str
    path: str
    span: Span
    message: str
    severity: Severity
    function: str
    entry: str
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    offers: tuple[Offer, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    gb: str | None = None
    statement: Span = field(default=Span(1, 0, 1, 0), compare=False)
    header_end: int = field(default=0, compare=False)
    """Last line of the statement, of a compound one that of its header."""
    entries: tuple[EntryName, ...] = field(default=(), compare=False)
    """All entries known to be broken here, ``entry`` among them."""
    named_line: int = field(default=0, compare=False)
    """The line of this file that the message names; 0 if it names none."""
    costs: tuple[Cost, ...] = field(default=(), compare=False)
    """What it is estimated to cost, for the entries of this check that it costs; the dearest first."""

    @property
    def cost_words(self) -> str | None:
        """The dearest cost in words, and how many entries have to pay; None where nothing is estimated."""
        if not self.costs:
            return None
        entries = len(self.entries)
        others = "" if entries < 2 else f"; {entries} entries reach this line"
        return f"{self.costs[0].words}{others}"

    @property
    def gb_url(self) -> str | None:
        """PyTorch's page on this kind of break."""
        return gb_url(self.gb)


def gb_url(gb: str | None) -> str | None:
    """PyTorch's page on a kind of graph break by its id ("GB0170"); None without one."""
    return f"https://meta-pytorch.github.io/compile-graph-break-site/gb/{gb.lower()}.html" if gb else None


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be analysed: ``line`` is 1-based, or None where there is none.

    In a notebook it is a line of the cell with the number ``cell``, which counts cells of all kinds from 1.
    """

    path: str
    line: int | None
    message: str
    cell: int | None = None


@dataclass(frozen=True)
class Applied:
    """One offer that mended code has; ``line`` is that of its finding, in the text that the holder says."""

    path: str
    line: int
    code: str
    title: str
    safety: str
    changes: str = ""

    @classmethod
    def of(cls, path: str, finding: Finding, offer: Offer, line: int | None = None) -> Applied:
        """An offer of a finding; ``line`` None takes the finding's."""
        return cls(path, line or finding.span.line, finding.code, offer.title, offer.safety, offer.changes)


@dataclass(frozen=True, slots=True)
class Internal:
    """An error of our own that cost one rule, transformation or function at one place; all else was found.

    ``what`` names that part in words, ``error`` the exception with the innermost place, ``trace`` is its traceback.
    """

    path: str
    line: int | None
    what: str
    error: str
    trace: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, path: str, line: int | None, what: str, error: Exception) -> Internal:
        """The internal error that an exception is."""
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(path, line, what, f"{type(error).__name__}: {error}{place}", trace)

    @property
    def problem(self) -> Problem:
        """What to tell the user."""
        return Problem(self.path, self.line, f"internal error in {self.what}: {self.error}; please report")
