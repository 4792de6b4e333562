"""``graphmend check --statistics``: how often each rule found something, in place of the findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from graphmend_lsp.cli import report
from graphmend_lsp.cli.terminal import Paint
from graphmend_lsp.cli.work import Checked
from graphmend_lsp.finding import Problem


class Statistics:
    """Counts by rule; the most frequent first."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._found: Counter[str] = Counter()
        self._fixable: Counter[str] = Counter()

    def add(self, checked: Checked) -> None:
        for finding in checked.findings:
            self._names[finding.code] = finding.name
            self._found[finding.code] += 1
            self._fixable[finding.code] += checked.has_safe_fix(finding)

    def table(self, paint: Paint) -> str:
        """Rows of the count, the code, whether safe fixes exist (``[*]`` for all, ``[-]`` for some) and the name."""
        width = max((len(str(count)) for count in self._found.values()), default=0)
        rows: list[str] = []
        marks = any(self._fixable.values())
        for code, count in self._sorted():
            fixable = self._fixable[code]
            mark = f"{'[*]' if fixable == count else '[-]' if fixable else '[ ]'} " if marks else ""
            rows.append(f"{count:>{width}} {paint(code, 'bold')} {mark}{self._names[code]}\n")
        return "".join(rows)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"code": code, "name": self._names[code], "count": count, "fixable": self._fixable[code]}
            for code, count in self._sorted()
        ]

    def _sorted(self) -> list[tuple[str, int]]:
        return sorted(self._found.items(), key=lambda item: (-item[1], item[0]))


def document(results: Iterable[Checked], problems: Iterable[Problem]) -> str:
    """The counts as JSON."""
    statistics = Statistics()
    failed = [*problems]
    for checked in results:
        failed += checked.problems
        statistics.add(checked)
    content = {"version": 1, "statistics": statistics.rows(), "errors": [report.error(each) for each in failed]}
    return json.dumps(content, indent=2) + "\n"
