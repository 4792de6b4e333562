"""The server's text is the client's text, whatever separators, encodings and edits."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from graphmend_lsp.server.documents import Document

SEPARATORS = ["\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
PIECES = [
    *SEPARATORS,
    "a",
    "x = 1",
    "\t",
    " ",
    "é",
    "本",
    "\u0301",
    "😀",
    "𝔘𝔫",
    "\ufeff",
    "safe_break",
    '"',
    "\\",
]

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
edits = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), texts), max_size=6)
scripts = st.tuples(texts, st.lists(edits, max_size=4))
ENCODINGS = ["utf-8", "utf-16", "utf-32"]
_numbers = itertools.count()


def between(text: str, offset: int) -> int:
    """The offset, moved out of a line ending: there is no position inside one."""
    return offset + 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def changes(client: Any, script: list[tuple[float, float, str]]) -> list[dict[str, Any]]:
    """Apply a script to the client's text; the change events."""
    events: list[dict[str, Any]] = []
    for first, second, new in script:
        length = len(client.text)
        start, end = sorted(between(client.text, round(f * length)) for f in (first, second))
        events.append(client.replace(start, end, new))
    return events


def as_change(event: dict[str, Any]) -> types.TextDocumentContentChangePartial:
    start, end = (types.Position(**event["range"][name]) for name in ("start", "end"))
    return types.TextDocumentContentChangePartial(types.Range(start, end), event["text"])


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(script=scripts)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_document_follows_edit_scripts(client_text, encoding, script):
    text, batches = script
    client = client_text(text, encoding)
    document = Document(types.TextDocumentItem("file:///x.py", "python", 1, text), encoding)
    for batch in batches:
        for event in changes(client, batch):
            document.apply_change(as_change(event))
        assert document.source == client.text


@pytest.fixture(scope="module", params=ENCODINGS)
def connected(request, start):
    wire = start(True)
    wire.initialize({"general": {"positionEncodings": [request.param]}})
    yield wire, request.param
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0
    assert wire.stray == b""


@given(script=scripts)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_server_follows_edit_scripts(connected, client_text, script):
    wire, encoding = connected
    text, batches = script
    uri = f"file:///tmp/graphmend-test/sync{next(_numbers)}.py"
    client = client_text(text, encoding)
    wire.open(uri, text)
    for version, batch in enumerate(batches, 2):
        wire.change(uri, version, *changes(client, batch))
        assert wire.text(uri) == client.text
    wire.close(uri)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_every_separator(connected, client_text, separator):
    wire, encoding = connected
    uri = f"file:///tmp/graphmend-test/separator{next(_numbers)}.py"
    client = client_text(f"a{separator}😀b{separator}safe_break", encoding)
    wire.open(uri, client.text)
    (found,) = wire.diagnostics(uri)
    start = client.text.index("safe_break")
    assert found["range"] == {"start": client.position(start), "end": client.position(len(client.text))}
    wire.change(uri, 2, client.replace(start, start, "é"))
    wire.change(uri, 3, client.replace(len(client.text), len(client.text), f"{separator}z"))  # at the very end
    assert wire.text(uri) == client.text
    wire.close(uri)


def test_positions_beyond_the_text_are_clamped(connected):
    wire, _ = connected
    uri = "file:///tmp/graphmend-test/clamp.py"

    def range_(*numbers: int) -> dict[str, Any]:
        places = [{"line": line, "character": character} for line, character in zip(*[iter(numbers)] * 2, strict=True)]
        return {"start": places[0], "end": places[1]}

    wire.open(uri, "ab\r\ncd")
    wire.change(uri, 2, {"range": range_(0, 99, 0, 99), "text": "!"})
    assert wire.text(uri) == "ab!\r\ncd"
    wire.change(uri, 3, {"range": range_(1, 99, 1, 99), "text": "!"})
    assert wire.text(uri) == "ab!\r\ncd!"
    wire.change(uri, 4, {"range": range_(7, 0, 9, 9), "text": "\nend"})
    assert wire.text(uri) == "ab!\r\ncd!\nend"
    wire.change(uri, 5, {"range": range_(1, 2, 1, 0), "text": "X"})  # reversed
    assert wire.text(uri) == "ab!\r\nX!\nend"
    wire.change(uri, 6, {"text": "new"}, {"range": range_(0, 3, 0, 3), "text": "er"})
    assert wire.text(uri) == "newer"
    wire.close(uri)


def test_byte_order_mark_is_kept(connected, client_text):
    wire, encoding = connected
    uri = "file:///tmp/graphmend-test/bom.py"
    client = client_text("\ufeffsafe_break\r\nsafe_break", encoding)
    wire.open(uri, client.text)
    first, second = wire.diagnostics(uri)
    assert first["range"] == {"start": client.position(1), "end": client.position(11)}
    assert second["range"]["start"] == client.position(13)
    assert wire.hover(uri, 0, first["range"]["start"]["character"])["range"] == first["range"]
    wire.change(uri, 2, client.replace(1, 1, "x "))
    assert wire.text(uri) == client.text
    wire.close(uri)


def test_one_document_for_all_spellings_of_its_uri(connected):
    wire, _ = connected
    wire.open("file:///tmp/graph%20mend/%C3%A9.py", "one")
    assert wire.text("file:///tmp/graph mend/é.py") == "one"
    wire.close("file:///tmp/graph%20mend/é.py")


def test_a_document_without_a_path(connected):
    wire, _ = connected
    wire.open("untitled:Untitled-1", "safe_break\n")
    assert len(wire.diagnostics("untitled:Untitled-1")) == 1
    wire.close("untitled:Untitled-1")


def test_lone_surrogates_survive(connected):
    wire, _ = connected
    uri = "file:///tmp/graphmend-test/surrogate.py"
    wire.open(uri, "x = '\ud83d'\nsafe_break")
    assert wire.text(uri) == "x = '\ud83d'\nsafe_break"
    assert len(wire.diagnostics(uri)) == 1
    wire.close(uri)
