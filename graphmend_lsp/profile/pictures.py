"""Times as bars, in SVG that stands in a page and is read aloud by its title and description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.profile.markup import escaped
from graphmend_lsp.profile.report import Arm, Report, Timing
from graphmend_lsp.profile.words import seconds, times

_LEFT, _RIGHT, _WIDTH = 190, 590, 760
_HEIGHT, _GAP = 20, 12
_NAMES = ("original", "mended")


@dataclass(frozen=True)
class Bar:
    """One time in seconds, with the quartiles around it where it is a median."""

    label: str
    value: float
    colour: Literal["eager", "original", "mended"]
    low: float | None = None
    high: float | None = None

    @property
    def shown(self) -> str:
        return seconds(self.value)


def steady_picture(report: Report) -> str:
    """The steady state: eager, compiled, and compiled after mending; "" where nothing was timed."""
    made: list[Bar] = []
    if report.original is not None and report.original.eager is not None:
        made.append(_median("eager", report.original.eager, "eager"))
    for name, arm in zip(_NAMES, (report.original, report.mended), strict=True):
        if arm is not None and arm.compiled is not None:
            made.append(_median(f"compiled, {name}", arm.compiled, "mended" if name == "mended" else "original"))
    said = "Time of one call in the steady state; shorter is faster. Whiskers span the quartiles of the runs."
    if report.steady_ratio is not None:
        said += f" Original / mended: {times(report.steady_ratio)}"
        said += (
            ", within noise: the difference is no larger than the spread of the runs." if report.within_noise else "."
        )
    return _figure("steady", "Time of a call, steady state", said, made)


def cold_picture(report: Report) -> str:
    """What compiling costs against what a call costs afterwards; "" where nothing was timed."""
    made: list[Bar] = []
    arms = tuple(zip(_NAMES, (report.original, report.mended), strict=True))
    for what in ("cold start", "to steady", "steady call"):
        for name, arm in arms:
            value = None if arm is None else _of(arm, what)
            if value is not None:
                made.append(Bar(f"{what}, {name}", value, "mended" if name == "mended" else "original"))
    if all(bar.label.startswith("steady call") for bar in made):
        return ""
    said = (
        "Cold start is the first compiled call, compilation included; to steady is all calls until nothing was "
        "compiled any more. A steady call is drawn on the same scale."
    )
    if report.cold_ratio is not None:
        said += f" Cold start, original / mended: {times(report.cold_ratio)}."
    return _figure("cold", "Cold start against steady state", said, made)


def _of(arm: Arm, what: str) -> float | None:
    if what == "steady call":
        return None if arm.compiled is None else arm.compiled.median
    return arm.cold if what == "cold start" else arm.to_steady


def _median(label: str, timing: Timing, colour: Literal["eager", "original", "mended"]) -> Bar:
    return Bar(label, timing.median, colour, timing.low, timing.high)


def _figure(key: str, title: str, said: str, made: Sequence[Bar]) -> str:
    if not made:
        return ""
    longest = max(max(bar.value, bar.high or 0.0) for bar in made) or 1.0
    height = len(made) * (_HEIGHT + _GAP) + _GAP
    drawn = "\n".join(_drawn(bar, _GAP + row * (_HEIGHT + _GAP), longest) for row, bar in enumerate(made))
    spoken = "; ".join(f"{bar.label}: {bar.shown}" for bar in made)
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{key}-title {key}-said">'
        f'<title id="{key}-title">{escaped(title)}</title><desc id="{key}-said">{escaped(spoken)}</desc>\n'
        f'<line class="axis" x1="{_LEFT}" y1="4" x2="{_LEFT}" y2="{height - 4}"/>\n{drawn}\n</svg>'
        f"<figcaption>{escaped(said)}</figcaption></figure>\n"
    )


def _drawn(bar: Bar, top: int, longest: float) -> str:
    end = _at(bar.value, longest)
    middle, tail = top + _HEIGHT / 2, end
    parts = [
        f'<text x="{_LEFT - 8}" y="{middle + 4.5:.1f}" text-anchor="end">{escaped(bar.label)}</text>',
        f'<rect class="{bar.colour}" x="{_LEFT}" y="{top}" width="{max(1.0, end - _LEFT):.1f}" height="{_HEIGHT}"/>',
    ]
    if bar.low is not None and bar.high is not None:
        low, high = _at(bar.low, longest), _at(bar.high, longest)
        tail = max(end, high)
        ends = (
            f"M{low:.1f} {middle - 5}V{middle + 5}M{high:.1f} {middle - 5}V{middle + 5}M{low:.1f} {middle}H{high:.1f}"
        )
        parts.append(f'<path class="whisker" d="{ends}"/>')
    parts.append(f'<text x="{tail + 8:.1f}" y="{middle + 4.5:.1f}">{escaped(bar.shown)}</text>')
    return "".join(parts)


def _at(value: float, longest: float) -> float:
    return _LEFT + max(0.0, value) / longest * (_RIGHT - _LEFT)
