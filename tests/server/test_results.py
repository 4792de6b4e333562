"""How a profile is shown, from the store on: hints, diagnostics, hover; and when it is out of date."""

from __future__ import annotations

import os

import pytest

from graphmend_lsp.check import NoProgram
from graphmend_lsp.parse import parse
from graphmend_lsp.profile import store
from graphmend_lsp.profile.anchors import measured
from graphmend_lsp.profile.report import Arm, Confirmed, Graph, Report, Site, Timing
from graphmend_lsp.profile.targets import outline
from graphmend_lsp.settings import Settings

MODEL = """\
import torch
from torch import nn
from helpers import helper


class Net(nn.Module):  # a net
    def forward(self, x):
        x = helper(x)
        if x.sum() > 0:  # GB0170
            x = x * 2
        return x + 1
"""
HELPERS = """\
def helper(x):
    breaks_here(x)
    return x
"""


def _report(model, helpers):
    sites = (
        Site(model, 9, "Data-dependent branching\n  Explanation: é", "GB0170", 2, "Net.forward"),
        Site(helpers, 2, "Unsupported call", "", 1, "helper"),
    )
    arm = Arm((Graph(1, {model: (8, 10)}), Graph(1, {model: (11,)})), 3, sites, eager=Timing(1e-3, 9e-4, 1.1e-3, 9))
    return Report(
        model,
        "Net",
        device="cpu",
        device_name="A CPU",
        torch="2.13.0",
        inputs="example_inputs()",
        original=arm,
        findings=(Confirmed(model, 9, "GM101", "confirmed"),),
        when="2026-11-30T12:00:00+00:00",
    )


@pytest.fixture
def shown(start, profiling, cache, tmp_path):
    """A server that finds a stored profile of ``Net`` when its file is opened."""
    (tmp_path / "pyproject.toml").write_text("")
    model, helpers = tmp_path / "model.py", tmp_path / "helpers.py"
    helpers.write_text(HELPERS)
    model.write_text(MODEL)
    texts = {str(model): MODEL, str(helpers): HELPERS}

    def outline_of(path):
        return outline(path, parse(texts[path]), NoProgram(), Settings())

    store.save(measured(_report(str(model), str(helpers)), outline_of))
    return _opened(start, profiling, tmp_path)


def _opened(start, capabilities, folder):
    wire = start()
    wire.initialized = wire.initialize(capabilities, rootUri=folder.as_uri())
    model = (folder / "model.py").as_uri()
    wire.open(model, MODEL)
    return wire, model, (folder / "helpers.py").as_uri()


def _measured(diagnostics):
    return [each for each in diagnostics if each["source"] == "torch.compile"]


def _insert(wire, uri, version, line, character, text):
    place = {"line": line, "character": character}
    wire.change(uri, version, {"range": {"start": place, "end": place}, "text": text})


def test_a_hint_at_the_header(shown):
    wire, uri, _ = shown
    (hint,) = wire.hints(uri)
    assert hint["position"] == {"line": 5, "character": len("class Net(nn.Module):  # a net")}
    assert hint["label"].startswith("2 graphs, 3 breaks") and "stale" not in hint["label"]
    assert hint["paddingLeft"] is True
    assert hint["tooltip"]["kind"] == "markdown" and "| graphs | 2 |" in hint["tooltip"]["value"]
    assert wire.hints(uri, 6, 9) == []


def test_its_numbers_come_later_for_a_client_that_asks_for_them(shown, start, profiling, tmp_path):
    lazy = {"inlayHint": {"resolveSupport": {"properties": ["tooltip", "textEdits"]}}}
    capabilities = {**profiling, "textDocument": {**profiling["textDocument"], **lazy}}
    eager, uri, _ = shown
    assert eager.initialized["capabilities"]["inlayHintProvider"] == {"resolveProvider": False}
    (known,) = eager.hints(uri)
    wire, uri, _ = _opened(start, capabilities, tmp_path)
    assert wire.initialized["capabilities"]["inlayHintProvider"] == {"resolveProvider": True}
    (hint,) = wire.hints(uri)
    assert "tooltip" not in hint
    assert wire.request("inlayHint/resolve", hint)["tooltip"] == known["tooltip"]
    assert "tooltip" not in wire.request("inlayHint/resolve", {**hint, "data": {"uri": uri, "entry": "Gone"}})
    assert "tooltip" not in wire.request("inlayHint/resolve", {**hint, "data": 3})


def test_breaks_beside_the_findings_in_one_publication(shown):
    wire, uri, helpers = shown
    found = wire.diagnostics(uri, 1)
    assert "GM101" in [each["code"] for each in found if each["source"] == "GraphMend"]
    (site,) = _measured(found)
    assert site["range"]["start"] == {"line": 8, "character": 8}
    assert site["range"]["end"]["character"] == len("        if x.sum() > 0:  # GB0170")
    assert (site["severity"], site["code"]) == (3, "GB0170")
    assert site["codeDescription"]["href"].endswith("/gb/gb0170.html")
    assert site["message"].startswith("Data-dependent branching\n  Explanation: é\n")
    assert "measured: Net, 2 times (2026-11-30, CPU: A CPU)" in site["message"]
    wire.open(helpers, HELPERS)
    (other,) = _measured(wire.diagnostics(helpers, 1))
    assert other["range"]["start"] == {"line": 1, "character": 4} and "code" not in other


