"""From what a worker says to one half of a report."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from graphmend_lsp.profile.mended import Mended
from graphmend_lsp.profile.report import Arm, Failure, FailureKind, Graph, Launches, Recompile, Site, Timing
from graphmend_lsp.project import files


def failure_of(kind: str, message: str, python: str, timeout: float) -> Failure:
    """A worker's error as a result."""
    if kind == "timeout":
        message = f"it took more than {timeout:.0f} s"
    elif kind in ("torch", "old-torch"):
        message = f"{python}: {message}"
    known: FailureKind = kind if kind in get_args(FailureKind) else "internal"  # pyright: ignore[reportAssignmentType]
    return Failure(known, message)


class Reader:
    """Takes a worker's messages of one arm; places in mended text become places in the original."""

    def __init__(self, mended: Mended, texts: Mapping[str, str]) -> None:
        self._mended = mended
        self._texts = texts
        self._functions: dict[str, list[tuple[int, int, str]]] = {}
        self._events: dict[str, dict[str, Any]] = {}

    def take(self, event: dict[str, Any]) -> None:
        """Note one message; of each kind the last one counts."""
        self._events[event["event"]] = event

    def _of(self, event: str) -> dict[str, Any]:
        return self._events.get(event, {})

    @property
    def torch(self) -> str:
        return str(self._of("started").get("torch", ""))

    @property
    def device(self) -> Literal["cuda", "cpu", ""]:
        found = self._of("device").get("device")
        return "cuda" if found == "cuda" else "cpu" if found == "cpu" else ""

    @property
    def device_name(self) -> str:
        return str(self._of("device").get("name", ""))

    @property
    def inputs(self) -> str:
        return str(self._of("subject").get("inputs", ""))

    @property
    def training(self) -> bool | None:
        return self._of("subject").get("training")

    @property
    def digest(self) -> str:
        """Of parameters, buffers and arguments."""
        return str(self._of("subject").get("digest", ""))

    @property
    def result(self) -> str:
        """A digest of what the first eager call returned."""
        return str(self._of("counted").get("result", ""))

    def files(self) -> list[str]:
        """The files whose lines are in graphs or broke one."""
        counted = self._of("counted")
        found = [path for graph in counted.get("graphs", ()) for path in graph["lines"]]
        found += [event[0] for event in counted.get("all_events", ())]
        return list(dict.fromkeys(path for path in found if os.path.isfile(path)))

    def notes(self) -> Iterator[str]:
        """What else the user should know."""
        error = self._of("counted").get("compiler_error")
        if error:
            yield f"the code runs eagerly, but compiled it raises {error}; what is counted is what came before"

    def arm(self) -> Arm:
        """What was measured."""
        counted, timed = self._of("counted"), self._of("timed")
        launches = timed.get("launches")
        error = counted["compiler_error"]
        return Arm(
            graphs=tuple(self._graph(graph) for graph in counted["graphs"]),
            events=counted["events"],
            sites=self._sites(counted["all_events"]),
            recompiles=tuple(self._recompile(*row) for row in counted["recompiles"]),
            skipped=counted["skipped"],
            guards=counted["guards"],
            eager=Timing(**timed["eager"]) if timed else None,
            compiled=Timing(**timed["compiled"]) if timed else None,
            cold=timed.get("cold"),
            to_steady=timed.get("to_steady"),
            peak_memory=timed.get("peak_memory"),
            launches=None if launches is None else Launches(**launches),
            untimed=str(self._of("untimed").get("reason", "")) or (f"compiled it raises {error}" if error else ""),
        )

    def _graph(self, data: Mapping[str, Any]) -> Graph:
        lines = {
            path: tuple(sorted({self._mended.line(path, number) for number in numbers}))
            for path, numbers in data["lines"].items()
        }
        return Graph(data["operations"], lines)

    def _sites(self, events: list[Any]) -> tuple[Site, ...]:
        """One a line, with the reason of its first break."""
        found: dict[tuple[str, int], Site] = {}
        for path, number, reason, gb in events:
            line = self._mended.line(path, number)
            known = found.get((path, line))
            count = 1 if known is None else known.events + 1
            first = known or Site(path, line, reason, gb, function=self._function(path, line))
            found[path, line] = Site(path, line, first.reason, first.gb or gb, count, first.function)
        return tuple(sorted(found.values(), key=lambda site: (site.path, site.line)))

    def _recompile(self, function: str, path: str, line: int, reason: str) -> Recompile:
        return Recompile(function, path, self._mended.line(path, line), reason)

    def _function(self, path: str, line: int) -> str:
        """The qualified name of the innermost function around a line."""
        if path not in self._functions:
            self._functions[path] = _functions(self._texts.get(path), path)
        inside = [row for row in self._functions[path] if row[0] <= line <= row[1]]
        return max(inside, default=(0, 0, ""))[2]


def _functions(text: str | None, path: str) -> list[tuple[int, int, str]]:
    """First line, last line and qualified name of each function."""
    try:
        tree = ast.parse(files.read(path).text if text is None else text)
    except (files.SourceError, SyntaxError, ValueError, RecursionError):
        return []
    found: list[tuple[int, int, str]] = []
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, prefix = stack.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                    found.append((first, child.end_lineno or child.lineno, name))
                    name += ".<locals>"
                name += "."
            stack.append((child, name))
    return found
