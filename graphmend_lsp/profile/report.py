"""What a profile found: plain data for people, editors and tools.

Times are seconds of one call, memory is bytes, lines are 1-based lines of the original text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

from graphmend_lsp.finding import Applied

_T = TypeVar("_T")

VERSION = 1
"""Of the JSON form; it grows only by addition."""

FailureKind = Literal[
    "start",
    "torch",
    "old-torch",
    "no-cuda",
    "out-of-memory",
    "import",
    "entry",
    "build",
    "inputs",
    "not-reached",
    "raised",
    "timeout",
    "cancelled",
    "died",
    "internal",
]
"""Why there is no profile.

``start``: the interpreter cannot be started.  ``torch``: it has none, or a broken one; ``old-torch``: one before 2.4.
``inputs``: none are known, or they do not fit.  ``not-reached``: the captured program ended without calling the entry.
``raised``: the entry itself did.  ``died``: the process ended (``sys.exit``, a signal).  ``internal``: our defect.
"""


@dataclass(frozen=True)
class Failure:
    """Why a profile, or one half of it, could not be made; the message is for the user."""

    kind: FailureKind
    message: str


@dataclass(frozen=True)
class Site:
    """A place where Dynamo broke the graph; ``line`` is 0 where it names none, ``gb`` "" where it has no number.

    ``events`` is how often it broke there in all calls; ``function`` is the qualified name of the function that the
    line is in, "" at module level or where unknown.
    """

    path: str
    line: int
    reason: str
    gb: str = ""
    events: int = 1
    function: str = ""


@dataclass(frozen=True)
class Recompile:
    """A function that was compiled again, and the guard that failed."""

    function: str
    path: str
    line: int
    reason: str


@dataclass(frozen=True)
class Graph:
    """One compiled graph: the number of its operations, and the source lines they come from (path -> lines)."""

    operations: int
    lines: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Timing:
    """Seconds a call: the median of ``runs``, and the quartiles around it."""

    median: float
    low: float
    high: float
    runs: int

    @property
    def spread(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Launches:
    """What one steady compiled call makes the GPU's driver do."""

    kernels: int
    graphs: int
    """CUDA graphs."""


@dataclass(frozen=True)
class Arm:
    """One half of a profile: the code as it is, or mended in memory.

    ``graphs`` are those of the first call; ``recompiles`` and ``sites`` are over all calls that were made.
    Fields are None (times: also where nothing was timed) where this torch does not tell.
    """

    graphs: tuple[Graph, ...]
    events: int
    """Break events of the first call; one site may break several times."""
    sites: tuple[Site, ...]
    recompiles: tuple[Recompile, ...] = ()
    skipped: int | None = None
    """Frames that Dynamo gave up, which run eagerly."""
    guards: int | None = None
    eager: Timing | None = None
    compiled: Timing | None = None
    """In the steady state."""
    cold: float | None = None
    """The first compiled call, compilation included."""
    to_steady: float | None = None
    """All calls until none compiled anything any more."""
    peak_memory: int | None = None
    """Bytes allocated on the GPU at most in a steady compiled call; on a CPU the process's peak resident memory."""
    launches: Launches | None = None
    untimed: str = ""
    """Why the times are missing; "" if they are there or nobody asked for them."""

    @property
    def operations(self) -> int:
        return sum(graph.operations for graph in self.graphs)


@dataclass(frozen=True)
class Confirmed:
    """A static finding against what was measured: Dynamo broke there, or ran over it, or never came there."""

    path: str
    line: int
    code: str
    status: Literal["confirmed", "no-break", "not-reached"]


