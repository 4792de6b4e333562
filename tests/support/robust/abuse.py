"""Messages that no honest client sends, from a seed, and what a server must still do after them.

``session`` says what it found wrong; nothing is wrong if every request that can be read was answered once, no error of
our own was reported, and the server then serves an ordinary client, at the cost of no more memory.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

SECRET = "GRAPHMEND-ABUSE"
TEXT = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        print("é🙂", x)
        return x
"""
URIS = (
    "file:///nowhere/graphmend/abuse.py",
    "file:///nowhere/graphmend/other%20%C3%A9.py",
    "untitled:Untitled-1",
)
ODD_URIS = (
    "",
    ":",
    "::",
    "//",
    "file:",
    "file://",
    "file:///",
    "file:///%00.py",
    "file:///a%00b/c.py",
    "file:///%ff%fe.py",
    "file:///%.py",
    "file://host/share/a.py",
    "file://[::1/a.py",
    "http://[",
    "http://[x]:y/a.py",
    "git:/a/b.py?{%22ref%22:%22~%22}",
    "vscode-notebook-cell:/a/b.ipynb#W0sZmlsZQ%3D%3D",
    "vscode-notebook-cell:#",
    "untitled:",
    "untitled:\ud800.py",
    "file:///\ud800\udfff.py",
    "file:///" + "x" * 5000 + ".py",
    "file:///" + "../" * 200 + "etc/passwd.py",
    "file:///C:/x.py",
    "file:///c%3A/x.py",
    "file:///dev/null.py",
    "FILE:///nowhere/graphmend/abuse.py",
    "file:/nowhere/graphmend/abuse.py",
    "file:///nowhere//graphmend/./abuse.py",
    "zipfile:///a.zip::b.py",
    "javascript:alert(1)",
    "data:text/x-python,import%20torch",
    "\u202e\u0000\n\r\t",
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    -0.0,
    2**31 - 1,
    2**31,
    2**63,
    -(2**63),
    10**40,
    float("1e308"),
    "",
    "x",
    "0",
    "\ud800",
    "x" * 10_000,
    [],
    [[]],
    [None],
    {},
    {"": None},
    {"jsonrpc": "2.0"},
    {"jsonrpc": "2.0", "id": 1, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": [], "result": 1},
    {"__class__": "x", "__proto__": {}},
    [{"uri": 3}],
    list(range(200)),
)

_PLACE = {"line": 6, "character": 11}
_RANGE = {"start": {"line": 6, "character": 0}, "end": {"line": 7, "character": 9}}
_DOC = {"uri": URIS[0]}
_VERSIONED = {"uri": URIS[0], "version": 2}
_KEY = {"uri": URIS[0], "version": 1, "code": "GM101", "function": "Net.forward", "span": [7, 11, 7, 22]}
_CELL = "vscode-notebook-cell:/nowhere/n.ipynb#a"

REQUESTS: dict[str, Any] = {
    "textDocument/hover": {"textDocument": _DOC, "position": _PLACE},
    "textDocument/codeAction": {"textDocument": _DOC, "range": _RANGE, "context": {"diagnostics": [], "only": ["x"]}},
    "textDocument/codeLens": {"textDocument": _DOC},
    "textDocument/inlayHint": {"textDocument": _DOC, "range": _RANGE},
    "textDocument/diagnostic": {"textDocument": _DOC, "identifier": "x", "previousResultId": "x"},
    "workspace/diagnostic": {"previousResultIds": [{"uri": URIS[0], "value": "x"}]},
    "codeAction/resolve": {"title": "x", "kind": "quickfix", "data": {"key": _KEY, "kind": "where"}},
    "codeLens/resolve": {"range": _RANGE, "data": {"uri": URIS[0], "entry": "Net"}},
    "inlayHint/resolve": {"position": _PLACE, "label": "x", "data": {}},
    "workspace/executeCommand": {"command": "graphmend.explain", "arguments": [_KEY]},
    "workspace/willRenameFiles": {"files": [{"oldUri": URIS[0], "newUri": URIS[1]}]},
    "textDocument/definition": {"textDocument": _DOC, "position": _PLACE},
    "textDocument/completion": {"textDocument": _DOC, "position": _PLACE},
    "textDocument/semanticTokens/full": {"textDocument": _DOC},
    "workspace/symbol": {"query": ""},
    "initialize": {"processId": None, "rootUri": None, "capabilities": {}},
    "$/unknown": {},
    "no/such/method": [1, 2],
    "": {},
}
NOTIFICATIONS: dict[str, Any] = {
    "textDocument/didOpen": {"textDocument": {**_DOC, "languageId": "python", "version": 1, "text": TEXT}},
    "textDocument/didChange": {"textDocument": _VERSIONED, "contentChanges": [{"range": _RANGE, "text": "x\n"}]},
    "textDocument/didSave": {"textDocument": _DOC, "text": TEXT},
    "textDocument/didClose": {"textDocument": _DOC},
    "textDocument/willSave": {"textDocument": _DOC, "reason": 1},
    "notebookDocument/didOpen": {
        "notebookDocument": {
            "uri": "file:///nowhere/n.ipynb",
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": _CELL}],
        },
        "cellTextDocuments": [{"uri": _CELL, "languageId": "python", "version": 1, "text": TEXT}],
    },
    "notebookDocument/didChange": {
        "notebookDocument": {"uri": "file:///nowhere/n.ipynb", "version": 2},
        "change": {
            "cells": {
                "structure": {"array": {"start": 0, "deleteCount": 1, "cells": [{"kind": 2, "document": _CELL}]}},
                "textContent": [{"document": {"uri": _CELL, "version": 2}, "changes": [{"text": TEXT}]}],
            }
        },
    },
    "notebookDocument/didSave": {"notebookDocument": {"uri": "file:///nowhere/n.ipynb"}},
    "notebookDocument/didClose": {
        "notebookDocument": {"uri": "file:///nowhere/n.ipynb"},
        "cellTextDocuments": [{"uri": _CELL}],
    },
    "workspace/didChangeWorkspaceFolders": {
        "event": {"added": [{"uri": "file:///nowhere/x", "name": "x"}], "removed": [{"uri": "file:///y", "name": "y"}]}
    },
    "workspace/didChangeWatchedFiles": {"changes": [{"uri": URIS[0], "type": 2}]},
    "workspace/didChangeConfiguration": {"settings": {"graphmend": {"torchVersion": "2.9"}}},
    "window/workDoneProgress/cancel": {"token": "x"},
    "$/cancelRequest": {"id": 1},
    "$/setTrace": {"value": "verbose"},
    "$/progress": {"token": 1, "value": {}},
    "$/unknown": None,
    "initialized": {},
    "no/such/notification": {},
}
COMMANDS = (
    "graphmend.explain",
    "graphmend.printDebugInformation",
    "graphmend.verify",
    "graphmend.profile",
    "graphmend.insertExampleInputs",
    "graphmend.showReport",
    "graphmend.suppress",
    "graphmend.noSuchCommand",
    "",
)


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


@dataclass
class Stream:
    """Abusive bytes, one message or more at a time; ``asked`` are the ids that have to be answered.

    ``tame`` leaves out what may initialize a server, and what may swallow the next message.
    """

    choice: random.Random
    tame: bool = False
    asked: list[int | str] = field(default_factory=list)
    _number: int = 0

    def next(self) -> bytes:
        return self.choice.choice(_TAME if self.tame else _KINDS)(self)

    def _requests(self) -> dict[str, Any]:
        return {name: REQUESTS[name] for name in REQUESTS if name != "initialize"} if self.tame else REQUESTS

    def id(self) -> int | str:
        self._number += 1
        number: int | str = self._number + 1_000_000
        if self.choice.random() < 0.3:
            number = f"{SECRET} {number} é"
        self.asked.append(number)
        return number

    def json(self, message: dict[str, Any]) -> bytes:
        return frame(json.dumps({"jsonrpc": "2.0", **message}).encode())

    # -- kinds ----------------------------------------------------------------------------------------

    def sane(self) -> bytes:
        """Something a client may send, of files open or not, versions in any order."""
        choice = self.choice
        uri = choice.choice(URIS)
        if choice.random() < 0.5:
            method = choice.choice([name for name in REQUESTS if name != "initialize"])
            return self.json({"id": self.id(), "method": method, "params": _of(REQUESTS[method], uri)})
        method = choice.choice(list(NOTIFICATIONS))
        params = _of(NOTIFICATIONS[method], uri)
        if method == "textDocument/didChange":
            params["textDocument"]["version"] = choice.randrange(-3, 9)
            params["contentChanges"] = [self._change() for _ in range(choice.randrange(4))]
        return self.json({"method": method, "params": params})

    def _change(self) -> dict[str, Any]:
        choice = self.choice
        if choice.random() < 0.2:
            return {"text": TEXT}
        numbers = [choice.choice((0, 1, 5, 6, 8, 9, 10, 300, 2**31 - 1)) for _ in range(4)]
        start, end = ({"line": a, "character": b} for a, b in (numbers[:2], numbers[2:]))
        return {"range": {"start": start, "end": end}, "text": choice.choice(("", "x", "🙂\r", "\n\n", "(", TEXT[:90]))}

    def mutated(self) -> bytes:
        """A message with one to three odd values, or with fields missing."""
        choice = self.choice
        request = choice.random() < 0.6
        method, params = choice.choice(list((self._requests() if request else NOTIFICATIONS).items()))
        holder = {"params": copy.deepcopy(params)}
        for _ in range(choice.choice((1, 1, 2, 3))):
            _mutate(holder, choice)
        message = {"method": method, **holder}
        return self.json({"id": self.id(), **message} if request else message)

    def odd_uri(self) -> bytes:
        """Every message with URIs of every kind."""
        choice = self.choice
        request = choice.random() < 0.5
        method, params = choice.choice(list((self._requests() if request else NOTIFICATIONS).items()))
        message = {"method": method, "params": _of(params, choice.choice(ODD_URIS))}
        return self.json({"id": self.id(), **message} if request else message)

    def command(self) -> bytes:
        arguments = [self.choice.choice(ODD_VALUES) for _ in range(self.choice.randrange(3))]
        params = {"command": self.choice.choice(COMMANDS), "arguments": arguments}
        return self.json({"id": self.id(), "method": "workspace/executeCommand", "params": params})

    def cancelled(self) -> bytes:
        """Requests, cancelled at once, later or twice; and cancels of nothing."""
        method = self.choice.choice(("textDocument/hover", "textDocument/codeAction", "workspace/diagnostic"))
        number = self.id()
        made = self.json({"id": number, "method": method, "params": REQUESTS[method]})
        for each in (number, self.choice.choice(self.asked), number, 12345, "x"):
            made += self.json({"method": "$/cancelRequest", "params": {"id": each}})
        return made

    def reply(self) -> bytes:
        """Answers to what nobody asked."""
        number = self.choice.choice((self.choice.choice(self.asked or [1]), 7, "x", None, [], 1.5))
        what = self.choice.choice(
            (
                {"result": None},
                {"result": {"x": 1}},
                {"error": {"code": 1, "message": "x"}},
                {"error": 3},
                {"error": {}},
            )
        )
        return self.json({"id": number, **what})

    def odd_id(self) -> bytes:
        """Requests that have no id that could be answered."""
        number = self.choice.choice((None, 1.5, [], {}, True, [1], {"id": 1}))
        method, params = self.choice.choice(list(self._requests().items()))
        return self.json({"id": number, "method": method, "params": params})

    def odd_method(self) -> bytes:
        method = self.choice.choice((None, 3, [], {}, "x" * 5000, "\ud800", "textDocument/hover\0", True))
        return self.json({"method": method, "params": {}})

    def no_message(self) -> bytes:
        """JSON that is no message, and what is not JSON."""
        body = self.choice.choice(
            (
                b"",
                b"{",
                b"[]",
                b"null",
                b"3",
                b'"x"',
                b"{}",
                b'{"jsonrpc": "2.0"}',
                b'{"jsonrpc": "1.0", "method": "exit"}',
                b'{"jsonrpc": 2.0, "method": "initialized"}',
                b'[{"jsonrpc": "2.0", "method": "initialized", "params": {}}]',
                b"\xff\xfe\x00",
                b'{"jsonrpc": "2.0", "method": "\xff\xff"}',
                b'{"jsonrpc": "2.0", "method": "x", "params": NaN}',
                b"[" * 100_000,
                b'{"a":' * 50_000,
                json.dumps({"jsonrpc": "2.0", "method": "initialized", "params": {}}).encode("utf-16"),
                b"\xef\xbb\xbf" + b'{"jsonrpc": "2.0", "method": "initialized", "params": {}}',
                bytes(self.choice.randrange(256) for _ in range(self.choice.randrange(1, 300))),
            )
        )
        return frame(body)

    def odd_header(self) -> bytes:
        """Frames that one can read nevertheless, or get over."""
        hover = json.dumps({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}}).encode()
        size = len(hover)
        return self.choice.choice(
            (
                b"content-length: %d\r\n\r\n" % size + hover,
                b"Content-Length:%d\r\n\r\n" % size + hover,
                b"Content-Length: %d\n\n" % size + hover,
                b"Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: %d\r\n\r\n" % size + hover,
                b"Content-Length: %d\r\nX-Other: 1\r\nContent-Type: text\r\n\r\n" % size + hover,
                b"Content-Length: 0\r\n\r\n",
                b"Content-Length: -5\r\n\r\n" + hover,
                b"Content-Length: many\r\n\r\n" + hover,
                b"Content-Length: \r\n\r\n",
                b"X-Other: 1\r\n\r\n",
                b"\r\n\r\n\r\n",
                b"Content-Length: %d\r\n\r\n" % (size - 7) + hover,
                b"Content-Length: 99999999999999999999\r\n\r\n" + hover,
                b"\x00\xff\x80 nonsense\r\n",
                b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            )
        )