def test_hover_on_the_name_and_on_a_finding(shown):
    wire, uri, _ = shown
    told = wire.hover(uri, 5, 7)
    assert told["range"] == {"start": {"line": 5, "character": 6}, "end": {"line": 5, "character": 9}}
    assert "| break events | 3 |" in told["contents"]["value"] and "torch 2.13.0" in told["contents"]["value"]
    assert "stale" not in told["contents"]["value"]
    told = wire.hover(uri, 8, 12)["contents"]["value"]
    assert "measured: confirmed in `Net` (2026-11-30, CPU: A CPU)" in told
    assert told.index("measured: confirmed") < told.index("Why it is in a graph")


def test_an_edit_above_moves_it(shown):
    wire, uri, _ = shown
    _insert(wire, uri, 2, 0, 0, "import os\n\n")
    (site,) = _measured(wire.diagnostics(uri, 2))
    assert site["range"]["start"]["line"] == 10 and "stale" not in site["message"]
    (hint,) = wire.hints(uri)
    assert hint["position"]["line"] == 7 and "stale" not in hint["label"]
    assert "measured: confirmed" in wire.hover(uri, 10, 12)["contents"]["value"]


def test_an_edit_inside_makes_it_stale(shown):
    wire, uri, _ = shown
    wire.diagnostics(uri, 1)
    wire.hints(uri)
    wire.notifications.clear()
    _insert(wire, uri, 2, 10, 16, " * 1")
    assert _measured(wire.diagnostics(uri, 2)) == []
    (hint,) = wire.hints(uri)
    assert hint["label"].startswith("(stale) ")
    assert "(stale)" in wire.hover(uri, 5, 7)["contents"]["value"]
    assert "measured" not in wire.hover(uri, 8, 12)["contents"]["value"]
    wire.answer("workspace/inlayHint/refresh")
    wire.change(uri, 3, {"text": MODEL})  # taken back
    assert len(_measured(wire.diagnostics(uri, 3))) == 1
    assert "stale" not in wire.hints(uri)[0]["label"]


def test_an_edit_of_the_class_marks_what_is_left(shown):
    wire, uri, _ = shown
    _insert(wire, uri, 2, 6, 0, "    width = 1\n")
    (site,) = _measured(wire.diagnostics(uri, 2))
    assert site["range"]["start"]["line"] == 9 and site["message"].endswith("(stale)")
    assert "(stale)" in wire.hover(uri, 9, 12)["contents"]["value"]


def test_an_edit_of_a_function_in_another_file(shown):
    wire, uri, helpers = shown
    wire.open(helpers, HELPERS)
    assert _measured(wire.diagnostics(helpers, 1))
    wire.diagnostics(uri, 1)
    _insert(wire, helpers, 2, 2, 12, " + 1")
    assert _measured(wire.diagnostics(helpers, 2)) == []
    (site,) = _measured(wire.diagnostics(uri, 1))  # published again
    assert site["message"].endswith("(stale)")
    assert wire.hints(uri)[0]["label"].startswith("(stale) ")


def test_while_the_file_does_not_parse(shown):
    wire, uri, _ = shown
    wire.change(uri, 2, {"text": MODEL + "\n\ndef typing(:\n"})
    assert len(_measured(wire.diagnostics(uri, 2))) == 1
    assert "stale" not in wire.hints(uri)[0]["label"]


def test_the_page(shown, cache, tmp_path):
    wire, uri, _ = shown
    params = {"command": "graphmend.showReport", "arguments": [{"uri": uri, "entry": "Net"}]}
    wire.send({"id": "page", "method": "workspace/executeCommand", "params": params})
    asked = wire.answer("window/showDocument", result={"success": True})
    answer = wire.reply("page")
    assert asked == {"uri": answer["uri"], "external": True}
    assert answer["path"].startswith(str(cache))
    with open(answer["path"], encoding="utf-8") as page:
        assert "x.sum()" in page.read()
    assert not wire.seen("window/showMessage")


def test_the_report_as_text_where_the_client_shows_it_itself(shown):
    wire, uri, _ = shown
    answer = wire.command("graphmend.showReport", {"uri": uri, "entry": "Net", "open": False})
    assert answer["entry"] == "Net" and os.path.isfile(answer["path"])
    assert answer["text"].startswith("model.py::Net: 2 graphs, 3 breaks") and "stale" not in answer["text"]
    wire.change(uri, 2, {"text": MODEL.replace("* 2", "* 3")})
    answer = wire.command("graphmend.showReport", {"uri": uri, "entry": "Net", "open": False})
    assert answer["text"].splitlines()[-1] == "stale: the code has changed since it was measured"
    assert not wire.seen("window/showDocument") and not wire.seen("window/showMessage")


def test_the_page_where_nothing_can_be_opened(shown, start, everything, tmp_path):
    _, uri, _ = shown
    wire = start()
    wire.initialize(everything, rootUri=tmp_path.as_uri())
    answer = wire.command("graphmend.showReport", {"uri": uri, "entry": "Net"})
    assert any(answer["path"] in shown["message"] for shown in wire.seen("window/showMessage"))
    assert wire.command("graphmend.showReport", {"uri": uri, "entry": "Other"}) is None
    assert any("no profile of Other" in shown["message"] for shown in wire.seen("window/showMessage"))


@pytest.mark.parametrize(
    "argument",
    [None, 1, {}, {"uri": 1, "entry": "Net"}, {"uri": "file:///a.py"}, {"uri": "u", "entry": "Net", "open": 0}],
)
def test_bad_arguments_of_the_page(shown, response_error, argument):
    wire, _, _ = shown
    with pytest.raises(response_error) as error:
        wire.command("graphmend.showReport", argument)
    assert error.value.code == -32602
