"""Settings from the client: asked for by folder, sent by it, or given at the start; and what follows a change."""

from __future__ import annotations

import time

import pytest

TEXT = "safe_break\n"
CHANGED = "workspace/didChangeConfiguration"


@pytest.fixture
def folders(tmp_path):
    made = tmp_path / "one", tmp_path / "two"
    for folder in made:
        folder.mkdir()
    return made


def _kinds(wire, folder):
    return [d["severity"] for d in wire.diagnostics((folder / "model.py").as_uri())]


def _open(wire, folder):
    wire.open((folder / "model.py").as_uri(), TEXT)


@pytest.mark.parametrize("name", ["vscode", "neovim"])
def test_each_folder_is_asked_for(editor, folders, name):
    one, two = folders
    said = {one.as_uri(): {"severity": {"GM201": "hint"}}, two.as_uri(): {"ignore": ["GM201"]}, "": None}
    wire = editor(name, folders=folders, configuration=said, initializationOptions={"torchVersion": "2.9"})
    _open(wire, one)
    _open(wire, two)
    report = wire.command("graphmend.printDebugInformation")
    items = wire.wait_for("workspace/configuration")["items"]
    assert items == [
        {"section": "graphmend"},
        {"scopeUri": one.as_uri(), "section": "graphmend"},
        {"scopeUri": two.as_uri(), "section": "graphmend"},
    ]
    if name == "neovim":
        assert _kinds(wire, one) == [2]  # what the fake core finds: it reads only which rules are wanted
        assert _kinds(wire, two) == []
    else:
        assert len(wire.pull((one / "model.py").as_uri())["items"]) == 1
        assert wire.pull((two / "model.py").as_uri())["items"] == []
    assert f"in {two}" in report or f"in {two}" in wire.command("graphmend.printDebugInformation")
    assert "torch_version = (2, 9)" in report


def test_the_first_findings_wait_for_the_answer(editor, folders):
    one, _ = folders
    said = {one.as_uri(): {"ignore": ["GM201"]}}
    wire = editor("neovim", folders=folders, configuration=said)
    _open(wire, one)
    assert _kinds(wire, one) == []
    time.sleep(0.3)
    wire.command("graphmend.printDebugInformation")
    assert wire.seen("textDocument/publishDiagnostics") == []


def test_a_client_that_does_not_answer(start, editors, folders):
    wire = start(True)
    wire.initialize(editors["neovim"], initializationOptions={"ignore": []})
    _open(wire, folders[0])
    assert _kinds(wire, folders[0]) == [2]


def test_a_client_that_refuses(start, editors, folders):
    wire = start(True)
    wire.initialize(editors["neovim"])
    wire.wait_for("workspace/configuration")
    number = next(m["id"] for m in [{"id": None}])
    del number
    _open(wire, folders[0])
    assert _kinds(wire, folders[0]) == [2]


@pytest.mark.parametrize("settings", [None, {}, {"graphmend": {"ignore": ["GM201"]}}])
def test_a_change_that_is_asked_for(editor, folders, settings):
    one, two = folders
    said: dict[str, object] = {}
    wire = editor("neovim", folders=folders, configuration=said)
    for folder in folders:
        _open(wire, folder)
        assert _kinds(wire, folder) == [2]
    said[two.as_uri()] = {"ignore": ["GM201"]}
    said[one.as_uri()] = {"ignore": []}  # what is asked for goes before what was sent
    wire.notify(CHANGED, {"settings": settings})
    assert _kinds(wire, two) == []
    assert _kinds(wire, one) == [2]


@pytest.mark.parametrize("nested", [True, False])
def test_a_change_that_is_sent(editor, folders, nested):
    one, _ = folders
    wire = editor("minimal", folders=folders, initializationOptions={"ignore": []})
    _open(wire, one)
    assert _kinds(wire, one) == [2]
    ours = {"ignore": ["GM201"]}
    wire.notify(CHANGED, {"settings": {"graphmend": ours, "python": {"x": 1}} if nested else ours})
    assert _kinds(wire, one) == []
    wire.notify(CHANGED, {"settings": {"python": {"analysis": {}}}})  # of others: ours are as at the start
    assert _kinds(wire, one) == [2]
    assert wire.seen("window/logMessage") == []
    wire.notify(CHANGED, {"settings": None})
    wire.notify(CHANGED, {"settings": "nonsense"})
    time.sleep(0.3)
    wire.command("graphmend.printDebugInformation")
    assert wire.seen("textDocument/publishDiagnostics") == []  # nothing has changed


