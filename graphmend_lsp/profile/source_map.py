"""The map of source lines: which graph each line is in, and where and why Dynamo broke, before and after mending.

Both arms stand next to the same text, because the mended arm's lines are those of the original text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from graphmend_lsp.profile.markup import escaped, gb_link
from graphmend_lsp.profile.report import Arm, Report
from graphmend_lsp.profile.words import STATUS, counted, found
from graphmend_lsp.text import split_lines

_NEAR = 3
"""Lines of context around what was measured."""
_MOST_LINE = 300
_MOST_NOTES = 12
_MOST_KEYS = 16
_COLOURS = 8


@dataclass
class _Marks:
    """What is known of one file, by line; of graphs, a set bit is the number of one that has the line."""

    graphs: tuple[dict[int, int], ...]
    notes: dict[int, list[str]] = field(default_factory=dict[int, "list[str]"])
    breaks: set[int] = field(default_factory=set[int])
    linked: set[int] = field(default_factory=set[int])
    """Lines that the page's tables point to."""

    def note(self, line: int, markup: str) -> None:
        self.linked.add(line)
        self.notes.setdefault(line, []).append(markup)


class SourceMap:
    """The map of a report; ``texts`` are the files as they were measured, by path."""

    def __init__(self, report: Report, texts: Mapping[str, str]) -> None:
        arms = (("original", report.original), ("mended", report.mended))
        self._report = report
        self._arms = tuple((name, arm) for name, arm in arms if arm is not None)
        self._marks: dict[str, _Marks] = {}
        for number, (_, arm) in enumerate(self._arms):
            self._add_graphs(number, arm)
        self._add_notes()
        self._lines = {path: _split(texts[path]) for path in self._marks if path in texts}
        self._files = {path: number for number, path in enumerate(self._ordered())}
        self._labels: dict[int, str] = {}

    def link(self, path: str, line: int, shown: str) -> str:
        """Markup for a place, linked to its line in the map if that is there."""
        lines = self._lines.get(path)
        if lines is None or line not in self._marks[path].linked or not 1 <= line <= len(lines):
            return f"<code>{escaped(shown)}</code>"
        return f'<a href="#{self._key(path, line)}"><code>{escaped(shown)}</code></a>'

    def markup(self, folder: str) -> str:
        """All files that took part; paths are written from ``folder`` where they lie in it."""
        if not self._marks:
            return ""
        return self._legend() + "".join(self._file(path, folder) for path in self._files)

    # -- what is known of a line -----------------------------------------------------------------------

    def _of(self, path: str) -> _Marks:
        if path not in self._marks:
            self._marks[path] = _Marks(tuple({} for _ in self._arms))
        return self._marks[path]

    def _add_graphs(self, number: int, arm: Arm) -> None:
        for position, graph in enumerate(arm.graphs):
            for path, lines in graph.lines.items():
                masks = self._of(path).graphs[number]
                for line in lines:
                    masks[line] = masks.get(line, 0) | 1 << position

    def _add_notes(self) -> None:
        breaking: dict[tuple[str, int, str, str], list[str]] = {}
        for name, arm in self._arms:
            for site in arm.sites:
                if site.path and site.line:
                    key = (site.path, site.line, site.reason, site.gb)
                    said = found(self._report, site) if name == "original" else ""
                    foreseen = f" ({said})" if said else ""
                    breaking.setdefault(key, []).append(f"{name}{foreseen}")
        for (path, line, reason, gb), names in breaking.items():
            marks = self._of(path)
            marks.breaks.add(line)
            who = escaped(" and ".join(dict.fromkeys(names)))
            said = f"<strong>✂ break</strong>, {who}: {escaped(reason)} {gb_link(gb)}"
            marks.note(line, _row("why", said, len(self._arms)))
        for _, arm in self._arms:
            for again in arm.recompiles:
                if again.path and again.line:
                    self._of(again.path).linked.add(again.line)
        for row in self._report.findings:
            self._of(row.path).linked.add(row.line)
            if row.status != "confirmed":
                said = f"{escaped(row.code)}: static finding, {escaped(STATUS[row.status])}"
                self._of(row.path).note(row.line, _row("say", said, len(self._arms)))
        for fix in self._report.applied:
            said = f"<strong>✓ mended</strong> {escaped(fix.code)}: {escaped(fix.title)} ({escaped(fix.safety)})"
            self._of(fix.path).note(fix.line, _row("fix", said, len(self._arms)))

    def _ordered(self) -> Iterator[str]:
        """The entry's own file first."""
        yield from sorted(self._marks, key=lambda path: (path != self._report.path, path))

    def _key(self, path: str, line: int) -> str:
        return f"f{self._files[path]}l{line}"

    # -- markup ----------------------------------------------------------------------------------------

    def _legend(self) -> str:
        made: list[str] = []
        for name, arm in self._arms:
            keys = " ".join(
                f'<span class="key c{number % _COLOURS}">g{number}: {counted(graph.operations, "operation")}</span>'
                for number, graph in enumerate(arm.graphs[:_MOST_KEYS])
            )
            more = f" and {len(arm.graphs) - _MOST_KEYS} more" if len(arm.graphs) > _MOST_KEYS else ""
            made.append(f"<p>{name.capitalize()}: {keys or 'no graph'}{more}</p>")
        return "".join(made)

    def _file(self, path: str, folder: str) -> str:
        heading = f"<h3>{escaped(shown_in(path, folder))}</h3>\n"
        marks, lines = self._marks[path], self._lines.get(path)
        if lines is None:
            used = [
                f"{name} {counted(len(masks), 'line')}"
                for (name, _), masks in zip(self._arms, marks.graphs, strict=True)
            ]
            return f'{heading}<p class="soft">The text is not at hand. In graphs: {", ".join(used)}.</p>\n'
        heads = "".join(f'<th scope="col" class="a">{name}</th>' for name, _ in self._arms)
        body = "\n".join(self._rows(path, marks, lines))
        return (
            f'{heading}<div class="wide"><table class="map"><thead><tr><th scope="col">line</th>{heads}'
            f'<th scope="col">source</th></tr></thead><tbody>\n{body}\n</tbody></table></div>\n'
        )

    def _rows(self, path: str, marks: _Marks, lines: list[str]) -> Iterator[str]:
        last = 0
        gap = f'<tr class="gap"><td></td><td colspan="{len(self._arms) + 1}">...</td></tr>'
        for number in _near(marks, len(lines)):
            if number != last + 1:
                yield gap
            last = number
            cells = "".join(self._label(masks.get(number, 0)) for masks in marks.graphs)
            notes = marks.notes.get(number, [])
            key = f' id="{self._key(path, number)}"' if number in marks.linked else ""
            kind = ' class="brk"' if number in marks.breaks else ""
            yield f"<tr{key}{kind}><td>{number}</td>{cells}<td>{escaped(lines[number - 1], _MOST_LINE)}</td></tr>"
            yield from notes[:_MOST_NOTES]
        if last and last < len(lines):
            yield gap

    def _label(self, mask: int) -> str:
        if mask not in self._labels:
            numbers = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
            colour = f" c{numbers[0] % _COLOURS}" if numbers else ""
            self._labels[mask] = f'<td class="a{colour}">{_ranges(numbers)}</td>'
        return self._labels[mask]


def shown_in(path: str, folder: str) -> str:
    """A path from ``folder`` if it lies there, else as it is."""
    return os.path.relpath(path, folder) if folder and path.startswith(folder.rstrip(os.sep) + os.sep) else path


def _split(text: str) -> list[str]:
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    return lines if lines[-1] else lines[:-1]


def _near(marks: _Marks, length: int) -> list[int]:
    measured = set(marks.linked)
    for masks in marks.graphs:
        measured.update(masks)
    near = {line + step for line in measured for step in range(-_NEAR, _NEAR + 1)}
    return sorted(line for line in near if 1 <= line <= length)


def _row(kind: str, markup: str, arms: int) -> str:
    return f'<tr class="{kind}"><td></td><td colspan="{arms + 1}">{markup}</td></tr>'


def _ranges(numbers: list[int]) -> str:
    """The names of graphs: "g0-g3 g7"; of many, the first few."""
    parts: list[tuple[int, int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1] = (parts[-1][0], number)
        else:
            parts.append((number, number))
    words = [f"g{one}" if one == other else f"g{one}–g{other}" for one, other in parts]
    return " ".join(words[:3]) + (f" +{len(words) - 3}" if len(words) > 3 else "")
