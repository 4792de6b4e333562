"""Code actions: what is listed for whom, and what applying them makes of the text."""

from __future__ import annotations

import copy

import pytest

from graphmend_lsp.server.actions import asked_for

TEXT = (
    "def f():\n    😀 = safe_break\r\n    defer_break\n    unsafe_break  # note\n"
    "def g():\n    refused_break\n    creating_break\n"
)
SAFE, DEFER, UNSAFE, REFUSED, CREATING = (1, 12), (2, 8), (3, 8), (5, 8), (6, 8)
MEND, DELETE, IGNORE = "Mend it", "Delete it", "Ignore on this line"


@pytest.fixture(scope="module")
def wire(start, everything):
    wire = start(True)
    wire.initialize(everything)
    return wire


@pytest.fixture
def uri(tmp_path):
    return (tmp_path / "model.py").as_uri()


def titled(actions, words):
    (found,) = [action for action in actions if words in action["title"]]
    return found


def applied(client_text, text, edit, uri, encoding="utf-16"):
    """The text of the document with a versioned workspace edit."""
    (own,) = [c for c in edit["documentChanges"] if c.get("textDocument", {}).get("uri") == uri]
    return client_text(text, encoding).apply(own["edits"])


def test_quick_fixes_of_one_finding(wire, uri):
    wire.open(uri, TEXT)
    actions = wire.actions(uri, *SAFE, only=["quickfix"])
    assert [a["title"] for a in actions] == [
        "GraphMend (GM201): Mend it",
        "GraphMend (GM201): Delete it (changes behaviour: it is gone)",
        "GraphMend (GM201): Verify the safe fix",
        "GraphMend (GM201): Ignore on this line",
    ]
    assert [a.get("isPreferred", False) for a in actions] == [True, False, False, False]
    assert all(a["kind"] == "quickfix" and "edit" not in a for a in actions)
    assert [bool(a.get("data")) for a in actions] == [True, True, False, True]
    assert actions[2]["command"]["command"] == "graphmend.verify"
    assert all(a["diagnostics"][0]["code"] == "GM201" for a in actions)
    assert not any(a.get("isPreferred") for a in wire.actions(uri, *UNSAFE))
    assert wire.actions(uri, 0, 0, only=["quickfix"]) == []


def test_the_clients_diagnostics_are_handed_back(wire, uri):
    wire.open(uri, TEXT)
    sent = wire.diagnostics(uri)[0]
    context = {"diagnostics": [sent, {**sent, "source": "other"}], "only": ["quickfix"]}
    params = {"textDocument": {"uri": uri}, "range": sent["range"], "context": context}
    for action in wire.request("textDocument/codeAction", params):
        assert action["diagnostics"] == [sent]


def test_resolve_and_apply(wire, uri, client_text):
    wire.open(uri, TEXT, version=4)
    action = wire.resolve(titled(wire.actions(uri, *SAFE), MEND))
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 4}
    assert applied(client_text, TEXT, action["edit"], uri) == TEXT.replace("safe_break", "mended", 1)


def test_an_unsafe_edit_is_annotated(wire, uri, client_text):
    wire.open(uri, TEXT)
    edit = wire.resolve(titled(wire.actions(uri, *SAFE), DELETE))["edit"]
    (annotation,) = edit["changeAnnotations"].values()
    assert annotation["needsConfirmation"] and annotation["description"] == "it is gone"
    assert all(e["annotationId"] in edit["changeAnnotations"] for e in edit["documentChanges"][0]["edits"])
    assert applied(client_text, TEXT, edit, uri) == TEXT.replace("safe_break", "", 1)


def test_a_file_is_created_with_the_edit(wire, uri, tmp_path):
    wire.open(uri, TEXT)
    edit = wire.resolve(titled(wire.actions(uri, *CREATING), "runtime"))["edit"]
    create, fill, own = edit["documentChanges"]
    runtime = (tmp_path / "_graphmend.py").as_uri()
    assert (create["kind"], create["uri"]) == ("create", runtime)
    assert fill["textDocument"] == {"uri": runtime, "version": None}
    assert fill["edits"][0]["newText"] == "# runtime\nVERSION = 2\n"
    assert own["textDocument"]["uri"] == uri


def test_an_old_file_is_changed_where_it_differs(wire, uri, tmp_path, client_text):
    (tmp_path / "_graphmend.py").write_bytes(b"# runtime\nVERSION = 1\n")
    wire.open(uri, TEXT)
    edit = wire.resolve(titled(wire.actions(uri, *CREATING), "runtime"))["edit"]
    runtime, _ = edit["documentChanges"]
    assert client_text("# runtime\nVERSION = 1\n", "utf-16").apply(runtime["edits"]) == "# runtime\nVERSION = 2\n"
    assert runtime["edits"][0]["range"]["start"] == {"line": 1, "character": 0}


