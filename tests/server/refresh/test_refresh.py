"""A long random session around the documents: what a client shows is what a fresh analysis says, and it was told so.

The client asks again for what it has changed itself, and otherwise only when it is told to; one that is sent its
diagnostics waits for them.  What it then shows must become what a server says that has just been started.
``make bench-session`` makes the session long; ``GRAPHMEND_SESSION_SEED`` makes it another one.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

STEPS = int(os.environ.get("GRAPHMEND_SESSION_STEPS", "200"))
SEED = int(os.environ.get("GRAPHMEND_SESSION_SEED", "1"))
HASTY = Path(__file__).parent / "hasty_server.py"
SECONDS = 90.0
"""Until what is shown is what it has to be; what checks the workspace has low priority on a busy machine."""

HEAD = "import torch\nfrom torch import nn\nfrom helper import note, scale\n\n\n"
BRANCH = "        if x.sum() > 0:\n            x = x * 2\n"
FORWARD = "class Net(nn.Module):\n    def forward(self, x):\n"
STEP = "\n\n@torch.compile\ndef step(x):\n    print(x)\n    return note(x)\n"
GUARD = "        if scale(x) > 0:\n            x = x + 1\n"
BODIES = (
    "        return note(scale(x))\n",
    f"{BRANCH}        return scale(x)\n",
    f"{GUARD}        return note(x)\n",
    f"{BRANCH}{GUARD}        return x\n",
)
NOTES = ("    print(x)\n    return x\n", "    return x\n", "    if x.sum() > 0:\n        x = x + 1\n    return x\n")
SCALES = ("    return x * 2\n", "    return x.item()\n", "    return x.numpy()\n")
TRAIN = "import torch\nfrom helper import note\n\n\n@torch.compile\ndef train(x):\n    return note(x)\n"
LONE = "import torch\n\n\n@torch.compile\ndef lone(x):\n    print(x)\n    return x\n"
CELL = "import torch\nfrom helper import scale\n\n\n@torch.compile\ndef cell(x):\n    return str(scale(x))\n"
TABLES = ("", "", "", 'ignore = ["GM201"]\n', 'exclude = ["helper.py"]\n', 'entries = ["note"]\n', 'select = ["GM1"]\n')
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"severity": {"GM2": "error"}},
    {"ignore": ["GM101"]},
    {"entries": ["scale"]},
)
INTERPRETER = """#!{python} -IS
import json, os, sys
job = json.loads(sys.stdin.readline())
def say(event, **more):
    print(json.dumps({{"event": event, **more}}), flush=True)
helper = os.path.join(os.path.dirname(job["path"]), "helper.py")
lines = {{}}
for path in (job["path"], helper):
    text = job["texts"].get(path) or open(path, encoding="utf-8").read()
    lines[path] = next((n for n, line in enumerate(text.split("\\n"), 1) if "return" in line), 1)
say("started", torch="2.13.0")
seen = open(os.path.join(os.path.dirname(job["path"]), "device")).read()
say("device", device=seen if job["device"] == "" else "cpu", name="A device")
say("subject", inputs="made up", training=False, digest="0")
graph = {{"operations": 1, "lines": {{path: [line] for path, line in lines.items()}}}}
events = [[path, line, "a reason", "GB0170"] for path, line in lines.items()]
say("counted", graphs=[graph], events=len(events), all_events=events, recompiles=[], skipped=0, guards=3,
    compiler_error="", result="0")
