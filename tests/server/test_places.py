"""Commands that are told where the cursor is: which entry they take."""

from __future__ import annotations

import pytest

from graphmend_lsp.check import NoProgram
from graphmend_lsp.parse import parse
from graphmend_lsp.profile import store
from graphmend_lsp.profile.anchors import measured
from graphmend_lsp.profile.report import Arm, Report
from graphmend_lsp.profile.targets import outline
from graphmend_lsp.settings import Settings

TEXT = """\
import torch
from torch import nn

LIMIT = 3


class Net(nn.Module):
    def forward(self, x):
        return x.of_another_type()

    @torch.compile
    def step(self, x):
        return self(x) + 1


def helper(x):
    return x
"""
NET, STEP, HELPER, TOP = 8, 12, 16, 3
"""Lines, counted from 0."""


@pytest.fixture
def opened(start, profiling, cache, tmp_path):
    def open_one(text=TEXT, capabilities=None):
        (tmp_path / "pyproject.toml").write_text("")
        model = tmp_path / "model.py"
        model.write_text(text)
        wire = start()
        options = {"python": "nowhere/python"}
        wire.initialize(capabilities or profiling, rootUri=tmp_path.as_uri(), initializationOptions=options)
        wire.open(model.as_uri(), text)
        wire.diagnostics(model.as_uri(), 1)
        return wire, model.as_uri()

    return open_one


def _at(uri, line):
    return {"uri": uri, "position": {"line": line, "character": 4}}


def _said(wire):
    return wire.seen("window/showMessage")[-1]["message"]


@pytest.mark.parametrize(("line", "entry"), [(NET, "Net"), (STEP, "Net.step"), (STEP - 2, "Net.step")])
def test_the_innermost_entry_is_profiled(opened, line, entry):
    wire, uri = opened()
    assert wire.command("graphmend.profile", _at(uri, line)) is None
    assert _said(wire).startswith(f"GraphMend cannot profile {entry}: ") and "nowhere/python" in _said(wire)


@pytest.mark.parametrize("line", [HELPER, TOP, 400])
def test_a_cursor_in_no_entry(opened, line):
    wire, uri = opened()
    for command, what in (
        ("graphmend.profile", "profile anything here"),
        ("graphmend.showReport", "show a report"),
        ("graphmend.insertInputs", "insert inputs"),
    ):
        assert not wire.command(command, _at(uri, line))
        assert _said(wire).startswith(f"GraphMend cannot {what}: the cursor is in no compiled function")


def test_a_document_that_is_not_open(opened, response_error):
    wire, uri = opened()
    assert wire.command("graphmend.profile", _at(uri + "x", NET)) is None
    assert "the cursor is in no compiled function" in _said(wire)
    with pytest.raises(response_error, match="not open"):
        wire.command("graphmend.insertInputs", _at(uri + "x", NET))


def test_the_report_of_the_entry_that_was_profiled(opened, tmp_path):
    path = str(tmp_path / "model.py")
    report = Report(path, "Net", device="cpu", original=Arm((), 0, ()))
    store.save(measured(report, lambda _: outline(path, parse(TEXT), NoProgram(), Settings())))
    wire, uri = opened()
    request = wire.begin_command("graphmend.showReport", _at(uri, STEP))  # of Net, around step, which has none
    asked = wire.answer("window/showDocument", result={"success": True})
    assert wire.reply(request)["uri"] == asked["uri"]
    assert not wire.seen("window/showMessage")


def test_inputs_are_inserted(opened, client_text):
    wire, uri = opened()
    request = wire.begin_command("graphmend.insertInputs", _at(uri, NET))
    asked = wire.answer("workspace/applyEdit", result={"applied": True})
    assert wire.reply(request) is True
    (change,) = asked["edit"]["documentChanges"]
    made = client_text(TEXT, "utf-16").apply(change["edits"])
    assert made.startswith(TEXT + "\n\ndef example_inputs():\n") and "of one call of Net." in made
    wire.change(uri, 2, {"text": made})
    assert wire.command("graphmend.insertInputs", {"uri": uri, "entry": "Net"}) is False
    assert _said(wire) == "GraphMend inserts no inputs: the file already has a function that makes inputs."


def test_inputs_of_an_entry_that_is_not_there(opened):
    wire, uri = opened()
    assert wire.command("graphmend.insertInputs", {"uri": uri, "entry": "Nothing"}) is False
    assert "no nn.Module Nothing in it" in _said(wire)


def test_inputs_for_an_editor_that_takes_no_edits(opened, profiling):
    plain = {**profiling, "workspace": {**profiling["workspace"], "applyEdit": False}}
    wire, uri = opened(capabilities=plain)
    assert wire.command("graphmend.insertInputs", _at(uri, NET)) is False
    assert "takes no edits" in _said(wire)


@pytest.mark.parametrize("command", ["graphmend.profile", "graphmend.showReport", "graphmend.insertInputs"])
@pytest.mark.parametrize(
    "argument",
    [
        {"position": {"line": 1, "character": 1}},
        {"uri": "", "entry": "Net"},
        {"uri": "file:///a.py", "entry": ""},
        {"uri": "file:///a.py", "entry": "Net", "position": {"line": 1, "character": 1}},
        {"uri": "file:///a.py", "position": 3},
        {"uri": "file:///a.py", "position": {"line": 1}},
        {"uri": "file:///a.py", "position": {"line": -1, "character": 1}},
        {"uri": "file:///a.py", "position": {"line": True, "character": 1}},
        {"uri": "file:///a.py", "position": {"line": 1.5, "character": 1}},
    ],
)
def test_bad_places(shared, response_error, command, argument):
    with pytest.raises(response_error) as error:
        shared.command(command, argument)
    assert error.value.code == -32602


@pytest.fixture(scope="module")
def shared(start, profiling):
    wire = start()
    wire.initialize(profiling)
    return wire