_KINDS: tuple[Callable[[Stream], bytes], ...] = (
    *(Stream.sane,) * 4,
    *(Stream.mutated,) * 6,
    *(Stream.odd_uri,) * 3,
    *(Stream.command,) * 2,
    Stream.cancelled,
    Stream.reply,
    Stream.odd_id,
    Stream.odd_method,
    Stream.no_message,
    Stream.odd_header,
)
_TAME = [kind for kind in _KINDS if kind not in (Stream.no_message, Stream.odd_header)]


def _of(params: Any, uri: str) -> Any:
    """The same of another document."""
    if isinstance(params, dict):
        return {
            name: uri
            if name.lower().endswith("uri") or (name == "document" and isinstance(value, str))
            else _of(value, uri)
            for name, value in params.items()
        }
    return [_of(each, uri) for each in params] if isinstance(params, list) else params


def _mutate(holder: Any, choice: random.Random) -> None:
    """Replace, drop or double something somewhere in a tree."""
    places: list[tuple[Any, Any]] = []
    todo = [holder]
    while todo:
        node = todo.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        places += ((node, key) for key in keys)
        todo += (node[key] for key in keys if isinstance(node[key], (dict, list)))
    if not places:
        return
    node, key = choice.choice(places)
    kind = choice.random()
    if kind < 0.7:
        node[key] = copy.deepcopy(choice.choice(ODD_VALUES))
    elif kind < 0.9 and len(places) > 1:
        del node[key]
    elif isinstance(node, list):
        node.append(copy.deepcopy(node[key]))
    else:
        node[choice.choice(("", "x", "__init__"))] = copy.deepcopy(node[key])