def test_a_client_that_cannot_create_files_is_told(start, everything, uri):
    capabilities = copy.deepcopy(everything)
    del capabilities["workspace"]["workspaceEdit"]["resourceOperations"]
    wire = start(True)
    wire.initialize(capabilities)
    wire.open(uri, TEXT)
    assert "edit" not in wire.resolve(titled(wire.actions(uri, *CREATING), "runtime"))
    assert "cannot create" in wire.wait_for("window/showMessage")["message"]


def test_a_refusal_at_the_last_moment_is_shown(wire, uri):
    wire.open(uri, TEXT + "# refuse later\n")
    assert "edit" not in wire.resolve(titled(wire.actions(uri, *SAFE), MEND))
    assert "both names mean one tensor" in wire.wait_for("window/showMessage")["message"]


def test_the_text_moved_on_before_the_choice(wire, uri, client_text, response_error):
    wire.open(uri, "def f():\n    safe_break\n")
    action = titled(wire.actions(uri, 1, 8), MEND)
    moved = "# first\ndef f():\n    safe_break\n"
    wire.change(uri, 2, {"text": moved})
    assert applied(client_text, moved, wire.resolve(action)["edit"], uri) == moved.replace("safe_break", "mended")
    wire.change(uri, 3, {"text": "def f():\n    x\n"})
    assert "edit" not in wire.resolve(action)
    assert "no longer there" in wire.wait_for("window/showMessage")["message"]
    wire.close(uri)
    with pytest.raises(response_error) as caught:
        wire.resolve(action)
    assert caught.value.code == -32801


def test_data_of_others_is_refused(wire, uri, response_error):
    wire.open(uri, TEXT)
    action = titled(wire.actions(uri, *SAFE), MEND)
    for data in (3, {}, {**action["data"], "do": "harm"}, {**action["data"], "finding": {"uri": uri}}):
        with pytest.raises(response_error) as caught:
            wire.resolve({**action, "data": data})
        assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("kind", "only", "asked"),
    [
        ("quickfix", None, True),
        ("quickfix", [""], True),
        ("quickfix", [], False),
        ("source.fixAll.graphmend", ["source"], True),
        ("source.fixAll.graphmend", ["source.fixAll"], True),
        ("source.fixAll.graphmend", ["source.fixAll.graphmend"], True),
        ("source.fixAll.graphmend", ["source.fixAll.graphmend.more"], False),
        ("source.fixAll.graphmend", ["source.fix"], False),
        ("source.fixAll.graphmend", ["source.organizeImports", "quickfix"], False),
    ],
)
def test_prefix_of_kinds(kind, only, asked):
    assert asked_for(kind, only) is asked


def test_only(wire, uri):
    wire.open(uri, TEXT)

    def kinds(only):
        return {a["kind"] for a in wire.actions(uri, *SAFE, only=only)}

    assert kinds(["quickfix"]) == {"quickfix"}
    assert kinds(["source.fixAll"]) == {"source.fixAll.graphmend"}
    assert kinds(["refactor"]) == {"refactor.rewrite.graphmend"}
    assert kinds(["source.organizeImports"]) == set()
    assert kinds(None) == {"quickfix", "source.fixAll.graphmend", "refactor.rewrite.graphmend"}


def test_fix_all_applies_safe_offers_but_adds_no_helpers(wire, uri, client_text):
    text = "def f():\n    safe_break\n    defer_break\n    unsafe_break\n" + "    x\n" * 20 + "    safe_break\n"
    wire.open(uri, text)
    (action,) = wire.actions(uri, 0, 0, only=["source.fixAll.graphmend"])
    assert "edit" not in action
    edit = wire.resolve(action)["edit"]
    (change,) = edit["documentChanges"]
    assert [e["range"]["start"]["line"] for e in change["edits"]] == [1, 24]
    assert applied(client_text, text, edit, uri) == text.replace(" safe_break", " mended")
    wire.change(uri, 2, {"text": "def f():\n    defer_break\n"})
    assert wire.actions(uri, 0, 0, only=["source.fixAll"]) == []


def test_mending_a_function_takes_all_its_safe_offers(wire, uri, client_text):
    wire.open(uri, TEXT)
    action = titled(wire.actions(uri, *SAFE, only=["refactor.rewrite"]), "breaks in f")
    expected = TEXT.replace("defer_break", "mended").replace("safe_break", "mended", 1)
    assert applied(client_text, TEXT, wire.resolve(action)["edit"], uri) == expected


