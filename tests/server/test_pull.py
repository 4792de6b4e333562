"""Pull diagnostics: which clients get them, what a report says, when it is unchanged, and when to ask again."""

from __future__ import annotations

import time

import pytest

TEXT = "safe_break\nrefused_break\n"
REFRESH = "workspace/diagnostic/refresh"


@pytest.fixture
def uri(tmp_path):
    return (tmp_path / "model.py").as_uri()


@pytest.fixture
def code(editor, tmp_path):
    return editor("vscode", folders=(tmp_path,))


def _save(wire, uri):
    wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})


@pytest.mark.parametrize("name", ["vscode", "neovim", "minimal"])
def test_one_way_for_each_client(editor, uri, tmp_path, response_error, name):
    """Neovim 0.11 pulls but cannot be told to pull again: what comes later would never show."""
    wire = editor(name, folders=(tmp_path,))
    wire.open(uri, TEXT)
    if name == "vscode":
        provider = wire.capabilities["diagnosticProvider"]
        assert provider["interFileDependencies"] and provider["workspaceDiagnostics"]
        assert provider["identifier"] == "GraphMend"
        assert len(wire.pull(uri)["items"]) == 2
        wire.change(uri, 2, {"text": TEXT * 2})
        _save(wire, uri)
        assert len(wire.pull(uri)["items"]) == 4
        wire.close(uri)
        time.sleep(0.3)
        wire.command("graphmend.printDebugInformation")
        assert wire.seen("textDocument/publishDiagnostics") == []
    else:
        assert "diagnosticProvider" not in wire.capabilities
        assert len(wire.diagnostics(uri)) == 2
        with pytest.raises(response_error) as caught:
            wire.pull(uri)
        assert caught.value.code == -32601
        assert wire.seen(REFRESH) == []


def test_both_ways_say_the_same(editor, uri, tmp_path, start, editors):
    pulled = editor("vscode", folders=(tmp_path,))
    pulled.open(uri, TEXT, 7)
    capabilities = {**editors["vscode"], "workspace": {**editors["vscode"]["workspace"], "diagnostics": None}}
    pushed = start(True)
    pushed.answers["workspace/configuration"] = lambda params: [None for _ in params["items"]]
    pushed.initialize(capabilities)
    pushed.open(uri, TEXT, 7)
    assert pulled.pull(uri)["items"] == pushed.diagnostics(uri)


def test_an_unchanged_report(code, uri):
    code.open(uri, TEXT)
    full = code.pull(uri)
    assert full["kind"] == "full" and full["resultId"]
    again = code.pull(uri, full["resultId"])
    assert again == {"kind": "unchanged", "resultId": full["resultId"]}
    assert code.pull(uri, "of another session")["kind"] == "full"
    code.change(uri, 2, {"text": "safe_break\n"})
    changed = code.pull(uri, full["resultId"])
    assert changed["kind"] == "full" and len(changed["items"]) == 1 and changed["resultId"] != full["resultId"]


def test_what_has_no_findings(code, uri, tmp_path):
    other, notes = (tmp_path / "other.py").as_uri(), (tmp_path / "notes.txt").as_uri()
    code.open(uri, "nothing\n")
    code.open(notes, TEXT, language="plaintext")
    empty = code.pull(uri)
    assert empty["kind"] == "full" and empty["items"] == []
    assert code.pull(notes) == code.pull(other) == empty  # other languages, files that nobody has open
    assert code.pull(other, empty["resultId"])["kind"] == "unchanged"


def test_a_document_that_changes_meanwhile(code, uri, response_error):
    code.open(uri, "slow safe_break\n")
    code.send({"id": "p", "method": "textDocument/diagnostic", "params": {"textDocument": {"uri": uri}}})
    time.sleep(0.3)
    code.change(uri, 2, {"text": "safe_break\n"})
    with pytest.raises(response_error) as caught:
        code.reply("p")
    assert caught.value.code == -32802 and caught.value.data == {"retriggerRequest": True}
    assert len(code.pull(uri)["items"]) == 1


