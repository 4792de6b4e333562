"""The rows of Table 2: what to build, and what the paper says about it (rows.json)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRANSFORMERS = "4.52.4"
PACKAGES = ("transformers", "chronos", "table2_standins")

Counts = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """One row of the paper's table, or an extra one of ours."""

    name: str
    build: str  # rows whose tiny builds are the same share it, and are measured once
    rules: tuple[str, ...]
    paper: Counts | None  # breaks before and after, as printed
    artifact: Counts | None  # the same in the paper's artifact, tiny models on a CPU
    cold: float | None  # the paper's speed-ups on an RTX 3090
    steady: float | None
    standin: bool  # a small model of ours with the pattern of one whose code is on a hub
    extra: bool  # no row of the paper, a check of ours
    unsafe: bool  # its target may need --unsafe


@dataclass(frozen=True)
class Table:
    """All rows and their builds."""

    rows: tuple[Row, ...]
    builds: dict[str, dict[str, Any]]

    def chosen(self, names: list[str]) -> Table:
        """Only the rows with these names, or whose builds have them."""
        unknown = set(names) - {row.name for row in self.rows} - set(self.builds)
        if unknown:
            raise SystemExit(f"no such row or build: {', '.join(sorted(unknown))}")
        rows = tuple(row for row in self.rows if row.name in names or row.build in names)
        return Table(rows, {row.build: self.builds[row.build] for row in rows})


def load(path: Path = HERE / "rows.json") -> Table:
    """The table in the file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = tuple(_row(entry) for entry in data["rows"])
    return Table(rows, {row.build: data["builds"][row.build] for row in rows})


def _row(entry: dict[str, Any]) -> Row:
    return Row(
        name=entry["name"],
        build=entry["build"],
        rules=tuple(entry["rules"]),
        paper=_counts(entry["paper"]),
        artifact=_counts(entry["artifact"]),
        cold=entry["cold"],
        steady=entry["steady"],
        standin=entry.get("standin", False),
        extra=entry.get("extra", False),
        unsafe=entry.get("unsafe", False),
    )


def _counts(pair: list[int] | None) -> Counts | None:
    return (pair[0], pair[1]) if pair else None