# -- sessions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What came of a session."""

    messages: int
    asked: int
    wrong: tuple[str, ...]
    before: int
    """Memory in bytes, resident, after as many messages to warm up; 0 where it cannot be known."""
    after: int
    slowest: float
    """Seconds that the slowest probe took, four answers each."""


def session(wire: Any, seed: int, count: int, batch: int = 50) -> Outcome:
    """Abuse a connected server with ``count`` messages, and as many before, probing it behind each ``batch``."""
    stream = Stream(random.Random(seed))
    wrong: list[str] = []
    slowest = 0.0
    before = 0
    for number in range(1, 2 * count + 1):
        wire.send_raw(stream.next())
        if number % batch == 0:
            begun = time.monotonic()
            wrong += probe(wire, f"{seed}-{number}")
            slowest = max(slowest, time.monotonic() - begun)
        if number == count:
            _tidy(wire)
            before = resident(wire.process.pid)
    _tidy(wire)
    wrong += unanswered(wire, stream)
    return Outcome(2 * count, len(stream.asked), tuple(wrong), before, resident(wire.process.pid), slowest)


def out_of_turn(wire: Any, seed: int, count: int, code: int) -> tuple[str, ...]:
    """Abuse a server that does nothing just now: before ``initialize``, or after ``shutdown``.

    ``code`` is that of the error that each request gets; what cannot be read may get another one.
    """
    stream = Stream(random.Random(seed), tame=True)
    for _ in range(count):
        wire.send_raw(stream.next())
    wrong: list[str] = []
    for number in stream.asked:
        try:
            wrong.append(f"{number}: {wire.reply(number)}")
        except Exception as error:
            if getattr(error, "code", None) != code:
                wrong.append(f"{number}: {error!r}")
    return tuple(wrong)


