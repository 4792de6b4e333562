"""A long session of random edits and requests; every answer is checked against a fresh analysis of the same text.

``GRAPHMEND_SESSION_STEPS`` makes it longer (``make bench-session``), ``GRAPHMEND_SESSION_SEED`` another one.
"""

from __future__ import annotations

import ast
import os
import random
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp import check as core
from graphmend_lsp.project.program import DiskProgram

STEPS = int(os.environ.get("GRAPHMEND_SESSION_STEPS", "200"))
SEED = int(os.environ.get("GRAPHMEND_SESSION_SEED", "1"))

START = '''\
import logging
import torch
from torch import nn

logger = logging.getLogger(__name__)


def gate(x: torch.Tensor, high):
    if x.abs().max() > high:
        x = x.clamp(-high, high)
    return x


class Block(nn.Module):
    """A block, 大きい."""

    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.lin(x)
        if h.isnan().any():
            raise ValueError("nan 🙂")
        logger.info("mean %s", h.mean())
        return gate(h, 3.0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8), Block(8)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        print("done", x.sum())
        return x if x.sum() > 0 else -x


net = torch.compile(Net())
'''
SNIPPETS = (
    '        print(f"é {x.mean()}")\n',
    "        if x.min() < 0:\n            x = x.relu()\n",
    "        # a comment 🙂\n",
    "\n",
    "        if x.\n",
    "        x = x + 1\n",
    "x = (\n",
    "\n\nclass Other(nn.Module):\n    def forward(self, x):\n        assert x.all()\n        return x\n",
    "\n\n@torch.compile\ndef step(x):\n    while x.sum() > 0:\n        x = x - 1\n    return x\n",
)


