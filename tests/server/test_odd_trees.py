"""A workspace that no project should have, and one that vanishes under the server."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.server import conftest
from tests.support.robust import abuse, disk, shared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and links as in POSIX")


def test_an_odd_workspace_that_vanishes(editor, cache, tmp_path):
    tree = tmp_path / "tree"
    expected = disk.odd_tree(tree)
    said = {tree.as_uri(): {"workspaceDiagnostics": "all"}}
    wire = editor("neovim", False, folders=(tree,), configuration=said)
    names = (b"caf\xe9.py", b"model.py", b"two\nlines.py", b"pkg/inner.py")
    uris = [(tree / os.fsdecode(name)).as_uri() for name in names]
    assert uris[0].endswith("/caf%E9.py")
    assert sum(len(wire.diagnostics(uri)) for uri in uris) == expected
    for uri in (uris[0], (tree / "pipe.py").as_uri(), (tree / "loop.py").as_uri()):
        wire.open(uri, disk.MODEL)
        assert [d["code"] for d in wire.diagnostics(uri)] == ["GM101"], uri
    shutil.rmtree(tree)
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 3} for uri in uris]})
    wire.notify("textDocument/didSave", {"textDocument": {"uri": uris[0]}})
    wire.change(uris[0], 2, {"text": "\n" + disk.MODEL + disk.INNER})
    assert "GM101" in wire.hover(uris[0], 9, 12)["contents"]["value"]
    wire.close(uris[0])
    assert list(abuse.probe(wire, "vanished")) == []
    assert list(abuse.alarms(wire)) == []
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0


def _changed(wire, *paths):
    changes = [{"uri": path.as_uri(), "type": 2} for path in paths]
    wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})


def _end(wire):
    assert list(abuse.alarms(wire)) == []
    wire.request("shutdown")
    wire.notify("exit")
    assert (wire.wait(), wire.errors, wire.stray) == (0, b"", b"")


def test_files_that_become_others(editor, cache, tmp_path):
    """Of a closed file what is shown goes and comes back; an open one is the client's, whatever is on the disk."""
    tree = tmp_path / "tree"
    shared.workspace(tree, 2)
    model, helper, opened = tree / "pkg0" / "model.py", tree / "pkg0" / "helper.py", tree / "pkg1" / "model.py"
    said = {tree.as_uri(): {"workspaceDiagnostics": "all"}}
    wire = editor("neovim", False, folders=(tree,), configuration=said)
    assert [len(wire.diagnostics(path.as_uri())) for path in (model, helper, opened)] == [1, 1, 1]
    text = opened.read_text()
    wire.open(opened.as_uri(), text)
    assert len(wire.diagnostics(opened.as_uri())) == 1
    for number, (become, _) in enumerate(disk.BECOMES.values(), 2):
        for path in (model, opened):
            disk.remove(path)
            path.write_text(text)
            become(path)
        _changed(wire, model, opened)
        assert wire.diagnostics(model.as_uri()) == []
        assert wire.diagnostics(helper.as_uri()) == []  # nobody calls it any more, as far as can be seen
        wire.change(opened.as_uri(), number, {"text": "\n" * (number % 2) + text})
        assert len(wire.diagnostics(opened.as_uri())) == 1
        wire.notify("textDocument/didSave", {"textDocument": {"uri": opened.as_uri()}})
        disk.remove(model)
        model.write_text(shared.MODEL.format(0))
        _changed(wire, model)
        assert [len(wire.diagnostics(path.as_uri())) for path in (model, helper)] == [1, 1]
    wire.close(opened.as_uri())
    _end(wire)


def test_a_project_that_begins_further_down(editor, cache, tmp_path):
    """A configuration that is written while the server runs: what was known of where projects begin is asked again."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    helper = inner / "helper.py"
    helper.write_text("def note(x):\n    print(x)\n    return x\n")
    model = "from torch import nn\nfrom inner.helper import note\n\n\nclass Net(nn.Module):\n"
    (inner / "model.py").write_text(model + "    def forward(self, x):\n        return note(x)\n")
    said = {tmp_path.as_uri(): {"workspaceDiagnostics": "all"}}
    wire = editor("neovim", False, folders=(tmp_path,), configuration=said)
    wire.open(helper.as_uri(), helper.read_text())
    before = len(wire.diagnostics(helper.as_uri()))
    (inner / "pyproject.toml").write_text("")
    _changed(wire, inner / "pyproject.toml")
    assert (before, len(wire.diagnostics(helper.as_uri()))) == (1, 0)
    wire.close(helper.as_uri())
    _end(wire)


def test_a_workspace_that_moves_and_comes_back(editor, cache, tmp_path):
    tree, away = tmp_path / "tree", tmp_path / "away"
    shared.workspace(tree, 3)
    paths = [tree / f"pkg{number}" / "helper.py" for number in range(3)]
    said = {tree.as_uri(): {"workspaceDiagnostics": "all"}}
    wire = editor("neovim", False, folders=(tree,), configuration=said)
    assert [len(wire.diagnostics(path.as_uri())) for path in paths] == [1, 1, 1]
    for what in ("gone", "a file", "a link to itself"):
        tree.rename(away)
        if what == "a file":
            tree.write_text("no folder")
        elif what == "a link to itself":
            tree.symlink_to(tree)
        _changed(wire, *paths)
        assert [wire.diagnostics(path.as_uri()) for path in paths] == [[], [], []]
        assert list(abuse.probe(wire, what.replace(" ", "-"))) == []
        if what != "gone":
            tree.unlink()
        away.rename(tree)
        _changed(wire, *paths)
        assert [len(wire.diagnostics(path.as_uri())) for path in paths] == [1, 1, 1]
    _end(wire)


def test_a_server_whose_folder_is_gone(cache, tmp_path, monkeypatch):
    """The folder that it was started in, which it needs for nothing."""
    here, tree = tmp_path / "here", tmp_path / "tree"
    shared.workspace(tree, 1)
    here.mkdir()
    monkeypatch.chdir(here)
    wire = conftest.Wire([sys.executable, "-m", "graphmend_lsp", "server"])
    monkeypatch.chdir(tmp_path)
    folders = [{"uri": tree.as_uri(), "name": "tree"}]
    here.rmdir()
    wire.capabilities = wire.initialize(
        conftest.EVERYTHING, workspaceFolders=folders, initializationOptions={"workspaceDiagnostics": "all"}
    )["capabilities"]
    assert len(wire.diagnostics((tree / "pkg0" / "helper.py").as_uri())) == 1
    assert list(shared.edits(wire, tree, 0, 0)) == []
    assert list(abuse.probe(wire, "nowhere")) == []
    _end(wire)
