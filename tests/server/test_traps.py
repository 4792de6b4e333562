"""What pygls 2 does otherwise than one expects, and the test that holds our answer to it.

==  ============================================================  ==================================================
no  trap                                                          test
==  ============================================================  ==================================================
1   lines are split at form feeds, U+2028 and others              test_sync: test_every_separator,
                                                                  test_document_follows_edit_scripts
2   a place at the very end is put one too early                  test_sync: test_every_separator,
                                                                  test_positions_beyond_the_text_are_clamped
3   positions split the whole document on each call               here: test_a_document_is_split_once
4   a cancelled command is answered and runs on                   test_verify: test_a_cancelled_request_stops_the_work;
                                                                  test_profile: test_cancelled
5   one pool for handlers and the input: full, it is deaf         here: test_many_requests_do_not_make_it_deaf;
                                                                  test_lifecycle: test_the_loop_is_free_during_a_check
6   queued requests run although they were cancelled              here: test_cancelled_requests_do_not_pile_up
7   ``exit`` alone ends with code 0                               test_lifecycle: test_exit_alone_is_1,
                                                                  test_exit_before_initialize_is_1
8   no answer after ``shutdown``, nonsense before ``initialize``  test_lifecycle: test_requests_out_of_order
9   the end of the input waits for threads                        test_lifecycle: test_end_of_input_during_a_check;
                                                                  test_verify: test_processes_end_with_the_server
10  the client's process is not watched                           test_lifeline
11  tokens of progress are kept for ever                          here: test_tokens_of_progress_go
12  keys of URIs are only unquoted                                test_sync:
                                                                  test_one_document_for_all_spellings_of_its_uri
13  every message is formatted for the log                        here: test_messages_are_not_logged
14  what prints corrupts the stream                               test_lifecycle:
                                                                  test_what_prints_does_not_reach_the_client
15  ``shutdown`` changes the table that it walks                  here: test_shutdown_with_much_pending
16  handlers of malformed parameters are silent                   here: test_malformed_parameters_of_every_request
17  an answer that nobody waits for any more is an error          here: test_answers_that_come_too_late
18  a wrong length, or a header in lower case, makes it deaf      test_framing: test_frames
19  parameters that look like a message are taken for one;        test_abuse: test_messages_of_no_honest_client
    fields of more than one type are taken as they come;
    a future of each notification is kept for ever
20  paths that are not UTF-8 have no URI                          test_framing: test_names_that_are_not_utf_8
==  ============================================================  ==================================================
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types
from pygls.progress import Progress as PyglsProgress

from graphmend_lsp.server.documents import Document, Snapshot
from graphmend_lsp.server.progress import Progress
from graphmend_lsp.text import LineIndex

URI = "file:///tmp/graphmend-test/model.py"
HOVER = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 6}}


def test_a_document_is_split_once(monkeypatch):
    made: list[str] = []
    home = sys.modules[Snapshot.__module__]
    monkeypatch.setattr(home, "LineIndex", lambda text: made.append(text) or LineIndex(text))
    snapshot = Document(types.TextDocumentItem(URI, "python", 1, "x = 1\n" * 5000), "utf-16").snapshot
    for line in range(1, 5000):
        snapshot.positions.position(line, 2)
        snapshot.positions.place(types.Position(line, 2))
    assert len(made) == 1


def test_many_requests_do_not_make_it_deaf(start):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "slow safe_break\n")
    for number in range(20):
        wire.send({"id": f"h{number}", "method": "textDocument/hover", "params": HOVER})
    wire.command("graphmend.printDebugInformation")
    assert wire.replies == {}  # it came first: the others wait for the check, which takes a second
    for number in range(20):
        assert wire.reply(f"h{number}") is not None


def test_cancelled_requests_do_not_pile_up(start, response_error):
    wire = start(True)
    wire.initialize()
    for number in range(20):
        wire.open(f"{URI}{number}.py", "slow safe_break\n")
        hover = {**HOVER, "textDocument": {"uri": f"{URI}{number}.py"}}
        wire.send({"id": f"h{number}", "method": "textDocument/hover", "params": hover})
        wire.notify("$/cancelRequest", {"id": f"h{number}"})
        wire.close(f"{URI}{number}.py")
    for number in range(20):
        with pytest.raises(response_error) as caught:
            wire.reply(f"h{number}")
        assert caught.value.code == -32800
    wire.open(URI, "safe_break\n")
    begun = time.monotonic()
    assert wire.hover(URI, 0, 6) is not None
    assert time.monotonic() - begun < 6  # not twenty checks of a second each


@pytest.mark.parametrize("given", [None, "of the client"])
def test_tokens_of_progress_go(given):
    async def answered(*_: object) -> None: ...

    sent: list[Any] = []
    wire: Any = SimpleNamespace(notify=lambda _, params: sent.append(params), send_request_async=answered)
    server: Any = SimpleNamespace(work_done_progress=PyglsProgress(wire), client=SimpleNamespace(progress=True))

    async def work() -> None:
        progress = Progress(server, "work", given, percentage=True)
        await progress.begin()
        progress.report("half", 50)
        progress.report("back", 20)
        assert len(server.work_done_progress.tokens) == 1 and not progress.cancelled
        next(iter(server.work_done_progress.tokens.values())).cancel()
        assert progress.cancelled
        progress.end()
        progress.end()

    asyncio.run(work())
    assert server.work_done_progress.tokens == {}
    assert [params.value.kind for params in sent] == ["begin", "report", "report", "end"]
    assert [params.value.percentage for params in sent[:3]] == [0, 50, 50]  # no step back


def test_messages_are_not_logged():
    code = (
        "import logging, sys; from graphmend_lsp.server import app; app.main([]); "
        "names = ('pygls.protocol.json_rpc', 'pygls.protocol.language_server', 'pygls.server'); "
        "sys.exit(any(logging.getLogger(name).isEnabledFor(logging.ERROR) for name in names))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, check=False).returncode == 0


def test_shutdown_with_much_pending(start, response_error):
    wire = start(True)
    wire.initialize()
    wire.open(URI, "slow safe_break\n")
    for number in range(20):
        wire.send({"id": f"h{number}", "method": "textDocument/hover", "params": HOVER})
    assert wire.request("shutdown") is None
    wire.notify("exit")
    assert wire.wait() == 0


def test_answers_that_come_too_late(editor, tmp_path):
    """What changes while the editor thinks about showing progress ends the sweep that waits for it."""
    path = tmp_path / "model.py"
    path.write_text("import torch\nsafe_break\n")
    said: dict[str, Any] = {}
    wire = editor("neovim", folders=(tmp_path,), configuration=said)
    create = "window/workDoneProgress/create"
    answer = wire.answers.pop(create)
    said[tmp_path.as_uri()] = {"workspaceDiagnostics": "all"}
    wire.notify("workspace/didChangeConfiguration", {"settings": None})
    number = wire.take(create)["id"]
    wire.answers[create] = answer
    change = {"uri": path.as_uri(), "type": 2}
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
    assert len(wire.diagnostics(path.as_uri())) == 1  # of the next sweep
    wire.send({"id": number, "result": None})
    wire.command("graphmend.printDebugInformation")
    assert wire.seen("window/showMessage") == []


REQUESTS = [
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/inlayHint",
    "textDocument/diagnostic",
    "workspace/diagnostic",
    "workspace/executeCommand",
    "codeAction/resolve",
]
NOTIFICATIONS = [
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeConfiguration",
    "window/workDoneProgress/cancel",
    "$/cancelRequest",
    "$/setTrace",
]


def test_malformed_parameters_of_every_request(editor, response_error):
    wire = editor("vscode")
    for params in ({}, {"textDocument": 3}, {"textDocument": {"uri": None}}, [1, 2], "text", {"unknown": {"id": []}}):
        for method in NOTIFICATIONS:
            wire.notify(method, params)
        for method in REQUESTS:
            try:
                wire.request(method, params)  # some of it can be read: null is text for cattrs
            except response_error as error:
                assert error.code == -32602, (method, params)
    wire.send_bytes(b"[]")
    wire.send_bytes(b'"text"')
    wire.send_bytes(b'{"jsonrpc": "2.0", "id": 5}')
    wire.send_bytes(b'{"jsonrpc": "1.0", "id": 6, "method": "shutdown"}')
    wire.send_bytes(b'{"id": "odd", "method": "shutdown"}')
    with pytest.raises(response_error) as caught:
        wire.reply("odd")
    assert caught.value.code == -32600
    wire.open(URI, "safe_break\n")
    assert len(wire.pull(URI)["items"]) == 1
    assert wire.seen("window/showMessage") == []
