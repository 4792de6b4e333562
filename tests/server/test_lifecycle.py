"""Start and end, exit codes, messages out of order, streams, and errors of our own."""

from __future__ import annotations

import time

import pytest

URI = "file:///tmp/graphmend-test/model.py"
HOVER = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}


def test_exit_after_shutdown_is_0(start):
    wire = start(False, "--stdio", "--clientProcessId=1")
    capabilities = wire.initialize()["capabilities"]
    assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": False}}
    assert capabilities["codeActionProvider"]["resolveProvider"]
    assert set(capabilities["executeCommandProvider"]["commands"]) >= {"graphmend.explain"}
    assert wire.request("shutdown") is None
    wire.notify("exit")
    assert wire.wait() == 0
    assert wire.stray == b""


def test_exit_alone_is_1(start):
    wire = start()
    wire.initialize()
    wire.notify("exit")
    assert wire.wait() == 1


def test_exit_before_initialize_is_1(start):
    wire = start()
    wire.notify("exit")
    assert wire.wait() == 1


def test_end_of_input_ends_the_server(start):
    wire = start()
    wire.initialize()
    assert wire.end() == 1


def test_end_of_input_after_shutdown_is_0(start):
    wire = start()
    wire.initialize()
    wire.request("shutdown")
    assert wire.end() == 0


def test_end_of_input_during_a_check(start):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "slow\n")
    wire.request("workspace/executeCommand", {"command": "graphmend.printDebugInformation"})
    begun = time.monotonic()
    wire.end()
    assert time.monotonic() - begun < 10


def test_unknown_option(start):
    wire = start(False, "--tcp")
    assert wire.wait() == 2
    assert b"--tcp" in wire.errors


def test_requests_out_of_order(start, response_error):
    wire = start()
    with pytest.raises(response_error) as caught:
        wire.request("textDocument/hover", HOVER)
    assert caught.value.code == -32002
    wire.open(URI, "too early\n")  # dropped
    wire.initialize()
    with pytest.raises(response_error) as caught:
        wire.initialize()
    assert caught.value.code == -32600
    with pytest.raises(response_error) as caught:
        wire.text(URI)
    assert caught.value.code == -32602
    wire.request("shutdown")
    for method, params in (("textDocument/hover", HOVER), ("shutdown", None)):
        with pytest.raises(response_error) as caught:
            wire.request(method, params)
        assert caught.value.code == -32600
    wire.notify("exit")
    assert wire.wait() == 0


def test_malformed_messages_are_answered_and_survived(start, response_error):
    wire = start()
    wire.initialize()
    with pytest.raises(response_error) as caught:
        wire.request("textDocument/hover", {"position": 7})
    assert caught.value.code == -32602
    with pytest.raises(response_error) as caught:
        wire.request("no/suchMethod", {})
    assert caught.value.code == -32601
    wire.send_bytes(b"{ not json")
    wire.send_bytes(b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}')
    wire.send_bytes(b'{"jsonrpc": "2.0", "id": 99, "result": null}')
    wire.change("file:///tmp/never-opened.py", 3, {"text": "x"})
    wire.close("file:///tmp/never-opened.py")
    wire.notify("$/setTrace", {"value": "verbose"})
    wire.notify("$/cancelRequest", {"id": 12345})
    wire.notify("workspace/didChangeConfiguration", {"settings": None})
    assert "Position encoding: utf-16" in wire.command("graphmend.printDebugInformation")


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-16", "utf-8"], "utf-16"),
        (["utf-7", "utf-32", "utf-8"], "utf-32"),
        (["utf-7"], "utf-16"),
    ],
)
def test_position_encoding(start, offered, chosen):
    wire = start()
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    assert wire.initialize(general)["capabilities"]["positionEncoding"] == chosen
    wire.end()


