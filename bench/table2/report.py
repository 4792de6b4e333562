"""bench/RESULTS.md: the table beside the paper's, what is left and why, and which checks hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from judge import Measured
from rows import Counts, Row, Table

_NAMES = {"cpu": "CPU, one thread"}


def written(table: Table, measured: dict[str, Measured], releases: dict[str, Any], mode: str) -> tuple[str, bool]:
    """The whole page, and whether all targets and checks hold."""
    rows = [(row, measured[row.build]) for row in table.rows]
    broken = _targets(rows)
    checks = [f"{one.name}: {text}" for one in measured.values() for text in one.missed()]
    parts = [
        "# The paper's Table 2, measured again",
        _head(releases),
        "## In short",
        *_summary(rows, broken, checks),
        "## Graph breaks",
        _counts_table(rows),
        _COUNTS_NOTE,
        "## Behaviour",
        _behaviour_table(measured.values()),
        _BEHAVIOUR_NOTE,
        *_times(rows, mode),
        "## What breaks, and what is left",
        *(text for one in measured.values() for text in _sites(one)),
        "## Checks that do not hold",
        _bullets([*broken, *checks]) or "None.",
        "## What `--unsafe` changed in these runs",
        _bullets([f"{one.name}: {text}" for one in measured.values() for text in one.changed_by_unsafe()])
        or "Nothing.",
    ]
    return "\n\n".join(parts) + "\n", not broken and not checks


def _head(releases: dict[str, Any]) -> str:
    chronos = f", chronos-forecasting {releases['chronos']}" if releases["chronos"] else ""
    return f"""\
Written by `python bench/table2`, see [README.md](README.md).
torch {releases["torch"]}, transformers {releases["transformers"]}{chronos}, Python {releases["python"]}.
Tiny models with random weights; the code is that of the real ones. Rows whose tiny models are the same share their
measurements. Rows marked * are stand-ins of ours for models whose code is on a hub: they show the pattern, not the
model. *Paper* is what the paper's table prints, *artifact* what its tiny models on a CPU gave."""


# -- targets -----------------------------------------------------------------------------------------------------------


def _rate(before: int, after: int) -> float:
    return (before - after) / before if before else 1.0


def _at_rate(row: Row, one: Measured, arm: str) -> bool:
    before, after = one.breaks("original"), one.breaks(arm)
    if before is None or after is None or row.paper is None:
        return False
    return _rate(before, after) >= _rate(*row.paper) - 1e-9


def _targets(rows: list[tuple[Row, Measured]]) -> list[str]:
    """Rows that can be built here and miss the paper's rate."""
    missed = []
    for row, one in rows:
        if row.extra or row.standin:
            continue
        if not _at_rate(row, one, "safe") and not (row.unsafe and _at_rate(row, one, "unsafe")):
            missed.append(f"{row.name}: {_arrow(one, 'safe')} with safe offers, the paper has {_pair(row.paper)}")
    return missed


def _summary(rows: list[tuple[Row, Measured]], broken: list[str], checks: list[str]) -> list[str]:
    offline = [(row, one) for row, one in rows if not (row.extra or row.standin)]
    standins = [(row, one) for row, one in rows if row.standin]
    lines = []
    for arm, words in (("safe", "with safe offers"), ("unsafe", "with `--unsafe`")):
        good = sum(_at_rate(row, one, arm) for row, one in offline)
        lines.append(
            f"{words.capitalize()}: {good} of {len(offline)} rows that can be built offline are at the paper's fix "
            f"rate or better; {_share(offline, arm)} (the paper on these rows: {_paper_share(offline)})."
        )
    if standins:
        lines.append(
            f"Stand-ins: {_share(standins, 'safe')} with safe offers, {_share(standins, 'unsafe')} with `--unsafe` "
            f"(the paper on the originals: {_paper_share(standins)})."
        )
    lines.append(f"Targets missed: {len(broken)}. Checks of behaviour that do not hold: {len(checks)}.")
    return [_bullets(lines)]


def _share(rows: list[tuple[Row, Measured]], arm: str) -> str:
    counted = [(one.breaks("original"), one.breaks(arm)) for _, one in rows]
    whole = [(before, after) for before, after in counted if before is not None and after is not None]
    before, after = sum(b for b, _ in whole), sum(a for _, a in whole)
    return f"{before - after} of {before} breaks removed ({_rate(before, after):.0%})"