@dataclass(frozen=True)
class Report:
    """One entry's profile.  Either ``failure`` is set or ``original`` is; ``mended`` is None where nothing was mended,
    nobody asked, or ``mended_failure`` says why it could not be measured."""

    path: str
    entry: str
    device: Literal["cuda", "cpu", ""] = ""
    device_name: str = ""
    torch: str = ""
    python: str = ""
    backend: str = ""
    inputs: str = ""
    """Where the arguments come from, in words."""
    training: bool | None = None
    """The mode of the module; None for a function."""
    original: Arm | None = None
    mended: Arm | None = None
    compared: bool = True
    """Whether mended code was asked for."""
    failure: Failure | None = None
    mended_failure: Failure | None = None
    applied: tuple[Applied, ...] = ()
    left: int = 0
    """Findings, in the files that were mended, which no applied fix mends."""
    findings: tuple[Confirmed, ...] = ()
    same_inputs: bool | None = None
    """Whether both arms began with the same parameters, buffers and arguments, bit for bit."""
    same_result: bool | None = None
    """Whether their first eager calls returned the same, bit for bit."""
    notes: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    """The last lines that the code printed while it was measured as it is."""
    seconds: float = 0.0
    digest: str = ""
    """Of the source of the entry as it was measured (``store``)."""
    when: str = ""
    """The time of the measurement, ISO 8601."""

    # -- ratios: above 1 means that the mended code is faster ------------------------------------------

    @property
    def cold_ratio(self) -> float | None:
        """Cold start, original / mended."""
        if self.original is None or self.mended is None or not self.original.cold or not self.mended.cold:
            return None
        return self.original.cold / self.mended.cold

    @property
    def steady_ratio(self) -> float | None:
        """Steady state, original / mended."""
        if self.original is None or self.mended is None:
            return None
        return ratio(self.original.compiled, self.mended.compiled)

    @property
    def within_noise(self) -> bool:
        """Whether the steady states differ by no more than the calls of one of them differ among themselves."""
        if self.original is None or self.mended is None:
            return True
        return noise(self.original.compiled, self.mended.compiled)

    def as_json(self) -> dict[str, Any]:
        """Plain data; ``docs/profile.schema.json`` describes it."""
        data = asdict(self)
        data["version"] = VERSION
        data["cold_ratio"] = self.cold_ratio
        data["steady_ratio"] = self.steady_ratio
        data["steady_within_noise"] = None if self.steady_ratio is None else self.within_noise
        return data

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Report:
        """The opposite of ``as_json``.

        Raises:
            ValueError: of another version, or not a report.
        """
        if data.get("version") != VERSION:
            raise ValueError("a report of another version")
        try:
            known = _known(cls, data)
            known["original"] = _arm(known.get("original"))
            known["mended"] = _arm(known.get("mended"))
            for name in ("failure", "mended_failure"):
                known[name] = _optional(Failure, known.get(name))
            known["applied"] = _rows(Applied, known.get("applied", ()))
            known["findings"] = _rows(Confirmed, known.get("findings", ()))
            known["notes"] = tuple(known.get("notes", ()))
            known["output"] = tuple(known.get("output", ()))
            return cls(**known)
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"not a report: {error}") from None


def ratio(slow: Timing | None, fast: Timing | None) -> float | None:
    """How many times faster the second is."""
    return None if slow is None or fast is None or not fast.median else slow.median / fast.median


def noise(one: Timing | None, other: Timing | None) -> bool:
    """Whether two medians are nearer to each other than the quartiles of either are apart."""
    if one is None or other is None:
        return True
    return abs(one.median - other.median) <= max(one.spread, other.spread)


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that this version knows: a later one may have added some."""
    return {name: data[name] for name in kind.__dataclass_fields__ if name in data}


def _optional(kind: type[_T], data: Mapping[str, Any] | None) -> _T | None:
    return None if data is None else kind(**_known(kind, data))


def _rows(kind: type[_T], rows: Iterable[Mapping[str, Any]]) -> tuple[_T, ...]:
    return tuple(kind(**_known(kind, row)) for row in rows)


def _arm(data: Mapping[str, Any] | None) -> Arm | None:
    if data is None:
        return None
    row = _known(Arm, data)
    row["graphs"] = tuple(
        Graph(graph["operations"], {path: tuple(lines) for path, lines in graph["lines"].items()})
        for graph in row["graphs"]
    )
    row["sites"] = _rows(Site, row["sites"])
    row["recompiles"] = _rows(Recompile, row["recompiles"])
    for name in ("eager", "compiled"):
        row[name] = _optional(Timing, row[name])
    row["launches"] = _optional(Launches, row["launches"])
    return Arm(**row)
