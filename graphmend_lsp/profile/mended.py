"""The mended program of a profile's second arm: texts in memory, and where their lines come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphmend_lsp import check as core
from graphmend_lsp.finding import Applied, Finding
from graphmend_lsp.origins import origins
from graphmend_lsp.profile.plan import Mending, Plan
from graphmend_lsp.profile.report import Confirmed
from graphmend_lsp.project import files
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import Edit


@dataclass(frozen=True)
class Mended:
    """Texts that stand for files in the mended arm; ``lines`` maps each mended file's lines to the original's."""

    texts: Mapping[str, str]
    lines: Mapping[str, Sequence[int]]
    applied: tuple[Applied, ...]
    left: int
    findings: tuple[tuple[str, Finding], ...]
    """Those of the original texts, by path."""

    def line(self, path: str, number: int) -> int:
        """The line of the original that a line of the mended text comes from; other files have theirs."""
        known = self.lines.get(path)
        return known[min(number, len(known)) - 1] if known and number > 0 else number


def mend(plan: Plan, mending: Mending, took_part: Iterable[str], go_on: Callable[[], None]) -> Mended:
    """Mend the entry's file, and those of ``took_part`` that lie in the folders that may be mended.

    ``go_on`` is called before each file; what it raises ends it.
    """
    texts: dict[str, str] = {}
    lines: dict[str, Sequence[int]] = {}
    applied: list[Applied] = []
    found: list[tuple[str, Finding]] = []
    left = 0
    for path in dict.fromkeys((plan.path, *(path for path in took_part if _within(path, mending.folders)))):
        go_on()
        text = plan.texts.get(path)
        try:
            text = files.read(path).text if text is None else text
        except files.SourceError:
            continue
        settings = _settings(plan, mending, path)
        program = mending.program.for_file(path, settings.runtime)
        found += [(path, finding) for finding in core.check(text, path, program=program, settings=settings).findings]
        result = core.mend(text, path, program=program, settings=settings, accept=mending.accept)
        left += sum(finding.code != "GM001" for finding in result.analysis.findings)
        if result.text == text:
            continue
        texts[path] = result.text
        origins = _origins(text, [edits for _, edits in result.rounds])
        lines[path] = origins[-1]
        applied += _applied(path, result, origins)
    return Mended(texts, lines, tuple(applied), left, tuple(found))


def _settings(plan: Plan, mending: Mending, path: str) -> Settings:
    settings = replace(mending.settings(path), runtime="package")  # in memory nothing can be put beside the file
    return replace(settings, entries=(*settings.entries, plan.entry)) if path == plan.path else settings


def _origins(text: str, rounds: Sequence[Sequence[Edit]]) -> list[Sequence[int]]:
    return [[max(1, origin.first) for origin in row] for row in origins(text, rounds)]


def _applied(path: str, result: core.Mended, origins: Sequence[Sequence[int]]) -> list[Applied]:
    found: list[Applied] = []
    rest = iter(result.applied)
    for number, (count, _) in enumerate(result.rounds):
        for _ in range(count):
            finding, offer = next(rest)
            line = origins[number][min(finding.span.line, len(origins[number])) - 1]
            found.append(Applied.of(path, finding, offer, line))
    return sorted(found, key=lambda row: row.line)


def _within(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def confirmed(
    findings: Iterable[tuple[str, Finding]], broke: set[tuple[str, int]], in_graphs: Mapping[str, set[int]]
) -> tuple[Confirmed, ...]:
    """What was measured of each finding: a break on its lines, or operations of it in a graph, or neither."""
    rows: list[Confirmed] = []
    for path, finding in findings:
        if finding.code == "GM001":
            continue
        lines = range(finding.span.line, max(finding.span.end_line, finding.header_end) + 1)
        if any((path, line) in broke for line in lines):
            status = "confirmed"
        else:
            status = "no-break" if any(line in in_graphs.get(path, ()) for line in lines) else "not-reached"
        rows.append(Confirmed(path, finding.span.line, finding.code, status))
    return tuple(rows)