def odd_answers(seed: int) -> Callable[[Any], Any]:
    """What a client may answer to what a server asks."""
    choice = random.Random(seed)
    return lambda params: copy.deepcopy(choice.choice(ODD_VALUES))


def _tidy(wire: Any) -> None:
    """Close all, and let the server look for garbage, which it does when nobody wants anything."""
    for uri in (*URIS, *ODD_URIS):
        wire.close(uri)
    wire.notify("notebookDocument/didClose", NOTIFICATIONS["notebookDocument/didClose"])
    wire.command("graphmend.printDebugInformation")
    time.sleep(1.2)


def probe(wire: Any, name: str) -> Iterator[str]:
    """What an ordinary client would miss."""
    uri = f"file:///nowhere/graphmend/probe-{name}.py"
    wire.notify("workspace/didChangeConfiguration", {"settings": {"graphmend": {}}})
    wire.open(uri, TEXT)
    pulls = wire.capabilities is not None and "diagnosticProvider" in wire.capabilities
    found = wire.pull(uri)["items"] if pulls else wire.diagnostics(uri)
    codes = sorted(d["code"] for d in found)
    if codes != ["GM101", "GM201"]:
        yield f"{name}: the diagnostics are {codes}"
    hover = wire.hover(uri, 6, 12)
    if hover is None or "GM101" not in str(hover["contents"]):
        yield f"{name}: the hover is {hover}"
    if wire.text(uri) != TEXT:
        yield f"{name}: the text is another one"
    wire.close(uri)


def unanswered(wire: Any, stream: Stream) -> Iterator[str]:
    """Requests without an answer, or with one that is an error of ours; and what the user was told."""
    for number in stream.asked:
        reply = wire.replies.pop(number, None)
        if reply is None:
            yield f"request {number} was not answered"
        elif reply.get("error", {}).get("code") == -32603:
            yield f"request {number}: {reply['error']}"
    yield from alarms(wire)


def alarms(wire: Any) -> Iterator[str]:
    """Errors of our own that the client was told of."""
    for name in ("window/showMessage", "window/logMessage"):
        for params in wire.seen(name):
            if re.search(r"internal error", params["message"], re.IGNORECASE):
                yield f"{name}: {params['message']}"


def resident(pid: int) -> int:
    """Resident memory of a process in bytes; 0 where it cannot be known."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