say("finished")
sys.stdin.read()
"""


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    differing = (number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


class Session:
    """One random session: the client, what there is, and what its user and others do."""

    def __init__(self, wire: Any, world: Any, mirror: Any, rng: random.Random) -> None:
        self.wire, self.world, self.mirror, self.rng = wire, world, mirror, rng
        self.model, self.helper, self.train = (world.root / f"{name}.py" for name in ("model", "helper", "train"))
        self.lone = world.extra / "lone.py"
        self.versions: dict[str, int] = {}
        self.cell_version = 1

    # -- texts ---------------------------------------------------------------------------------------

    def text(self, path: Path) -> str:
        rng = self.rng
        above = "# a line\n" * rng.choice((0, 0, 1, 3))
        if path == self.model:
            return above + HEAD + FORWARD + rng.choice(BODIES) + rng.choice(("", STEP))
        if path == self.helper:
            return f"{above}def note(x):\n{rng.choice(NOTES)}\n\ndef scale(x):\n{rng.choice(SCALES)}"
        return above + rng.choice((TRAIN if path == self.train else LONE, "def nothing():\n    pass\n"))

    # -- causes --------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """As it is on disk, or as the client has kept it since its last session."""
        text = self.world.disk.get(path) or self.text(path)
        if self.rng.random() < 0.6:
            text = self.text(path)
        self.world.buffers[path] = text
        self.versions[path.as_uri()] = 1
        self.wire.open(path.as_uri(), text)
        self.mirror.opened.append(path.as_uri())
        self.mirror.own(path.as_uri())

    def close(self, path: Path) -> None:
        """Whatever is not saved is gone."""
        del self.world.buffers[path]
        self.world.untold.discard(path)
        self.wire.close(path.as_uri())
        self.mirror.forget(path.as_uri())

    def type(self, path: Path) -> None:
        """One change of what is between what stays the same."""
        old, new, uri = self.world.buffers[path], self.text(path), path.as_uri()
        if new == old:
            return
        start = _shared(old, new)
        end = _shared(old[start:][::-1], new[start:][::-1])
        places = [old[:offset].split("\n") for offset in (start, len(old) - end)]
        range_ = [{"line": len(rows) - 1, "character": len(rows[-1])} for rows in places]
        self.versions[uri] += 1
        change = {"range": {"start": range_[0], "end": range_[1]}, "text": new[start : len(new) - end]}
        self.wire.change(uri, self.versions[uri], change)
        self.world.buffers[path] = new
        self.world.untold.add(path)
        self.mirror.own(uri)

    def save(self, path: Path) -> None:
        self.world.put(path, self.world.buffers[path])
        self.wire.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        self.world.untold.clear()

    def change_on_disk(self, path: Path, text: str | None) -> None:
        kind = 3 if text is None else 2 if path.exists() else 1
        self.world.put(path, text)
        self.wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": kind}]})
        self.world.untold.clear()

    def configure(self) -> None:
        options = dict(self.rng.choice(OPTIONS))
        if self.rng.random() < 0.5:
            options["workspaceDiagnostics"] = "all"
        if options == self.world.options:
            return
        self.world.options.clear()
        self.world.options.update(options)
        self.wire.notify("workspace/didChangeConfiguration", {"settings": None})
        self.world.untold.clear()

    def change_folders(self) -> None:
        folder = {"uri": self.world.extra.as_uri(), "name": "extra"}
        gone = self.world.extra in self.world.folders
        (self.world.folders.remove if gone else self.world.folders.append)(self.world.extra)
        event = {"added": [] if gone else [folder], "removed": [folder] if gone else []}
        self.wire.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        self.world.untold.clear()

    def profile(self, path: Path) -> None:
        """An entry of the model as it is now, with the fake interpreter."""
        entry = "step" if STEP in self.world.buffers[path] and self.rng.random() < 0.5 else "Net"
        argument = {"uri": path.as_uri(), "entry": entry, "compare": False, "timing": False}
        argument["device"] = self.rng.choice(("", "", "cpu"))
        device = self.rng.choice(("cuda", "cpu"))
        (self.world.root / "device").write_text(device)
        if not argument["device"]:
            self.world.no_cuda = device == "cpu"
        assert self.wire.command("graphmend.profile", argument)["failure"] is None

    def type_in_the_notebook(self) -> None:
        self.cell_version += 1
        self.world.cell = "# a line\n" * self.rng.choice((0, 1, 2)) + CELL
        document = {"uri": self.world.cell_uri, "version": self.cell_version}
        content = [{"document": document, "changes": [{"text": self.world.cell}]}]
        notebook = {"uri": self.world.notebook.as_uri(), "version": self.cell_version}
        params = {"notebookDocument": notebook, "change": {"cells": {"textContent": content}}}
        self.wire.notify("notebookDocument/didChange", params)

    def open_the_notebook(self) -> None:
        self.world.cell = CELL
        item = {"uri": self.world.cell_uri, "languageId": "python", "version": 1, "text": CELL}
        cells = [{"kind": 2, "document": self.world.cell_uri}]
        uri = self.world.notebook.as_uri()
        document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        self.wire.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": [item]})

    def happens(self) -> str:
        """Something."""
        world, rng = self.world, self.rng
        opened, closed = (
            list(world.buffers),
            [p for p in (self.helper, self.train, self.lone) if p not in world.buffers],
        )
        kind = rng.choices(
            ("type", "save", "open", "close", "disk", "table", "options", "folders", "profile", "notebook"),
            (24, 20, 14, 10, 8, 5, 6, 5, 4, 4),
        )[0]
        if kind == "type":
            self.type(rng.choice(opened))
        elif kind == "save":
            self.save(rng.choice(sorted(world.untold) or opened))
        elif kind == "open" and closed:
            self.open(self.helper if self.helper in closed and rng.random() < 0.7 else rng.choice(closed))
        elif kind == "close" and len(opened) > 1:
            self.close(rng.choice([path for path in opened if path != self.model]))
        elif kind == "disk" and closed:
            path = rng.choice(closed)
            self.change_on_disk(path, None if path == self.train and path.exists() else self.text(path))
        elif kind == "table":
            self.change_on_disk(world.root / "pyproject.toml", f"[tool.graphmend]\n{rng.choice(TABLES)}")
        elif kind == "options":
            self.configure()
        elif kind == "folders":
            self.change_folders()
        elif kind == "profile":
            self.profile(self.model)
        elif kind == "notebook":
            self.type_in_the_notebook()
        return kind

    # -- what must come of it ------------------------------------------------------------------------

    def settle(self, story: list[str]) -> None:
        """What is shown becomes what it has to be, by what the server says alone."""
        expected, deadline = self.world.fresh(), time.monotonic() + SECONDS
        while True:
            self.mirror.absorb()
            wrong = self.mirror.differs(expected, self.world)
            if not wrong:
                return
            assert time.monotonic() < deadline, (story, wrong)
            time.sleep(0.02)

    def rests(self) -> None:
        """Nobody is told anything when nothing happens, whatever is asked."""
        time.sleep(0.1)
        self.mirror.absorb()
        told = sum(self.mirror.told.values())
        for uri in self.mirror.opened:
            self.mirror.own(uri)
        if self.mirror.pulls:
            self.mirror.pull_all()
        time.sleep(0.1)
        self.mirror.absorb()
        assert sum(self.mirror.told.values()) == told


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a script")
@pytest.mark.parametrize("name", ["vscode", "neovim"])
def test_what_is_shown_is_what_there_is(editor, world, mirror, cache, tmp_path, name):
    rng = random.Random(SEED)
    root, extra = tmp_path / "root", tmp_path / "extra"
    root.mkdir()
    extra.mkdir()
    python = root / "python"
    python.write_text(INTERPRETER.format(python=sys.executable))
    python.chmod(0o755)
    there = world(root, extra)
    for folder in (root, extra):
        there.put(folder / "pyproject.toml", "")
    said = Said(there.options)
    options = {"python": str(python)}
    wire = editor(name, HASTY, folders=(root,), configuration=said, initializationOptions=options)
    wire.answers["window/showMessageRequest"] = lambda _: None
    session = Session(wire, there, mirror(wire, name == "vscode"), rng)
    for path in (session.helper, session.lone):
        there.put(path, session.text(path))
    session.open(session.model)
    session.open(session.helper)
    session.open_the_notebook()
    session.save(session.model)
    session.settle(["start"])
    causes = 0
    for number in range(STEPS // 4):
        before, story = session.mirror.told.copy(), [session.happens() for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        causes += len(story)
        session.settle([f"step {number}", *story])
        if number % 10 == 0:
            session.rests()
        told = session.mirror.told - before
        assert all(count <= 3 * len(story) + 1 for count in told.values()), (story, told)  # those of before come late
    assert all(count <= 2 * causes for count in session.mirror.told.values())
    print(causes, dict(session.mirror.told))
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0 and not wire.stray


class Said(dict[str, Any]):
    """The configuration, which is the same for all folders."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__()
        self.options = options

    def get(self, key: str, default: Any = None) -> Any:
        return self.options