def test_a_check_that_fails_keeps_what_is_shown(code, uri):
    code.open(uri, TEXT)
    known = code.pull(uri)["resultId"]
    code.change(uri, 2, {"text": "boom\n"})
    assert code.pull(uri, known) == {"kind": "unchanged", "resultId": known}
    assert code.pull(uri)["items"] == []
    assert len([m for m in code.seen("window/logMessage") if "the core is broken" in m["message"]]) == 1


def test_a_cancelled_pull(code, uri, response_error):
    code.open(uri, "slow safe_break\n")
    code.send({"id": "p", "method": "textDocument/diagnostic", "params": {"textDocument": {"uri": uri}}})
    code.notify("$/cancelRequest", {"id": "p"})
    with pytest.raises(response_error) as caught:
        code.reply("p")
    assert caught.value.code == -32800
    assert len(code.pull(uri)["items"]) == 1


def test_all_documents_are_the_open_ones(code, uri, tmp_path):
    (tmp_path / "closed.py").write_text("import torch\nsafe_break\n")
    other = (tmp_path / "other.py").as_uri()
    code.open(uri, TEXT, 3)
    code.open(other, "nothing\n", 4)
    reports = code.pull_all()
    assert {u: (r["kind"], r["version"], len(r["items"])) for u, r in reports.items()} == {
        uri: ("full", 3, 2),
        other: ("full", 4, 0),
    }
    known = {u: r["resultId"] for u, r in reports.items()}
    again = code.pull_all(known)
    assert [(r["kind"], r["resultId"]) for r in again.values()] == [("unchanged", each) for each in known.values()]
    code.change(other, 5, {"text": "safe_break\n"})
    assert {u: r["kind"] for u, r in code.pull_all(known).items()} == {uri: "unchanged", other: "full"}
    code.close(uri)  # what is still shown of it goes
    cleared = code.pull_all(known)[uri]
    assert cleared["kind"] == "full" and cleared["items"] == []
    assert code.pull_all({uri: cleared["resultId"]})[uri]["kind"] == "unchanged"


def test_all_documents_in_parts(code, tmp_path):
    uris = [(tmp_path / f"m{number}.py").as_uri() for number in range(40)]
    for uri in uris:
        code.open(uri, "safe_break\n")
    assert code.pull_all(partialResultToken="part") == {}
    parts = [p["value"]["items"] for p in code.seen("$/progress") if p["token"] == "part"]
    assert len(parts) == 2 and [item["uri"] for part in parts for item in part] == uris
    assert parts[0][0]["kind"] == "full" and parts[0][0]["items"][0]["code"] == "GM201"


@pytest.mark.parametrize("reason", ["save", "watched", "configuration", "folders"])
def test_asked_again(editor, uri, tmp_path, reason):
    said: dict[str, object] = {}
    wire = editor("vscode", folders=(tmp_path,), configuration=said)
    wire.open(uri, TEXT)
    first = wire.pull(uri)
    if reason == "save":
        wire.open((tmp_path / "other.py").as_uri(), "")
        _save(wire, (tmp_path / "other.py").as_uri())
    elif reason == "watched":
        (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\nignore = ["GM201"]\n')
        change = {"uri": (tmp_path / "pyproject.toml").as_uri(), "type": 1}
        wire.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
    elif reason == "configuration":
        said[tmp_path.as_uri()] = {"ignore": ["GM201"]}
        wire.notify("workspace/didChangeConfiguration", {"settings": None})
    else:
        folder = {"uri": (tmp_path / "more").as_uri(), "name": "more"}
        wire.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
    wire.wait_for(REFRESH)
    again = wire.pull(uri, first["resultId"])
    assert again["kind"] == ("unchanged" if reason in ("save", "folders") else "full")
    wire.end()


def test_reasons_are_gathered(code, uri, tmp_path):
    code.open(uri, TEXT)
    code.open((tmp_path / "other.py").as_uri(), TEXT)
    for _ in range(5):
        _save(code, uri)
    code.wait_for(REFRESH)
    time.sleep(0.5)
    code.command("graphmend.printDebugInformation")
    assert len(code.seen(REFRESH)) <= 1