def _paper_share(rows: list[tuple[Row, Measured]]) -> str:
    before = sum(row.paper[0] for row, _ in rows if row.paper)
    after = sum(row.paper[1] for row, _ in rows if row.paper)
    return f"{before - after} of {before}, {_rate(before, after):.0%}"


# -- tables ------------------------------------------------------------------------------------------------------------


def _table(head: list[str], lines: Iterable[list[str]]) -> str:
    return "\n".join(
        ["| " + " | ".join(line) + " |" for line in ([*[head], ["---"] * len(head), *lines])],
    )


def _name(row: Row) -> str:
    return row.name + (" *" if row.standin else "")


def _pair(counts: Counts | None) -> str:
    return f"{counts[0]} → {counts[1]}" if counts else "-"


def _number(value: int | None) -> str:
    return "error" if value is None else str(value)


def _breaks(one: Measured, arm: str) -> str:
    graphs = one.graphs(arm)
    return "no graph" if graphs == 0 else _number(one.breaks(arm))


def _arrow(one: Measured, arm: str) -> str:
    return f"{_breaks(one, 'original')} → {_breaks(one, arm)}"


def _default(one: Measured, arm: str) -> str:
    graphs = one.answer(arm, "compiled").get("graphs_default")
    return "error" if graphs is None else str(max(0, graphs - 1))


def _counts_table(rows: list[tuple[Row, Measured]]) -> str:
    head = ["row", "paper", "artifact", "before", "safe", "`--unsafe`", "default `dynamic`", "lines that break"]
    head += ["events", "paper's rate"]
    lines = []
    for row, one in rows:
        reached = "safe" if _at_rate(row, one, "safe") else "`--unsafe`" if _at_rate(row, one, "unsafe") else "**no**"
        line = [_name(row), _pair(row.paper), _pair(row.artifact)]
        line += [_breaks(one, arm) for arm in ("original", "safe", "unsafe")]
        line.append(" → ".join(_default(one, arm) for arm in ("original", "safe")))
        line.append(" → ".join(str(one.places(arm)) for arm in ("original", "safe")))
        line.append(" → ".join(str(one.sites(arm).total()) for arm in ("original", "safe")))
        lines.append([*line, reached if row.paper else "-"])
    return _table(head, lines)


_COUNTS_NOTE = """\
Breaks are the paper's metric: calls of the backend in the first call of the model, less one, with `dynamic=False`.
*Default* is the same with `dynamic` left alone, before → safe. *Lines* are the source lines that Dynamo's
`graph_breaks` log names, *events* its entries: one line makes several breaks, since Dynamo splits every frame
around it. *Paper's rate* says which offers reach the paper's share of removed breaks."""


def _behaviour_table(measured: Iterable[Measured]) -> str:
    head = ["build", "eager, safe", "compiled, safe", "full graph, safe", "eager, `--unsafe`", "compiled, `--unsafe`"]
    head += ["messages", "exception of the guard"]
    return _table(head, ([one.name, *_behaviour(one)] for one in measured))


def _behaviour(one: Measured) -> list[str]:
    cells = [one.same("safe", mode) for mode in ("eager", "compiled")]
    cells.append(one.same("safe", "fullgraph") if ("safe", "fullgraph") in one.answers else "-")
    cells += [one.same("unsafe", mode) for mode in ("eager", "compiled")]
    return [*cells, _same_messages(one), _same_guard(one)]


def _alike(one: Measured, part: str) -> bool:
    expected = one.answer("original", "eager").get(part)
    modes = [mode for arm, mode in one.answers if arm == "safe" and mode != "time"]
    return all(one.answer("safe", mode).get(part) == expected for mode in modes)


def _same_messages(one: Measured) -> str:
    said = one.answer("original", "eager").get("said")
    if said is None:
        return "error"
    return f"{len(said)}, {'the same' if _alike(one, 'said') else '**others**'}" if said else "none"


def _same_guard(one: Measured) -> str:
    if "violation" not in one.build:
        return "-"
    return "the same" if _alike(one, "guard") else "**another**"


