"""Push diagnostics: what they say, for which version, and when they go."""

from __future__ import annotations

import copy
import time

import pytest

TEXT = "def f():\n    safe_break\n    refused_break\n"


@pytest.fixture(scope="module")
def wire(start, everything):
    wire = start(True)
    wire.initialize({**everything, "general": {"positionEncodings": ["utf-16"]}})
    return wire


@pytest.fixture
def uri(request, tmp_path):
    return (tmp_path / "model.py").as_uri()


def test_everything_a_diagnostic_says(wire, uri):
    wire.open(uri, TEXT, version=7)
    safe, refused = wire.diagnostics(uri, 7)
    assert safe["range"] == {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 14}}
    assert (safe["source"], safe["code"], safe["severity"]) == ("GraphMend", "GM201", 2)
    assert safe["codeDescription"]["href"].endswith("/gb/gb0059.html")
    assert safe["data"] == {"uri": uri, "version": 7, "code": "GM201", "function": "f", "span": [2, 4, 2, 14]}
    assert "tags" not in safe
    (evidence,) = safe["relatedInformation"]
    assert evidence["message"] == "compiled here" and evidence["location"]["uri"] == uri
    messages = [each["message"] for each in refused["relatedInformation"]]
    assert messages[0] == "compiled here" and "both names mean one tensor" in messages[1]


def test_evidence_in_another_file_is_placed_by_its_text(wire, uri, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("😀😀 = abc\n", encoding="utf-8")
    wire.open(uri, f"safe_break # see {other}\n")
    (found,) = wire.diagnostics(uri)
    location = found["relatedInformation"][1]["location"]
    assert location["uri"] == other.as_uri()
    assert location["range"]["start"] == {"line": 0, "character": 6}
    wire.open(other.as_uri(), "😀a😀 = abc\n")  # the buffer counts, not the file
    wire.change(uri, 2, {"text": f"safe_break  # see {other}\n"})
    (found,) = wire.diagnostics(uri, 2)
    assert found["relatedInformation"][1]["location"]["range"]["start"] == {"line": 0, "character": 6}
    wire.change(uri, 3, {"text": "safe_break  # see /no/such/file.py\n"})
    (found,) = wire.diagnostics(uri, 3)
    assert found["relatedInformation"][1]["location"]["range"]["start"] == {"line": 0, "character": 4}


@pytest.mark.parametrize(
    "missing", ["relatedInformation", "versionSupport", "codeDescriptionSupport", "dataSupport", "all"]
)
def test_nothing_the_client_did_not_declare(start, everything, uri, missing):
    capabilities = copy.deepcopy(everything)
    declared = capabilities["textDocument"]["publishDiagnostics"]
    if missing == "all":
        declared.clear()
    else:
        del declared[missing]
    wire = start(True)
    wire.initialize(capabilities)
    wire.open(uri, TEXT, version=3)
    params = wire.wait_for("textDocument/publishDiagnostics")
    refused = params["diagnostics"][1]
    assert ("version" in params) == ("versionSupport" in declared)
    assert ("codeDescription" in refused) == ("codeDescriptionSupport" in declared)
    assert ("data" in refused) == ("dataSupport" in declared)
    related = "relatedInformation" in declared
    assert ("relatedInformation" in refused) == related
    assert ("both names mean one tensor" in refused["message"]) != related
    assert ("line 1: compiled here" in refused["message"]) != related
    wire.end()


def test_changes_are_gathered_and_stale_results_dropped(wire, uri):
    wire.open(uri, "safe_break\n")
    wire.diagnostics(uri, 1)
    for version in range(2, 12):
        wire.change(uri, version, {"text": "safe_break\n" * version})
    assert len(wire.diagnostics(uri)) == 11  # the first that comes is of the last version
    wire.change(uri, 12, {"text": "slow safe_break\n"})
    time.sleep(0.4)  # its check is running
    wire.change(uri, 13, {"text": "none\n"})
    assert wire.diagnostics(uri) == []


def test_a_saved_document_is_published_at_once(wire, uri):
    wire.open(uri, "safe_break\n")
    wire.diagnostics(uri, 1)
    wire.change(uri, 2, {"text": "safe_break safe_break\n"})
    wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert len(wire.diagnostics(uri, 2)) == 2


def test_closing_clears(wire, uri):
    wire.open(uri, TEXT)
    assert wire.diagnostics(uri)
    wire.change(uri, 2, {"text": TEXT * 2})
    wire.close(uri)
    assert wire.diagnostics(uri) == []
    time.sleep(0.3)
    wire.command("graphmend.printDebugInformation")
    assert [p for p in wire.seen("textDocument/publishDiagnostics") if p["uri"] == uri] == []


def test_a_syntax_error_is_logged_once_and_keeps_the_findings(wire, uri):
    wire.open(uri, "safe_break\n")
    wire.diagnostics(uri)
    for version in (2, 3):
        wire.change(uri, version, {"text": f"safe_break\nsyntax error {version}\n"})
        assert len(wire.diagnostics(uri, version)) == 1
    logged = [m for m in wire.seen("window/logMessage") if "invalid syntax" in m["message"]]
    assert len(logged) == 1


def test_other_languages_are_left_alone(wire, tmp_path):
    uri = (tmp_path / "notes.txt").as_uri()
    wire.open(uri, "safe_break\n", language="plaintext")
    assert wire.actions(uri, 0, 0) == []
    assert wire.hover(uri, 0, 0) is None
    assert [p for p in wire.seen("textDocument/publishDiagnostics") if p["uri"] == uri] == []


def test_project_configuration(wire, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.graphmend]\nignore = ["GM201"]\nexclude = ["left_out/"]\ncolour = 1\n', encoding="utf-8"
    )
    uri = (tmp_path / "model.py").as_uri()
    wire.open(uri, TEXT)
    assert wire.diagnostics(uri) == []
    assert any("colour" in m["message"] for m in wire.seen("window/logMessage"))
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\nexclude = ["left_out/"]\n', encoding="utf-8")
    wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert len(wire.diagnostics(uri)) == 2
    excluded = (tmp_path / "left_out" / "model.py").as_uri()
    wire.open(excluded, TEXT)
    assert wire.diagnostics(excluded) == []