def test_command_arguments_are_validated(start, response_error):
    wire = start()
    wire.initialize()
    wire.open(URI, "x = 1\n")
    key = {"uri": URI, "version": 1, "code": "GM201", "function": "f", "span": [1, 0, 1, 1]}
    bad = [
        ("graphmend.explain", []),
        ("graphmend.explain", [1]),
        ("graphmend.explain", [key, key]),
        ("graphmend.explain", [{**key, "span": [1, 0, 1]}]),
        ("graphmend.explain", [{**key, "span": [1, 0, 1, "x"]}]),
        ("graphmend.explain", [{**key, "version": "1"}]),
        ("graphmend.explain", [{**key, "uri": "file:///elsewhere.py"}]),
        ("graphmend.printDebugInformation", ["x"]),
        ("graphmend.printDebugInformation", [{"uri": "file:///elsewhere.py"}]),
        ("graphmend.noSuchCommand", []),
    ]
    for name, arguments in bad:
        with pytest.raises(response_error) as caught:
            wire.command(name, *arguments)
        assert caught.value.code == -32602, (name, arguments)
    with pytest.raises(response_error) as caught:
        wire.command("graphmend.explain", key)  # well formed, but there is no such finding
    assert caught.value.code == -32801
    report = wire.command("graphmend.printDebugInformation")
    assert all(word in report for word in ("graphmend-lsp", "Python 3", URI, "lazy_edits"))


def test_what_prints_does_not_reach_the_client(start):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "noise\nsafe_break\n")
    assert len(wire.diagnostics(URI)) == 1
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0
    assert wire.stray == b""
    assert b"noise on sys.stdout" in wire.errors
    assert b"noise on descriptor 1" in wire.errors
    assert b"noise of a child" in wire.errors


def test_an_internal_error_is_reported_once_and_survived(start):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "boom\n")
    shown = wire.wait_for("window/showMessage")
    assert shown["type"] == 1 and "the core is broken" in shown["message"]
    for version in range(2, 5):
        wire.change(URI, version, {"text": f"boom {version}\n"})
        assert wire.hover(URI, 0, 0) is None
        assert wire.actions(URI, 0, 0) == []
    logged = [m for m in wire.seen("window/logMessage") if "the core is broken" in m["message"]]
    assert len(logged) == 1 and "Traceback" not in shown["message"]
    assert wire.seen("window/showMessage") == []
    wire.change(URI, 9, {"text": "safe_break\n"})
    assert len(wire.diagnostics(URI)) == 1


def test_an_error_in_one_rule_is_reported_once(start, tmp_path):
    wire = start(True)
    wire.initialize()
    for name in ("a.py", "b.py"):  # in two files, too
        uri = (tmp_path / name).as_uri()
        for version in (1, 2):
            wire.open(uri, "mistake safe_break\n", version)
            assert len(wire.diagnostics(uri)) == 1
    logged = [m["message"] for m in wire.seen("window/logMessage")]
    assert len(logged) == 1 and "rule GM999 broken" in logged[0] and "Traceback of the mistake" in logged[0]
    assert len(wire.seen("window/showMessage")) == 1


def test_the_loop_is_free_during_a_check(start):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "slow\n")
    begun = time.monotonic()
    wire.command("graphmend.printDebugInformation")
    assert time.monotonic() - begun < 0.8


def test_a_cancelled_request_is_answered(start, response_error):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "slow safe_break\n")
    wire.send({"method": "$/cancelRequest", "params": {"id": 1000}})  # nothing to cancel
    wire.send({"id": "hover", "method": "textDocument/hover", "params": HOVER})
    wire.send({"method": "$/cancelRequest", "params": {"id": "hover"}})
    begun = time.monotonic()
    with pytest.raises(response_error) as caught:
        wire.reply("hover")
    assert caught.value.code == -32800 and time.monotonic() - begun < 0.8
    assert len(wire.diagnostics(URI)) == 1


def test_settings_of_the_editor(start):
    wire = start(True)
    wire.initialize(initializationOptions={"settings": {"ignore": ["GM201"], "torchVersion": "2.9", "colour": 1}})
    assert "colour" in wire.wait_for("window/logMessage")["message"]
    wire.open(URI, "safe_break\n")
    assert wire.diagnostics(URI) == []
    report = wire.command("graphmend.printDebugInformation")
    assert "torch_version = (2, 9)" in report


@pytest.mark.parametrize("options", [[1], "text", 3, {"settings": 4}, {"select": 3}, {"severity": {"GM201": "loud"}}])
def test_bad_settings_are_reported_not_fatal(start, options):
    wire = start(True)
    wire.initialize(initializationOptions=options)
    assert wire.wait_for("window/logMessage")["type"] == 2
    wire.open(URI, "safe_break\n")
    assert len(wire.diagnostics(URI)) == 1
    wire.end()
