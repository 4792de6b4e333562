"""A profile as one page that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from graphmend_lsp.profile.markup import document, escaped, gb_link, section, table
from graphmend_lsp.profile.pictures import cold_picture, steady_picture
from graphmend_lsp.profile.report import Arm, Failure, FailureKind, Report
from graphmend_lsp.profile.source_map import SourceMap, shown_in
from graphmend_lsp.profile.words import (
    RATIOS,
    STATUS,
    against_eager,
    counted,
    device,
    found,
    mode,
    one_line,
    risk,
    rows,
    seconds,
    times,
    warnings,
    why_not_mended,
)

_ADVICE: dict[FailureKind, str] = {
    "start": "Check which Python interpreter is used: name the one that runs your code, such as the project's .venv.",
    "torch": "Choose an interpreter that can import torch; its `python -c 'import torch'` shows the whole error.",
    "old-torch": "Use an environment with torch 2.4 or newer.",
    "no-cuda": "Ask for the CPU instead, or run on a machine whose torch sees a GPU (torch.cuda.is_available()).",
    "out-of-memory": "Free the GPU, or make the inputs smaller: a smaller batch shows the same graph breaks.",
    "import": "Make the file importable on its own; `python -c 'import …'` in the same folder shows the whole error.",
    "entry": "Check the name of the class or function; it has to be reachable from the file's top level.",
    "build": "Give the constructor's arguments with get_init_inputs(), or capture a module that a program builds.",
    "inputs": "Define example_inputs() next to the model, or name a script or a test to capture a real call from.",
    "not-reached": "Name a program that calls the entry, or check its arguments: it ended without such a call.",
    "raised": "Run the entry with the same inputs without torch.compile first; if the inputs do not fit, give others.",
    "timeout": "Allow more time, make the inputs smaller, or only count graphs, without timing.",
    "cancelled": "Start the profile again when you want it.",
    "died": "Run the same program by itself: it ended its process, by sys.exit or by a signal.",
    "internal": "This is a defect of graphmend-lsp: please report it with the message above.",
}

_READING = (
    (
        "Graphs, breaks",
        "torch.compile captures code as graphs. At a break it ends one, runs what it cannot capture in Python, and "
        "begins another. A break site is a line; a break event is one time that compiling stopped there. Graphs and "
        "events are those of the first call, sites and recompiles those of all calls that were made.",
    ),
    (
        "Cold start",
        "The first compiled call, with all that it compiles; caches are empty. It is paid once a process, and in part "
        "again by each recompile. Fewer graphs usually make it shorter.",
    ),
    ("To steady", "All calls from the first one until nothing was compiled any more."),
    (
        "Steady state",
        "A call after that: the median of many, with the quartiles around it. Mending often leaves it as it was: the "
        "device computes the same, and only the way between graphs falls away.",
    ),
    (
        "Within noise",
        "The two medians are nearer to each other than the quartiles of one of them are apart: such a difference says "
        "nothing.",
    ),
    ("Ratios", RATIOS),
    (
        "Recompile",
        "A guard, an assumption that a graph was compiled under, did not hold in a later call: it was compiled again.",
    ),
    (
        "Findings",
        "What the static analysis had foreseen. Confirmed: Dynamo broke there. No break here: the line ran, and Dynamo "
        "did not break. Not reached: the line did not run with these inputs.",
    ),
)


def page(report: Report, texts: Mapping[str, str]) -> str:
    """The report as HTML; ``texts`` are the files that took part, by path, as they were measured."""
    name = report.entry or os.path.basename(report.path)
    if report.failure is not None or report.original is None:
        failure = report.failure or Failure("internal", "there are no numbers")
        body = _header(report, name) + _failed(failure) + _notes(report) + _output(report) + _environment(report)
        return document(f"{name}: no profile", body)
    original, mended = report.original, report.mended
    source = SourceMap(report, texts)
    folder = os.path.dirname(report.path)
    place = _places(source, folder)
    return document(
        f"{name}: profile",
        _header(report, name)
        + "".join(
            f'<p class="warn" role="note"><strong>Warning:</strong> {escaped(row)}</p>\n' for row in warnings(report)
        )
        + _cards(report, original, mended)
        + section("Times", _times(report), "times")
        + section("All numbers", _numbers(report), "numbers")
        + section("Break sites", _sites(report, place), "sites")
        + section("Graph map", _map(source, folder, mended is not None), "map")
        + section("Recompiles", _recompiles(report, place), "recompiles")
        + section("Fixes applied", _applied(report, place), "applied")
        + section("Static findings", _findings(report, place), "findings")
        + _notes(report)
        + _output(report)
        + _environment(report)
        + section("How to read this", _reading(), "reading"),
    )


_Place = Callable[[str, int], str]


def _places(source: SourceMap, folder: str) -> _Place:
    def place(path: str, line: int) -> str:
        if not path:
            return "no place named"
        name = shown_in(path, folder)
        return source.link(path, line, f"{name}:{line}" if line else name)

    return place


def _header(report: Report, name: str) -> str:
    label = device(report)
    kind = " cpu" if report.device == "cpu" else ""
    warn = " (not a GPU)" if report.device == "cpu" else ""
    badge = f'<p class="device{kind}">{escaped(label)}{warn}</p>\n' if label else ""
    return f'<header><h1>{escaped(name)}</h1>\n<p class="soft">{escaped(report.path)}</p>\n{badge}</header>\n'


def _failed(failure: Failure) -> str:
    return (
        f'<h2>Not profiled</h2>\n<p class="fail" role="alert">{escaped(failure.message, 8000)}</p>\n'
        f"<p><strong>What to do:</strong> {escaped(_ADVICE[failure.kind])}</p>\n"
    )


# -- numbers -------------------------------------------------------------------------------------------


def _cards(report: Report, original: Arm, mended: Arm | None) -> str:
    breaks = f"{_breaks(original)} → {_breaks(mended)}" if mended else _breaks(original)
    cards = [_card("Graphs", str(len(original.graphs)), str(len(mended.graphs)) if mended else "", breaks)]
    untimed = one_line(original.untimed) or "not measured"
    cold = _both(original.cold, None if mended is None else mended.cold)
    said = times(report.cold_ratio) if report.cold_ratio is not None else "" if cold[0] or cold[1] else untimed
    cards.append(_card("Cold start", *cold, said))
    steady = [None if arm is None or arm.compiled is None else arm.compiled.median for arm in (original, mended)]
    calls = _both(steady[0], steady[1])
    said = "" if calls[0] or calls[1] else untimed
    if report.steady_ratio is not None:
        said = times(report.steady_ratio) + (" (within noise)" if report.within_noise else "")
    cards.append(_card("Steady state, a call", *calls, said))
    why = why_not_mended(report)
    return (
        f'<div class="cards">\n{"".join(cards)}</div>\n'
        f'<p class="soft">{"Original → mended." if mended else f"Original code; {escaped(why)}."}</p>\n'
    )


def _card(title: str, original: str, mended: str, said: str) -> str:
    one, other = (value.replace(" ", "\u00a0") for value in (original or "–", mended))
    big = f'{one} <span class="to" aria-label="mended">→</span> {other}' if other else one
    return f'<div class="card"><h2>{title}</h2><p class="big">{big}</p><p class="soft">{escaped(said)}</p></div>\n'


def _breaks(arm: Arm) -> str:
    return counted(arm.events, "break") if arm.events else "no breaks"


def _both(original: float | None, mended: float | None) -> tuple[str, str]:
    return "" if original is None else seconds(original), "" if mended is None else seconds(mended)


def _times(report: Report) -> str:
    gain = against_eager(report)
    said = f"<p>{escaped(gain[0].upper() + gain[1:])}. Above 1, compiling pays.</p>\n" if gain else ""
    untimed = "".join(
        f"<p>{name} not timed: {escaped(arm.untimed)}</p>\n"
        for name, arm in (("Original", report.original), ("Mended", report.mended))
        if arm is not None and arm.untimed
    )
    return f"{steady_picture(report)}{said}{cold_picture(report)}{untimed}"


def _numbers(report: Report) -> str:
    if report.mended is None:
        heads, cells = ("", "original"), [(row.name, row.original) for row in rows(report)]
    else:
        heads = ("", "original", "mended", "ratio")
        cells = [(row.name, row.original, row.mended, row.ratio) for row in rows(report)]
    caption = "Medians, where many calls were timed. " + (RATIOS if report.mended is not None else "")
    return table(caption.strip(), heads, [[escaped(cell) for cell in row] for row in cells], "numbers")


# -- places --------------------------------------------------------------------------------------------


def _sites(report: Report, place: _Place) -> str:
    made: list[list[str]] = []
    for name, arm in _arms(report):
        for site in arm.sites:
            where = place(site.path, site.line) + (
                f"<br>in <code>{escaped(site.function)}</code>" if site.function else ""
            )
            # the lines of the mended arm are the original's, so a finding there explains what is left
            made.append(
                [where, name, escaped(site.reason), gb_link(site.gb), str(site.events), escaped(found(report, site))]
            )
    if not made:
        return "<p>Dynamo broke no graph.</p>"
    return table(
        "Where Dynamo broke the graph, and what the static analysis says of the line.",
        ("place", "in", "Dynamo's reason", "number", "events", "static analysis"),
        made,
    )


def _map(source: SourceMap, folder: str, mended: bool) -> str:
    content = source.markup(folder)
    if not content:
        return ""
    before = "original and mended code (the mended code's lines are shown at the original's)" if mended else "the code"
    return (
        f"<p>Which graph each source line is in, for {before}. Unmarked lines are in no graph; lines far from "
        f"anything measured are left out. g0 is the graph compiled first.</p>\n{content}"
    )


def _recompiles(report: Report, place: _Place) -> str:
    made = [
        [
            place(row.path, row.line),
            name,
            f"<code>{escaped(row.function)}</code>",
            f"<code>{escaped(row.reason)}</code>",
        ]
        for name, arm in _arms(report)
        for row in arm.recompiles
    ]
    return table(
        "Functions compiled again, and the guard that failed.", ("place", "in", "function", "failed guard"), made
    )


def _applied(report: Report, place: _Place) -> str:
    made = [
        [
            place(row.path, row.line),
            escaped(row.code),
            escaped(row.title),
            escaped(risk(row) or row.safety),
        ]
        for row in report.applied
    ]
    left = f"<p>{counted(report.left, 'finding')} without an applied fix.</p>" if report.left else ""
    return table("What the mended code has, in memory only.", ("place", "rule", "fix", "safety"), made) + left


def _findings(report: Report, place: _Place) -> str:
    made = [[place(row.path, row.line), escaped(row.code), escaped(STATUS[row.status])] for row in report.findings]
    return table(
        "What the static analysis had foreseen, against what was measured.", ("place", "rule", "measured"), made
    )


def _arms(report: Report) -> Iterator[tuple[str, Arm]]:
    for name, arm in (("original", report.original), ("mended", report.mended)):
        if arm is not None:
            yield name, arm


# -- words ---------------------------------------------------------------------------------------------


def _notes(report: Report) -> str:
    items = "".join(f"<li>{escaped(note)}</li>\n" for note in report.notes)
    return section("Notes", f"<ul>\n{items}</ul>" if items else "", "notes")


def _output(report: Report) -> str:
    text = "\n".join(report.output)
    return section("What the code printed last", f"<pre>{escaped(text)}</pre>" if text.strip() else "", "output")


def _environment(report: Report) -> str:
    facts = (
        ("inputs", report.inputs),
        ("mode", mode(report)),
        ("device", device(report)),
        ("torch", report.torch),
        ("Python", report.python),
        ("backend", report.backend),
        ("same inputs", _yes(report.same_inputs, "both arms began with the same values, bit for bit")),
        ("same result", _yes(report.same_result, "both arms' first eager calls returned the same, bit for bit")),
        ("steady runs", _runs(report)),
        ("measured", report.when),
        ("took", f"{report.seconds:.1f} s" if report.seconds else ""),
    )
    items = "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>\n" for name, value in facts if value)
    return section("Inputs and environment", f'<dl class="facts">\n{items}</dl>' if items else "", "environment")


def _yes(value: bool | None, what: str) -> str:
    return "" if value is None else f"yes: {what}" if value else f"no (yes would be: {what})"


def _runs(report: Report) -> str:
    runs = [f"{name} {arm.compiled.runs}" for name, arm in _arms(report) if arm.compiled is not None]
    return ", ".join(runs)


def _reading() -> str:
    return "<dl>\n" + "".join(f"<dt>{name}</dt><dd>{escaped(said)}</dd>\n" for name, said in _READING) + "</dl>"