_BEHAVIOUR_NOTE = """\
Three calls with different inputs (Phi-4: a short, a long and a short prompt). All tensors that the model returns,
those in caches too, and its parameters and buffers afterwards are compared bit by bit with those of the original
run in eager. *Compiled* runs the captured graphs as they are, *full graph* uses `fullgraph=True` with the backend
aot_eager. *Messages* are log records, warnings and prints in one order, in all modes of the safe arm."""


# -- times -------------------------------------------------------------------------------------------------------------


def _times(rows: list[tuple[Row, Measured]], mode: str) -> list[str]:
    timed = [(row, one) for row, one in rows if ("original", "time") in one.answers]
    if not timed:
        return []
    head = [
        "row",
        "first call",
        "CPU time of it",
        "of it compiling",
        "code objects",
        "rest of the first call",
        "paper, cold",
    ]
    head += ["later calls, ms", "ratio", "paper, steady"]
    seen: set[str] = set()
    lines = []
    for row, one in timed:
        cells = _time_cells(one) if one.name not in seen else ["as above"] + ["″"] * 4
        steady = _steady_cells(one) if one.name not in seen else ["″"] * 2
        seen.add(one.name)
        lines.append([_name(row), *cells, _factor(row.cold), *steady, _factor(row.steady)])
    device = next((a["device"] for _, one in timed if "device" in (a := one.answer("original", "time"))), "?")
    device = _NAMES.get(device, device)
    return ["## Times", _TIMES_NOTE.format(device=device, mode=mode), _table(head, lines)]


def _time_cells(one: Measured) -> list[str]:
    before, after = one.answer("original", "time"), one.answer("safe", "time")
    if "error" in before or "error" in after:
        return ["error"] * 5
    rest = [(answer["first"] - answer["compiling"]) for answer in (before, after)]
    return [
        _seconds(before["first"], after["first"]),
        _seconds(before["cpu"], after["cpu"]),
        _seconds(before["compiling"], after["compiling"]),
        f"{before['regions']} → {after['regions']}",
        _seconds(*rest),
    ]


def _steady_cells(one: Measured) -> list[str]:
    before, after = one.answer("original", "time"), one.answer("safe", "time")
    if "error" in before or "error" in after:
        return ["error"] * 2
    spans = [_span(answer) for answer in (before, after)]
    apart = before["quarters"][0] > after["quarters"][1] or after["quarters"][0] > before["quarters"][1]
    return [" → ".join(spans), f"{before['median'] / after['median']:.2f}" + ("" if apart else ", within noise")]


def _span(answer: dict[str, Any]) -> str:
    low, high = answer["quarters"]
    return f"{answer['median'] * 1e3:.2f} ({low * 1e3:.2f}-{high * 1e3:.2f})"


def _seconds(before: float, after: float) -> str:
    ratio = f" ({before / after:.2f})" if after > 0 else ""
    return f"{before:.2f} → {after:.2f} s{ratio}"


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


_TIMES_NOTE = """\
{device}; inductor, mode `{mode}`, caches of its own for every process. One cold start each, so differences of some
ten percent mean nothing. Before → after mending with safe offers, the ratio in brackets. *CPU time* is that of the
first call's process with the compilers that it starts: other work on the machine hardly touches it. *Compiling* is
the time that Dynamo and inductor took in the first call, *code objects* how many they compiled. Later calls: median
and quartiles; *within noise* where the quartiles overlap. The paper's figures are those of an RTX 3090 with CUDA
graphs and large batches: on a CPU with tiny models only the direction can be compared."""


# -- sites -------------------------------------------------------------------------------------------------------------


def _sites(one: Measured) -> list[str]:
    lines = [_place(*place, count) for place, count in one.sites("original").items()]
    parts = [f"### {one.name}", "Before:", _bullets(lines) or "Nothing."]
    for arm, words in (("safe", "Left with safe offers"), ("unsafe", "Left with `--unsafe`")):
        left = one.sites(arm)
        if not left or (arm == "unsafe" and left == one.sites("safe")):
            continue
        verdicts = one.verdicts(arm)
        told = [f"{_place(*p, n)}\n  - graphmend: {verdicts[f'{p[0]}:{p[1]}']}" for p, n in left.items()]
        parts += [f"{words}:", _bullets(told)]
    return parts


def _place(file: str, line: int, title: str, count: int) -> str:
    return f"`{file}:{line}` {title}" + (f" ({count} events)" if count > 1 else "")


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
