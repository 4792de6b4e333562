"""A workspace that no project should have, and one that vanishes under the server."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.support.robust import abuse, disk

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
