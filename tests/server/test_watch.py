"""Files that change outside the editor."""

from __future__ import annotations

import time

import pytest

TEXT = "safe_break\n"
PATTERNS = {"**/pyproject.toml", "**/*.py", "**/*.ipynb", "**/*baseline*.json"}
METHOD = "workspace/didChangeWatchedFiles"
CREATED, CHANGED, DELETED = 1, 2, 3


def _watchers(wire):
    params = wire.wait_for("client/registerCapability", lambda p: p["registrations"][0]["method"] == METHOD)
    return params["registrations"][0]["registerOptions"]["watchers"]


def _tell(wire, path, kind):
    wire.notify(METHOD, {"changes": [{"uri": path.as_uri(), "type": kind}]})


def test_relative_patterns_of_each_folder(editor, tmp_path):
    wire = editor("vscode", folders=(tmp_path,))
    watchers = [each["globPattern"] for each in _watchers(wire)]
    assert {each["pattern"] for each in watchers} == PATTERNS
    assert {each["baseUri"] for each in watchers} == {tmp_path.as_uri()}
    more = tmp_path / "more"
    event = {"added": [{"uri": more.as_uri(), "name": "more"}], "removed": []}
    wire.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    gone = wire.wait_for("client/unregisterCapability")["unregisterations"]
    assert gone == [{"id": "graphmend-watched-files", "method": METHOD}]
    assert {each["globPattern"]["baseUri"] for each in _watchers(wire)} == {tmp_path.as_uri(), more.as_uri()}


def test_plain_patterns(start, editors, tmp_path):
    capabilities = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
    wire = start(True)
    wire.initialize(capabilities, rootUri=tmp_path.as_uri())
    assert {each["globPattern"] for each in _watchers(wire)} == PATTERNS


@pytest.mark.parametrize("name", ["neovim", "minimal"])
def test_not_where_the_client_cannot(editor, tmp_path, name):
    wire = editor(name, folders=(tmp_path,))
    wire.command("graphmend.printDebugInformation")
    assert wire.seen("client/registerCapability") == []
    uri = (tmp_path / "model.py").as_uri()
    wire.open(uri, TEXT)
    assert len(wire.diagnostics(uri)) == 1
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\nignore = ["GM201"]\n')
    wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})  # seen at the next save
    assert wire.diagnostics(uri) == []


def test_the_configuration_is_read_again(editor, tmp_path):
    wire = editor("minimal", folders=(tmp_path,))
    uri, table = (tmp_path / "model.py").as_uri(), tmp_path / "pyproject.toml"
    wire.open(uri, TEXT)
    assert len(wire.diagnostics(uri)) == 1
    table.write_text('[tool.graphmend]\nignore = ["GM201"]\n')
    _tell(wire, table, CREATED)
    assert wire.diagnostics(uri) == []
    table.unlink()
    _tell(wire, table, DELETED)
    assert len(wire.diagnostics(uri)) == 1


def test_what_depends_on_a_closed_file(editor, tmp_path):
    helper, uri = tmp_path / "helper.py", (tmp_path / "model.py").as_uri()
    helper.write_text("def helper(x):\n    return x\n")
    (tmp_path / "pyproject.toml").write_text("")
    model = "import torch\nfrom helper import helper\n\n\n@torch.compile\ndef f(x):\n    return str(helper(x))\n"
    wire = editor("minimal", False, folders=(tmp_path,))
    wire.open(uri, model)
    before = wire.diagnostics(uri)
    helper.write_text("def helper(x):\n    return 'text'\n")
    _tell(wire, helper, CHANGED)
    assert len(wire.diagnostics(uri)) < len(before) == 1


def test_what_does_not_matter(editor, tmp_path):
    wire = editor("minimal", folders=(tmp_path,))
    uri = (tmp_path / "model.py").as_uri()
    wire.open(uri, TEXT)
    wire.diagnostics(uri)
    _tell(wire, tmp_path / "model.py", CHANGED)  # its text is the client's
    _tell(wire, tmp_path / "notes.txt", CHANGED)
    time.sleep(0.5)
    wire.command("graphmend.printDebugInformation")
    assert wire.seen("textDocument/publishDiagnostics") == []


def test_many_changes_are_one(editor, tmp_path):
    wire = editor("minimal", folders=(tmp_path,))
    uri = (tmp_path / "model.py").as_uri()
    wire.open(uri, TEXT)
    wire.diagnostics(uri)
    for number in range(50):
        _tell(wire, tmp_path / f"other{number}.py", CREATED)
    wire.diagnostics(uri)
    time.sleep(0.5)
    wire.command("graphmend.printDebugInformation")
    assert len(wire.seen("textDocument/publishDiagnostics")) <= 2  # of 50; a slow machine may tell them in two bursts
