"""Hover on findings and on codes in suppression comments."""

from __future__ import annotations

import copy

import pytest

URI = "file:///tmp/graphmend-test/hover.py"
TEXT = (
    "def f():\n    é = unsafe_break\n    x = 1  # graphmend: ignore[GM101, GM201]\n"
    "    y = 2  # noqa: GM201\n    z = 'GM201'\n"
)


@pytest.fixture(scope="module")
def wire(start, everything):
    wire = start(True)
    wire.initialize(everything)
    wire.open(URI, TEXT)
    return wire


def test_the_story_of_a_finding(wire):
    hover = wire.hover(URI, 1, 12)
    told = hover["contents"]["value"]
    assert hover["contents"]["kind"] == "markdown"
    assert hover["range"] == {"start": {"line": 1, "character": 8}, "end": {"line": 1, "character": 20}}
    parts = [
        "**GM201 print-in-graph**",
        "unsafe break",
        "compiled here (line 1)",
        "Trap it (changes behaviour: another",
        "where: both names mean one tensor (alias)",
        "gb0059.html",
        "## What it does",
    ]
    places = [told.find(part) for part in parts]
    assert -1 not in places and places == sorted(places)
    assert told.count("GM201 print-in-graph") == 1


@pytest.mark.parametrize(("line", "character"), [(2, 39), (3, 21)])
def test_the_page_of_a_suppressed_rule(wire, line, character):
    hover = wire.hover(URI, line, character)
    assert hover["contents"]["value"].startswith("# GM201 print-in-graph\n")
    start, end = (hover["range"][name]["character"] for name in ("start", "end"))
    assert TEXT.split("\n")[line][start:end] == "GM201"


@pytest.mark.parametrize(("line", "character"), [(0, 2), (2, 4), (2, 20), (4, 10), (99, 0)])
def test_nothing_elsewhere(wire, line, character):
    assert wire.hover(URI, line, character) is None


def test_plain_text_for_a_plain_client(start, everything):
    capabilities = copy.deepcopy(everything)
    capabilities["textDocument"]["hover"]["contentFormat"] = ["plaintext"]
    wire = start(True)
    wire.initialize(capabilities)
    wire.open(URI, TEXT)
    contents = wire.hover(URI, 1, 12)["contents"]
    assert contents["kind"] == "plaintext"
    assert "**" not in contents["value"] and "\n# " not in contents["value"]