def test_mistakes_are_logged_once(editor, folders):
    said = {"": {"colour": 1, "trace": {"server": "off"}}, **{f.as_uri(): {"colour": 1} for f in folders}}
    wire = editor("neovim", folders=folders, configuration=said)
    for _ in range(2):
        wire.notify(CHANGED, {"settings": None})
    _open(wire, folders[0])
    _kinds(wire, folders[0])
    logged = [m["message"] for m in wire.seen("window/logMessage")]
    assert len([each for each in logged if "colour" in each]) == 1
    assert not any("trace" in each for each in logged)


def test_a_table_of_lua_without_entries_is_no_mistake(editor, folders):
    one, _ = folders
    wire = editor("neovim", folders=[one], configuration={one.as_uri(): [], "": []})
    _open(wire, one)
    assert _kinds(wire, one) == [2]
    assert "problem" not in wire.command("graphmend.printDebugInformation")
    assert wire.seen("window/logMessage") == []


def test_what_shows_settings_is_refreshed(editor, folders):
    said: dict[str, object] = {}
    wire = editor("vscode", folders=folders, configuration=said)
    _open(wire, folders[0])
    wire.pull((folders[0] / "model.py").as_uri())
    said[folders[0].as_uri()] = {"entries": ["f"]}
    wire.notify(CHANGED, {"settings": None})
    for what in ("diagnostic", "codeLens"):
        wire.wait_for(f"workspace/{what}/refresh")


def test_the_client_is_asked_to_say_when_it_changes(editor):
    wire = editor("vscode")
    (registration,) = wire.wait_for("client/registerCapability", lambda p: p["registrations"][0]["method"] == CHANGED)[
        "registrations"
    ]
    assert registration["registerOptions"] == {"section": "graphmend"}


@pytest.mark.parametrize("where", ["start", "folder"])
def test_trust_is_never_won_by_the_workspace(editor, folders, where):
    """A folder's settings may come from the folder itself."""
    untrusted, trusted = {"trusted": False}, {"trusted": True, "python": "/evil"}
    said = {folders[0].as_uri(): trusted if where == "start" else untrusted}
    options = untrusted if where == "start" else trusted
    wire = editor("neovim", folders=folders, configuration=said, initializationOptions=options)
    _open(wire, folders[0])
    _kinds(wire, folders[0])
    assert wire.command("graphmend.profile", {"uri": (folders[0] / "model.py").as_uri(), "entry": "f"}) is None
    assert "not trusted" in wire.wait_for("window/showMessage")["message"]


def test_folders_come_and_go(editor, folders, tmp_path):
    one, two = folders
    said = {two.as_uri(): {"ignore": ["GM201"]}}
    wire = editor("neovim", folders=(one,), configuration=said)
    for folder in folders:
        _open(wire, folder)
        assert _kinds(wire, folder) == [2]
    added = {"uri": two.as_uri(), "name": "two"}
    wire.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [added], "removed": []}})
    wire.wait_for("textDocument/publishDiagnostics", lambda p: "/two/" in p["uri"] and p["diagnostics"] == [])
    gone = [{"uri": folder.as_uri(), "name": ""} for folder in folders]
    wire.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": gone}})
    wire.wait_for("textDocument/publishDiagnostics", lambda p: "/two/" in p["uri"] and p["diagnostics"] != [])
    assert "Workspace roots: none" in wire.command("graphmend.printDebugInformation")
    outside = (tmp_path / "outside.py").as_uri()
    wire.open(outside, TEXT)
    assert len(wire.diagnostics(outside)) == 1
    wire.open("untitled:Untitled-1", TEXT)
    assert len(wire.diagnostics("untitled:Untitled-1")) == 1
