"""Code lens: where it stands, what it says, and that it never moves while typing."""

from __future__ import annotations

import pytest

from graphmend_lsp.profile import store
from graphmend_lsp.profile.anchors import Measured
from graphmend_lsp.profile.report import Arm, Report

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + 1


@torch.compile
def étape(x):
    return x
"""


@pytest.fixture
def opened(start, profiling, cache, tmp_path):
    def open_one(text=MODEL, capabilities=None, table="", name="model.py", **options):
        (tmp_path / "pyproject.toml").write_text(table)
        wire = start()
        wire.result = wire.initialize(
            capabilities or profiling, rootUri=tmp_path.as_uri(), initializationOptions=options
        )
        uri = (tmp_path / name).as_uri()
        wire.open(uri, text)
        return wire, uri

    return open_one


def _shown(wire, uri):
    return [
        (lens["command"]["title"], lens["range"]["start"]["line"], lens["command"]["arguments"][0]["entry"])
        for lens in wire.lenses(uri) or ()
    ]


def test_one_above_each_target(opened):
    wire, uri = opened()
    net, function = wire.lenses(uri)
    assert net["command"] == {
        "title": "Profile on GPU",
        "command": "graphmend.profile",
        "arguments": [{"uri": uri, "entry": "Net"}],
    }
    assert net["range"] == {"start": {"line": 4, "character": 6}, "end": {"line": 4, "character": 9}}
    assert function["range"] == {"start": {"line": 10, "character": 4}, "end": {"line": 10, "character": 9}}
    assert wire.result["capabilities"]["codeLensProvider"] == {"resolveProvider": False}


def test_it_stays_while_typing(opened):
    wire, uri = opened()
    wanted = [("Profile on GPU", 4, "Net"), ("Profile on GPU", 10, "étape")]
    assert _shown(wire, uri) == wanted
    place = {"line": 6, "character": 18}
    for version, key in enumerate((" ", "+", " ", "f", "(", "x"), 2):
        wire.change(uri, version, {"range": {"start": place, "end": place}, "text": key})
        place = {"line": 6, "character": place["character"] + 1}
        assert _shown(wire, uri) == wanted
    above = {"line": 0, "character": 0}
    wire.change(uri, 20, {"range": {"start": above, "end": above}, "text": "import os\n"})
    assert [line for _, line, _ in _shown(wire, uri)] == [5, 11]


def test_configured_entries(opened):
    wire, uri = opened("def one(x): return x\ndef two(x): return x\n", table='[tool.graphmend]\nentries = ["one"]\n')
    assert _shown(wire, uri) == [("Profile on GPU", 0, "one")]


@pytest.mark.parametrize(
    ("name", "table", "text"),
    [
        ("model.py", '[tool.graphmend]\nexclude = ["model.py"]\n', MODEL),
        ("model.pyi", "", MODEL),
        ("plain.py", "", "def f(x):\n    return x\n"),
    ],
)
def test_none_where_there_is_nothing_to_profile(opened, name, table, text):
    wire, uri = opened(text, name=name, table=table)
    assert not wire.lenses(uri)


def test_none_for_a_text_without_a_file(start, profiling, cache):
    wire = start()
    wire.initialize(profiling)
    wire.open("untitled:Untitled-1", MODEL)
    assert not wire.lenses("untitled:Untitled-1")


def test_none_for_a_client_without_them(opened, everything, response_error):
    wire, uri = opened(capabilities=everything)
    assert "codeLensProvider" not in wire.result["capabilities"]
    assert "inlayHintProvider" not in wire.result["capabilities"]
    for ask in (wire.lenses, wire.hints):
        with pytest.raises(response_error):
            ask(uri)


@pytest.mark.parametrize(
    ("device", "asked", "title"),
    [("cpu", "", "Profile on CPU"), ("cpu", "cpu", "Profile on GPU"), ("cuda", "", "Profile on GPU")],
)
def test_the_device_of_the_last_run(opened, device, asked, title):
    report = Report("/elsewhere/other.py", "f", device=device, original=Arm((), 0, ()))
    store.save(Measured(report, asked=asked))
    wire, uri = opened()
    assert {lens[0] for lens in _shown(wire, uri)} == {title}


def test_commands_come_later_for_a_client_that_asks_for_them(opened, profiling, response_error):
    lazy = {"codeLens": {"resolveSupport": {"properties": ["command"]}}}
    wire, uri = opened(capabilities={**profiling, "textDocument": {**profiling["textDocument"], **lazy}})
    assert wire.result["capabilities"]["codeLensProvider"] == {"resolveProvider": True}
    net, _ = wire.lenses(uri)
    assert "command" not in net
    made = wire.request("codeLens/resolve", net)["command"]
    assert (made["title"], made["arguments"]) == ("Profile on GPU", [{"uri": uri, "entry": "Net"}])
    with pytest.raises(response_error):
        wire.request("codeLens/resolve", {**net, "data": 3})
