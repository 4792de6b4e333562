"""A report's numbers in words, the same in a terminal, an editor and a page: units, ratios, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphmend_lsp.finding import Applied
from graphmend_lsp.profile.report import Arm, Launches, Report, Site, Timing, noise, ratio

RATIOS = "Ratios are original / mended: above 1 the mended code is faster, or needs less memory."
STATUS = {"confirmed": "confirmed", "no-break": "no break here", "not-reached": "not reached"}
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def counted(number: int, noun: str) -> str:
    """ "1 graph", "2 graphs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seconds(value: float, digits: int = 3) -> str:
    """A time with ``digits`` significant digits; digits before the point are never rounded away."""
    if value <= 0:
        return "0 s"
    for scale, unit in _SECONDS:
        # not 1: what would be written as 1000 of the next smaller unit is 1 of this one
        if value / scale >= 0.9995 or unit == "µs":
            return f"{_significant(value / scale, digits)} {unit}"
    raise AssertionError


def memory(value: int) -> str:
    """Bytes in the largest unit of which there is one."""
    for scale, unit in _BYTES:
        if value >= scale:
            return f"{_significant(value / scale, 3)} {unit}"
    return f"{value} B"


def times(value: float) -> str:
    """A ratio: finer about 1, where the second digit decides."""
    if value < 0.1:
        return f"{value:.2g}x"
    return f"{value:.{2 if value < 2 else 1 if value < 10 else 0}f}x"


def one_line(text: str, most: int = 160) -> str:
    """A text on one line, shortened; what a terminal or an editor might obey is left out."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def device(report: Report) -> str:
    """The device as a label; a CPU is always called one, so that its times are not taken for a GPU's."""
    name = one_line(report.device_name)
    if report.device == "cuda":
        return name or "CUDA"
    if report.device != "cpu" or name.upper() == "CPU":
        return report.device.upper()
    return f"CPU: {name}" if name else "CPU"


def timed(arm: Arm | None) -> bool:
    """Whether any time of an arm was measured."""
    return arm is not None and any(value is not None for value in (arm.eager, arm.compiled, arm.cold, arm.to_steady))


def why_not_mended(report: Report) -> str:
    """Why there is no mended arm, or "" if there is one."""
    if report.mended is not None or report.original is None or not report.compared:
        return ""
    if report.mended_failure is not None:
        return f"mended not measured: {one_line(report.mended_failure.message)}"
    if not report.original.events and not report.original.sites:
        return "nothing to mend"
    if report.left:
        return f"nothing mended: no fix for {counted(report.left, 'finding')}"
    return "nothing mended"


def warnings(report: Report) -> Iterator[str]:
    """What makes the two arms hard or impossible to compare."""
    if report.mended is None:
        return
    if report.same_inputs is False:
        yield "The two arms did not begin with the same parameters, buffers and arguments: do not compare their times."
    if report.same_result is False:
        yield "The mended code did not return what the original returned (first eager call, bit for bit)."


def against_eager(report: Report) -> str:
    """What torch.compile gains in the steady state, or "" where nothing was timed."""
    parts: list[str] = []
    for name, arm in (("original", report.original), ("mended", report.mended)):
        value = None if arm is None else ratio(arm.eager, arm.compiled)
        if arm is not None and value is not None:
            within = " (within noise)" if noise(arm.eager, arm.compiled) else ""
            parts.append(f"{name} {times(value)}{within}")
    return f"compiled against eager, steady state: {', '.join(parts)}" if parts else ""


def confirming(report: Report, site: Site) -> tuple[str, ...]:
    """The rules whose findings are on the line of a break site."""
    return tuple(dict.fromkeys(row.code for row in report.findings if (row.path, row.line) == (site.path, site.line)))


def found(report: Report, site: Site) -> str:
    """Whether the static analysis had foreseen a break site, in words; "" where it was not asked."""
    codes = confirming(report, site)
    if not report.compared:
        return ""
    return f"found by {', '.join(codes)}" if codes else "no finding on this line"


def risk(row: Applied) -> str:
    """What an applied fix may change, or "" for a safe one."""
    return "" if row.safety == "safe" else f"{row.safety}: {row.changes or 'not proved'}"


def mode(report: Report) -> str:
    """The mode of the module, or "" for a function."""
    return "" if report.training is None else "training mode" if report.training else "eval mode"


@dataclass(frozen=True)
class Row:
    """One number of both arms; "" where it was not measured."""

    name: str
    original: str
    mended: str
    ratio: str = ""


def rows(report: Report) -> tuple[Row, ...]:
    """The table of both arms, less the rows of which nothing is known."""
    one, other = _cells(report.original), _cells(report.mended)
    ratios = _ratios(report.original, report.mended)
    made = [Row(name, one.get(name, ""), other.get(name, ""), ratios.get(name, "")) for name in one or other]
    return tuple(row for row in made if row.original or row.mended)


def _cells(arm: Arm | None) -> dict[str, str]:
    """An arm's numbers by name, in the order of the table; "" where it was not measured."""
    if arm is None:
        return {}
    return {
        "graphs": str(len(arm.graphs)),
        "break events": str(arm.events),
        "break sites": str(len(arm.sites)),
        "recompiles": str(len(arm.recompiles)),
        "skipped frames": "" if arm.skipped is None else str(arm.skipped),
        "guards": "" if arm.guards is None else str(arm.guards),
        "operations": str(arm.operations),
        "eager": _timing(arm.eager),
        "compiled": _timing(arm.compiled),
        "cold start": _seconds(arm.cold),
        "to steady": _seconds(arm.to_steady),
        "peak memory": "" if arm.peak_memory is None else memory(arm.peak_memory),
        "launches a call": _launches(arm.launches),
    }


def _ratios(one: Arm | None, other: Arm | None) -> dict[str, str]:
    """Of times and memory only: of counts, more or less is not faster or slower."""
    if one is None or other is None:
        return {}
    made: dict[str, str] = {}
    for name, left, right in (("eager", one.eager, other.eager), ("compiled", one.compiled, other.compiled)):
        value = ratio(left, right)
        if value is not None:
            made[name] = times(value) + (" (within noise)" if noise(left, right) else "")
    for name, first, second in (
        ("cold start", one.cold, other.cold),
        ("to steady", one.to_steady, other.to_steady),
        ("peak memory", one.peak_memory, other.peak_memory),
    ):
        if first and second:
            made[name] = times(first / second)
    return made


def _timing(timing: Timing | None) -> str:
    return "" if timing is None else seconds(timing.median)


def _seconds(value: float | None) -> str:
    return "" if value is None else seconds(value)


def _launches(launches: Launches | None) -> str:
    if launches is None:
        return ""
    kernels = counted(launches.kernels, "kernel")
    return f"{kernels}, {counted(launches.graphs, 'CUDA graph')}" if launches.graphs else kernels


def _significant(value: float, digits: int) -> str:
    return f"{value:.{max(0, digits - len(str(int(value))))}f}"