class Session:
    """The client's side: a text, and what the server says of it."""

    def __init__(self, wire: Any, path: Path, model: Any, pulls: bool) -> None:
        self.pulls = pulls
        self.answer: dict[str, Any] = {}
        self.wire, self.path, self.uri = wire, path, path.as_uri()
        self.model = model
        self.version = 1
        self.history = [model.text]
        wire.open(self.uri, model.text)

    @property
    def text(self) -> str:
        return self.model.text

    def edit(self, rng: random.Random) -> None:
        """One to three changes in one message: typing, pasting, deleting, or an undo of some earlier state."""
        changes = [self._change(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        self.version += 1
        self.wire.change(self.uri, self.version, *changes)
        if rng.random() < 0.3:
            self.history.append(self.text)

    def _change(self, rng: random.Random) -> dict[str, Any]:
        length, kind = len(self.text), rng.random()
        if kind < 0.12 or length > 6000:
            old = rng.choice(self.history)
            if rng.random() < 0.5:
                self.model.text = old
                return {"text": old}
            return self.model.replace(0, length, old)
        starts = [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]
        if kind < 0.45:
            at = rng.choice(starts)
            return self.model.replace(at, at, rng.choice(SNIPPETS))
        if kind < 0.65:
            row = rng.randrange(len(starts))
            end = starts[min(row + rng.choice((1, 1, 2)), len(starts) - 1)]
            return self.model.replace(starts[row], max(end, starts[row]), "")
        at = rng.randrange(length + 1)
        if kind < 0.85:
            return self.model.replace(at, at, rng.choice(("x", " ", "(", "é", "🙂", "0", "_")))
        return self.model.replace(at, min(length, at + rng.choice((1, 1, 3))), "")

    # -- what is expected -----------------------------------------------------------------------------

    def fresh(self) -> core.Analysis:
        """The analysis that a server would make that has just been started."""
        program = DiskProgram((str(self.path.parent),), overlay={str(self.path): self.text})
        return core.check(self.text, str(self.path), program=program.for_file(str(self.path)))

    def range(self, span: Any) -> dict[str, Any]:
        """A span of ours in the client's units, by the client's own arithmetic."""
        return {"start": self._place(span.line, span.column), "end": self._place(span.end_line, span.end_column)}

    def _place(self, line: int, column: int) -> dict[str, int]:
        row = self.text.split("\n")[line - 1]
        return {"line": line - 1, "character": len(row[:column].encode(self.model.codec)) // self.model.width}

    def expected(self, analysis: core.Analysis) -> list[tuple[str, str]]:
        return sorted((str(self.range(f.span)), f.code) for f in analysis.findings)

    # -- requests -------------------------------------------------------------------------------------

    def check_diagnostics(self, analysis: core.Analysis) -> None:
        """What a new server would find; while a part does not parse, more is kept of what was not touched."""
        shown = self._pulled() if self.pulls else self.wire.diagnostics(self.uri, self.version)
        found = sorted((str(d["range"]), d["code"]) for d in shown)
        if not analysis.problems:
            assert found == self.expected(analysis), self.text
        assert set(found) >= set(self.expected(analysis)), self.text
        ends = [len(row.encode(self.model.codec)) // self.model.width for row in self.text.split("\n")]
        assert all(place["end"]["character"] <= ends[place["end"]["line"]] for place in self._places(found))

    def _pulled(self) -> list[Any]:
        """What the server answers, or the answer before where it says that nothing has changed."""
        known = {"previousResultId": self.answer["resultId"]} if self.answer else {}
        report = self.wire.request("textDocument/diagnostic", {"textDocument": {"uri": self.uri}, **known})
        assert report["kind"] == "full" or self.answer
        if report["kind"] == "full":
            self.answer = report
        return self.answer["items"]

    def _places(self, found: list[tuple[str, str]]) -> list[Any]:
        return [ast.literal_eval(place) for place, _ in found]

    def check_actions(self, analysis: core.Analysis, rng: random.Random) -> None:
        """Each quick fix belongs to a finding as it stands now, and its edit is the one the core makes of it."""
        if not analysis.findings:
            return
        finding = rng.choice(analysis.findings)
        place = self._place(finding.span.line, finding.span.column)
        actions = self.wire.actions(self.uri, place["line"], place["character"], ["quickfix"])
        ranges = {str(self.range(f.span)) for f in analysis.findings}
        for action in actions if not analysis.problems else ():
            assert {str(d["range"]) for d in action.get("diagnostics", ())} <= ranges
        offers = {offer.title for offer in finding.offers if offer.safety == "safe"}
        chosen = next((a for a in actions if any(title in a["title"] for title in offers) and "data" in a), None)
        if not analysis.problems:  # else a fix may be refused: half a file cannot be proved
            assert (chosen is not None) == bool(offers), (finding, actions, self.text)
        if chosen is None:
            return
        edits = self.wire.resolve(chosen).get("edit", {}).get("documentChanges", ())
        mine = [change for change in edits if change.get("textDocument", {}).get("uri") == self.uri]
        for change in mine:
            assert change["textDocument"]["version"] == self.version
            after = self.model.apply(change["edits"])
            if not analysis.problems:
                compile(after, "mended", "exec")

    def check_hover(self, analysis: core.Analysis, rng: random.Random) -> None:
        if not analysis.findings:
            return
        finding = rng.choice(analysis.findings)
        place = self._place(finding.span.line, finding.span.column)
        shown = self.wire.hover(self.uri, place["line"], place["character"])
        assert shown is not None, self.text
        assert finding.code in shown["contents"]["value"]
        if not analysis.problems:
            assert str(shown["range"]) in {str(self.range(f.span)) for f in analysis.findings}

    def check_lenses(self) -> None:
        """Each stands on the name of a class or function of the text as it is."""
        rows = self.text.split("\n")
        for lens in self.wire.lenses(self.uri) or ():
            start, end = lens["range"]["start"], lens["range"]["end"]
            row = rows[start["line"]].encode(self.model.codec)
            name = row[start["character"] * self.model.width : end["character"] * self.model.width].decode(
                self.model.codec
            )
            assert name == lens["command"]["arguments"][0]["entry"].rpartition(".")[2]


@pytest.mark.parametrize(("encoding", "pulls"), [("utf-16", False), ("utf-16", True), ("utf-8", False)])
def test_every_answer_is_of_the_text_as_it_is(start, client_text, everything, tmp_path, encoding, pulls):
    rng = random.Random(SEED)
    (tmp_path / "pyproject.toml").write_text("")
    wire = start()
    capabilities = {
        **everything,
        "general": {"positionEncodings": [encoding]},
        "textDocument": {**everything["textDocument"], "codeLens": {}},
    }
    if pulls:
        capabilities["textDocument"]["diagnostic"] = {}
        capabilities["workspace"] = {**everything["workspace"], "diagnostics": {"refreshSupport": True}}
    wire.initialize(capabilities, rootUri=tmp_path.as_uri())
    session = Session(wire, tmp_path / "model.py", client_text(START, encoding), pulls)
    session.check_diagnostics(session.fresh())
    for _ in range(STEPS // 2):
        for _ in range(rng.choice((1, 1, 2, 4))):
            session.edit(rng)
        analysis = session.fresh()
        kinds = ["diagnostics", "actions", "hover", "lenses", "text"]
        rng.shuffle(kinds)
        for kind in kinds[: rng.choice((1, 2, 5))]:
            if kind == "diagnostics":
                session.check_diagnostics(analysis)
            elif kind == "actions":
                session.check_actions(analysis, rng)
            elif kind == "hover":
                session.check_hover(analysis, rng)
            elif kind == "lenses":
                session.check_lenses()
            else:
                assert wire.text(session.uri) == session.text
    session.edit(rng)
    session.check_diagnostics(session.fresh())
    wire.request("shutdown")
    assert not pulls or not wire.seen("textDocument/publishDiagnostics")
    wire.notify("exit")
    assert wire.wait() == 0 and not wire.stray
