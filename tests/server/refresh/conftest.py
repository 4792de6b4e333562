"""What is there for a long session around the documents, and the client that shows what a server says of it."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp import check as core
from graphmend_lsp.notebook import Cell, join
from graphmend_lsp.parse import parse
from graphmend_lsp.profile import store
from graphmend_lsp.profile.targets import Outline, outline
from graphmend_lsp.profile.text import headline
from graphmend_lsp.server.settings import EditorOptions, Project

_times = itertools.count(1)

Row = tuple[Any, ...]


@dataclass
class Shown:
    """What a client shows, by URI; what has nothing is not in it."""

    diagnostics: dict[str, list[Row]] = field(default_factory=dict)
    lenses: dict[str, list[Row]] = field(default_factory=dict)
    hints: dict[str, list[Row]] = field(default_factory=dict)


class World:
    """What there is, and what a server says of it that has just been started."""

    def __init__(self, root: Path, extra: Path) -> None:
        self.root, self.extra = root, extra
        self.disk: dict[Path, str] = {}
        self.buffers: dict[Path, str] = {}
        self.untold: set[Path] = set()
        """Buffers with changes that count for others from the next save on."""
        self.options: dict[str, Any] = {}
        self.folders = [root]
        self.no_cuda = False
        """Whether the last run that looked for a GPU found none."""
        self.cell = ""
        self.notebook = root / "nb.ipynb"

    @property
    def cell_uri(self) -> str:
        return self.notebook.as_uri().replace("file:", "vscode-notebook-cell:") + "#W0"

    def put(self, path: Path, text: str | None) -> None:
        """Write a file or take it away; each time it is another one for whoever looks at its time."""
        self.disk.pop(path, None)
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.write_text(text, encoding="utf-8")
        moment = time.time_ns() + next(_times) * 10_000_000
        os.utime(path, ns=(moment, moment))
        if path.suffix == ".py":
            self.disk[path] = text

    def fresh(self) -> Shown:
        options = EditorOptions.read(self.options)
        roots = tuple(map(str, self.folders))
        project = Project(roots, options, dict.fromkeys(roots, options))
        project.see({str(path): text for path, text in self.buffers.items()})
        shown, outlines = Shown(), dict[str, Outline | None]()
        for path in self.disk.keys() | self.buffers.keys():
            name, text = str(path), self.buffers.get(path, self.disk.get(path, ""))
            found = project.settings(name)
            program = project.program(name, found.settings)
            outlines[name] = None if found.excluded else outline(name, parse(text), program, found.settings)
            swept = self.options.get("workspaceDiagnostics") == "all" and project.folder_of(name) is not None
            if not found.excluded and (path in self.buffers or swept):
                analysis = core.check(text, name, program=program, settings=found.settings)
                shown.diagnostics[path.as_uri()] = _findings(analysis)
        self._measured(shown, outlines)
        shown.diagnostics[self.cell_uri] = self._cell(project)
        for rows in (shown.diagnostics, shown.lenses, shown.hints):
            for uri in [uri for uri, found in rows.items() if not found]:
                del rows[uri]
        return shown

    def _cell(self, project: Project) -> list[Row]:
        name, text = str(self.notebook), join([Cell(self.cell, 1)]).text
        found = project.settings(name)
        program = project.program(name, found.settings)
        return _findings(core.check(text, name, program=program, settings=found.settings))

    def _measured(self, shown: Shown, outlines: dict[str, Outline | None]) -> None:
        """What profiles add, and the lenses."""
        known = [each for path in sorted(outlines) for each in store.load(path)]
        title = "Profile on CPU" if self.no_cuda else "Profile on GPU"

        def current(path: str) -> Outline | None:
            return outlines.get(path) if Path(path) in self.buffers else None

        for name, now in outlines.items():
            uri = Path(name).as_uri()
            if now is None:
                continue
            if Path(name) in self.buffers:
                shown.lenses[uri] = sorted((target.span.line - 1, target.name, title) for target in now.targets)
            for each in known:
                stale = each.stale(current)
                part = now.named(each.report.entry) if each.report.path == name else None
                if part is not None and Path(name) in self.buffers:
                    shown.hints.setdefault(uri, []).append((part.span.line - 1, headline(each.report), stale))
                for site in each.report.original.sites if each.report.original and uri in shown.diagnostics else ():
                    line = each.line(name, site.line, now) if site.path == name else None
                    if line is not None:
                        shown.diagnostics[uri].append(("torch.compile", line - 1, each.report.entry, stale))
            shown.diagnostics.get(uri, []).sort(key=str)
            shown.hints.get(uri, []).sort()


def _findings(analysis: core.Analysis) -> list[Row]:
    levels = {"error": 1, "warning": 2, "information": 3, "hint": 4}
    rows = [
        (
            "GraphMend",
            f.code,
            f.span.line - 1,
            f.span.column,
            f.span.end_line - 1,
            f.span.end_column,
            levels[f.severity],
        )
        for f in analysis.findings
    ]
    return sorted(rows, key=str)


def _rows(diagnostics: list[Any]) -> list[Row]:
    """Diagnostics as rows; several profiles that measured one break share a diagnostic."""
    rows: list[Row] = []
    for each in diagnostics:
        start, end = each["range"]["start"], each["range"]["end"]
        if each["source"] == "torch.compile":
            origins = [line for line in each["message"].split("\n") if line.startswith("measured: ")]
            for line in origins:
                entry = line.removeprefix("measured: ").split(" ")[0].rstrip(",")
                rows.append(("torch.compile", start["line"], entry, line.endswith("(stale)")))
        else:
            place = (start["line"], start["character"], end["line"], end["character"])
            rows.append(("GraphMend", each["code"], *place, each["severity"]))
    return sorted(rows, key=str)


class Mirror:
    """The client: what it shows, and when it asks."""

    def __init__(self, wire: Any, pulls: bool) -> None:
        self.wire, self.pulls = wire, pulls
        self.shown = Shown()
        self.ids: dict[str, str] = {}
        self.opened: list[str] = []
        self.told: Counter[str] = Counter()

    def differs(self, expected: Shown, world: World) -> list[Any]:
        """What is not shown as it should be.

        A change that nobody has saved counts for the document itself only, until something else happens; whether it
        makes a profile stale counts for all.
        """
        wrong: list[Any] = []
        for uri in expected.diagnostics.keys() | self.shown.diagnostics.keys():
            rows = [each.diagnostics.get(uri, []) for each in (expected, self.shown)]
            if {path.as_uri() for path in world.untold} - {uri}:
                rows = [[row for row in each if row[0] == "torch.compile"] for each in rows]
            if rows[0] != rows[1]:
                wrong.append((uri, *rows))
        kinds = [(expected.hints, self.shown.hints)]
        if self.pulls:  # else a client that cannot be told of lenses
            kinds.append((expected.lenses, self.shown.lenses))
        for wanted, shown in kinds:
            wrong += [
                (uri, wanted.get(uri), shown.get(uri))
                for uri in wanted.keys() | shown.keys()
                if wanted.get(uri) != shown.get(uri)
            ]
        return wrong

    def absorb(self) -> None:
        """Take what the server has said, and ask for what it says is another."""
        self.wire.command("graphmend.printDebugInformation", {"uri": self.opened[0]})
        said, self.wire.notifications = self.wire.notifications, []
        kinds: set[str] = set()
        for message in said:
            method, params = message["method"], message.get("params")
            if method == "textDocument/publishDiagnostics":
                self.take(params["uri"], params["diagnostics"])
            elif method.endswith("/refresh"):
                kinds.add(method)
                self.told[method] += 1
            assert method != "window/logMessage" or "Internal error" not in params["message"], params["message"]
        if "workspace/diagnostic/refresh" in kinds:
            for uri in self.opened:
                self.pull(uri)
            self.pull_all()
        for uri in self.opened:
            if "workspace/codeLens/refresh" in kinds:
                self.ask_lenses(uri)
            if "workspace/inlayHint/refresh" in kinds:
                self.ask_hints(uri)

    def take(self, uri: str, diagnostics: list[Any]) -> None:
        self.shown.diagnostics.pop(uri, None)
        if diagnostics:
            self.shown.diagnostics[uri] = _rows(diagnostics)

    def pull(self, uri: str) -> None:
        report = self.wire.pull(uri, self.ids.get(uri))
        if report["kind"] == "full":
            self.take(uri, report["items"])
        self.ids[uri] = report["resultId"]

    def pull_all(self) -> None:
        for uri, report in self.wire.pull_all(dict(self.ids)).items():
            if report["kind"] == "full":
                self.take(uri, report["items"])
            self.ids[uri] = report["resultId"]

    def ask_lenses(self, uri: str) -> None:
        resolved = [self.wire.request("codeLens/resolve", each) for each in self.wire.lenses(uri) or ()]
        rows = [
            (each["range"]["start"]["line"], each["command"]["arguments"][0]["entry"], each["command"]["title"])
            for each in resolved
        ]
        self.shown.lenses.pop(uri, None)
        if rows:
            self.shown.lenses[uri] = sorted(rows)

    def ask_hints(self, uri: str) -> None:
        labels = [(each["position"]["line"], each["label"]) for each in self.wire.hints(uri) or ()]
        rows = [(line, label.replace("(stale)", "").strip(), "(stale)" in label) for line, label in labels]
        self.shown.hints.pop(uri, None)
        if rows:
            self.shown.hints[uri] = sorted(rows)

    def own(self, uri: str) -> None:
        """Ask for what the client has changed itself."""
        if self.pulls:
            self.pull(uri)
        self.ask_lenses(uri)
        self.ask_hints(uri)

    def forget(self, uri: str) -> None:
        """A document was closed: the client clears what it showed of it, and asks for what it is on disk."""
        self.opened.remove(uri)
        self.shown.lenses.pop(uri, None)
        self.shown.hints.pop(uri, None)
        if self.pulls:
            self.shown.diagnostics.pop(uri, None)
            self.ids.pop(uri, None)
            self.pull_all()


@pytest.fixture(scope="session")
def mirror() -> type[Mirror]:
    return Mirror


@pytest.fixture(scope="session")
def world() -> type[World]:
    return World