def test_disabled_actions_only_where_asked_for(start, wire, everything, uri):
    wire.open(uri, TEXT)
    assert not any("disabled" in a for a in wire.actions(uri, *REFUSED))
    assert not any("disabled" in a for a in wire.actions(uri, *REFUSED, only=["source"]))
    for only in (["quickfix"], ["refactor"], ["refactor.rewrite.graphmend"]):
        (disabled,) = [a for a in wire.actions(uri, *REFUSED, only=only) if "disabled" in a]
        assert "both names mean one tensor" in disabled["disabled"]["reason"]
        assert asked_for(disabled["kind"], only)
    capabilities = copy.deepcopy(everything)
    del capabilities["textDocument"]["codeAction"]["disabledSupport"]
    other = start(True)
    other.initialize(capabilities)
    other.open(uri, TEXT)
    assert not any("disabled" in a for a in other.actions(uri, *REFUSED, only=["quickfix"]))


def test_why_no_fix(wire, uri):
    wire.open(uri, TEXT)
    action = titled(wire.actions(uri, *REFUSED), "Why no fix?")
    assert wire.resolve(action) == action
    told = wire.command(action["command"]["command"], *action["command"]["arguments"])
    assert "both names mean one tensor" in told
    assert wire.wait_for("window/showMessage")["message"] == told
    assert "No fix is offered" in told
    assert not any("Why no fix?" in a["title"] for a in wire.actions(uri, *UNSAFE))


def test_no_mending_of_what_does_not_parse(wire, uri):
    wire.open(uri, TEXT)
    action = titled(wire.actions(uri, *SAFE), MEND)
    wire.change(uri, 2, {"text": TEXT + "# syntax error\n"})  # the findings stay
    assert "edit" not in wire.resolve(action)
    said = wire.wait_for("window/showMessage")["message"]
    assert said.endswith("not applied, the file does not parse (line 1: invalid syntax)")


def test_explaining_a_finding_with_offers(wire, uri):
    wire.open(uri, TEXT)
    keys = {d["message"].split()[0]: d["data"] for d in wire.diagnostics(uri)}
    assert wire.command("graphmend.explain", keys["unsafe"]).splitlines()[1:] == [
        "Offered:",
        "Trap it (changes behaviour: another exception)",
        "Refused:",
        "where: both names mean one tensor (alias)",
    ]
    safe = wire.command("graphmend.explain", keys["safe"])
    assert "Mend it (safe)" in safe and "Delete it (changes behaviour: it is gone)" in safe
    assert "No fix" not in safe and "Refused" not in safe


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    safe_break", "    safe_break  # graphmend: ignore[GM201]"),
        ("    safe_break   ", "    safe_break  # graphmend: ignore[GM201]"),
        ("    safe_break  # why", "    safe_break  # why  # graphmend: ignore[GM201]"),
        ("    safe_break  # graphmend: ignore[GM101]", "    safe_break  # graphmend: ignore[GM101, GM201]"),
        ("    safe_break  # graphmend: ignore[]", "    safe_break  # graphmend: ignore[GM201]"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_ignore_on_this_line(wire, uri, client_text, line, expected, ending):
    text = f"def f():\n{line}{ending}"
    wire.open(uri, text)
    edit = wire.resolve(titled(wire.actions(uri, 1, 8), IGNORE))["edit"]
    assert applied(client_text, text, edit, uri) == f"def f():\n{expected}{ending}"
    wire.change(uri, 2, {"text": f"def f():\n{expected}{ending}"})
    assert wire.actions(uri, 1, 8, only=["quickfix"]) == []


def test_a_client_without_resolve_gets_the_edits_at_once(start, everything, uri, client_text):
    capabilities = copy.deepcopy(everything)
    del capabilities["textDocument"]["codeAction"]["resolveSupport"]
    del capabilities["workspace"]
    wire = start(True)
    wire.initialize(capabilities)
    wire.open(uri, TEXT)
    actions = wire.actions(uri, *SAFE)
    assert all(("edit" in a) != ("command" in a) and "data" not in a for a in actions)
    edits = titled(actions, MEND)["edit"]["changes"][uri]
    assert client_text(TEXT, "utf-16").apply(edits) == TEXT.replace("safe_break", "mended", 1)
    # what needs a new file cannot be offered here; what has no fix still says why
    assert not any("runtime" in a["title"] for a in wire.actions(uri, *CREATING))
    assert titled(wire.actions(uri, *REFUSED), "Why no fix?")["command"]


def test_a_client_of_commands_only(start, uri):
    wire = start(True)
    wire.initialize()
    wire.open(uri, TEXT)
    assert [c["command"] for c in wire.actions(uri, *SAFE)] == ["graphmend.verify"]
    (command,) = wire.actions(uri, *REFUSED)
    assert command["command"] == "graphmend.explain"
