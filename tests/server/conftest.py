"""A small synchronous client on a real pipe, and a text model that shares no code with the server."""

from __future__ import annotations

import copy
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import converters
from pytest_lsp import client_capabilities

FAKE_CORE = Path(__file__).parent / "fake_core.py"
REPOSITORY = Path(__file__).parents[2]
TIMEOUT = 30.0

EVERYTHING: dict[str, Any] = {
    "workspace": {
        "workspaceEdit": {
            "documentChanges": True,
            "resourceOperations": ["create", "rename", "delete"],
            "changeAnnotationSupport": {"groupsOnLabel": False},
        }
    },
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
        },
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
    },
}


class ResponseError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data = error.get("data")


class Wire:
    """Talks to a server process; messages are plain dictionaries."""

    def __init__(self, command: list[str]) -> None:
        pipe, here = subprocess.PIPE, {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=here)
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.notifications: list[dict[str, Any]] = []
        self.stray = b""
        self.errors = b""
        self.capabilities: Any = None
        self._next_id = 0
        self.replies: dict[int | str, dict[str, Any]] = {}
        self.answers: dict[str, Callable[[Any], Any]] = {}
        """Requests of the server that are answered at once, by method; from the parameters to the result."""
        self._sending = threading.Lock()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._drain)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline():
            if line == b"\r\n":
                message = json.loads(stream.read(length))
                if "id" in message and message.get("method") in self.answers:
                    result = self.answers[message["method"]](message.get("params"))
                    self.send({"id": message["id"], "result": result})
                self._inbox.put(message)
            elif match := re.fullmatch(rb"Content-Length: (\d+)\r\n", line):
                length = int(match[1])
            elif not line.startswith(b"Content-Type: "):
                self.stray += line
        self._inbox.put(None)

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def send(self, message: dict[str, Any]) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_bytes(self, body: bytes) -> None:
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are, which should be frames."""
        assert self.process.stdin is not None
        with self._sending:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method} if params is None else {"method": method, "params": params})

    def request(self, method: str, params: Any = None) -> Any:
        self._next_id += 1
        message: dict[str, Any] = {"id": self._next_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return self.reply(self._next_id)

    def reply(self, number: int | str, timeout: float = TIMEOUT) -> Any:
        """The result of the request with this id; ``timeout`` in seconds, between two messages."""
        while True:
            reply = self.replies.pop(number, None) or self._inbox.get(timeout=timeout)
            assert reply is not None, "the server ended"
            if "method" in reply:
                self.notifications.append(reply)
            elif reply["id"] != number:
                self.replies[reply["id"]] = reply
            else:
                if "error" in reply:
                    raise ResponseError(reply["error"])
                return reply.get("result")

    def wait_for(self, method: str, wanted: Callable[[Any], bool] = lambda params: True) -> Any:
        """Parameters of the first matching notification, which is taken out."""
        while True:
            for number, message in enumerate(self.notifications):
                if message["method"] == method and wanted(message.get("params")):
                    del self.notifications[number]
                    return message.get("params")
            reply = self._inbox.get(timeout=TIMEOUT)
            assert reply is not None, "the server ended"
            if "method" in reply:
                self.notifications.append(reply)
            else:
                self.replies[reply["id"]] = reply

    def seen(self, method: str) -> list[Any]:
        """Parameters of the notifications so far; a request is the barrier."""
        return [message.get("params") for message in self.notifications if message["method"] == method]

    def initialize(self, capabilities: Any = None, **more: Any) -> Any:
        given = {"processId": None, "rootUri": None, "capabilities": capabilities or {}, **more}
        result = self.request("initialize", given)
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int | None = None) -> list[Any]:
        """The next diagnostics published for a document (of a version)."""
        params = self.wait_for(
            "textDocument/publishDiagnostics",
            lambda p: p["uri"] == uri and (version is None or p.get("version") == version),
        )
        return params["diagnostics"]

    def actions(self, uri: str, line: int, character: int, only: list[str] | None = None) -> list[Any]:
        place = {"line": line, "character": character}
        context: dict[str, Any] = {"diagnostics": []}
        if only is not None:
            context["only"] = only
        range_ = {"start": place, "end": place}
        params = {"textDocument": {"uri": uri}, "range": range_, "context": context}
        return self.request("textDocument/codeAction", params) or []

    def begin_command(self, name: str, *arguments: Any) -> int:
        """Send a command; the id of the request."""
        self._next_id += 1
        params = {"command": name, "arguments": list(arguments)}
        self.send({"id": self._next_id, "method": "workspace/executeCommand", "params": params})
        return self._next_id

    def take(self, method: str, timeout: float = TIMEOUT) -> dict[str, Any]:
        """Wait for a request of the server, which is the caller's to answer."""
        waiting = [message for message in self.notifications if message["method"] == method]
        while not waiting:
            message = self._inbox.get(timeout=timeout)
            assert message is not None, "the server ended"
            if message.get("method") == method:
                waiting.append(message)
            self.notifications.append(message)
        self.notifications.remove(waiting[0])
        return waiting[0]

    def answer(self, method: str, timeout: float = TIMEOUT, result: Any = None) -> Any:
        """Wait for a request of the server and answer it (with null); its parameters."""
        message = self.take(method, timeout)
        self.send({"id": message["id"], "result": result})
        return message.get("params")

    def pull(self, uri: str, previous: str | None = None) -> Any:
        """The report for one document."""
        params: dict[str, Any] = {"textDocument": {"uri": uri}}
        if previous is not None:
            params["previousResultId"] = previous
        return self.request("textDocument/diagnostic", params)

    def begin_pull_all(self, previous: dict[str, str] | None = None, **more: Any) -> int:
        """Ask for the reports of all documents; the id of the request."""
        ids = [{"uri": uri, "value": value} for uri, value in (previous or {}).items()]
        self._next_id += 1
        params = {"previousResultIds": ids, **more}
        self.send({"id": self._next_id, "method": "workspace/diagnostic", "params": params})
        return self._next_id

    def pull_all(self, previous: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
        """The reports of all documents, by URI."""
        result = self.reply(self.begin_pull_all(previous, **more))
        return {item["uri"]: item for item in result["items"]}

    def resolve(self, action: Any) -> Any:
        return self.request("codeAction/resolve", action)

    def hover(self, uri: str, line: int, character: int) -> Any:
        params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return self.request("textDocument/hover", params)

    def lenses(self, uri: str) -> list[Any]:
        return self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})

    def hints(self, uri: str, first: int = 0, last: int = 10_000) -> list[Any]:
        """The inlay hints on lines from ``first`` to ``last``."""
        range_ = {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}
        return self.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": range_})

    def command(self, name: str, *arguments: Any) -> Any:
        return self.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    def text(self, uri: str) -> str:
        """The server's own copy of a document."""
        return self.command("graphmend.printDebugInformation", {"uri": uri})

    def end(self) -> int:
        """Close the input and wait for the process; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(TIMEOUT)
        for thread in self._threads:
            thread.join(TIMEOUT)
        return code


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., Wire]]:
    """Starts servers: the real one, one with the fake core, or what a script makes of it."""
    running: list[Wire] = []

    def start_one(fake: bool | Path = False, *options: str) -> Wire:
        command = [str(FAKE_CORE if fake is True else fake)] if fake else ["-m", "graphmend_lsp", "server"]
        wire = Wire([sys.executable, *command, *options])
        running.append(wire)
        return wire

    yield start_one
    for wire in running:
        if wire.process.poll() is None:
            wire.process.kill()
            wire.wait()


_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z|\Z")


class ClientText:
    """A client's text: positions as bytes of encoded lines, unlike the server's arithmetic."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self.codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
        self.width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]

    def position(self, offset: int) -> dict[str, int]:
        before = self.text[:offset]
        rows = re.split(r"\r\n|\n|\r", before)
        return {"line": len(rows) - 1, "character": len(rows[-1].encode(self.codec)) // self.width}

    def offset(self, position: dict[str, int]) -> int:
        starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", self.text))]
        start = starts[position["line"]]
        row = re.split(r"\r\n|\n|\r", self.text[start:])[0].encode(self.codec)
        return start + len(row[: position["character"] * self.width].decode(self.codec))

    def replace(self, start: int, end: int, new: str) -> dict[str, Any]:
        """Replace a part; the change event for it."""
        change = {"range": {"start": self.position(start), "end": self.position(end)}, "text": new}
        self.text = self.text[:start] + new + self.text[end:]
        return change

    def apply(self, edits: list[Any]) -> str:
        """The text with a server's edits, which all refer to the text as it is."""
        placed = sorted(
            ((self.offset(e["range"]["start"]), self.offset(e["range"]["end"]), e["newText"]) for e in edits),
            reverse=True,
        )
        text = self.text
        for start, end, new in placed:
            text = text[:start] + new + text[end:]
        return text


@pytest.fixture(scope="session")
def client_text() -> type[ClientText]:
    return ClientText


@pytest.fixture(scope="session")
def everything() -> dict[str, Any]:
    """Capabilities of a client that can do everything."""
    return EVERYTHING


@pytest.fixture(scope="session")
def profiling() -> dict[str, Any]:
    """Capabilities of a client that shows profiles, too."""
    return {
        "workspace": {
            **EVERYTHING["workspace"],
            "applyEdit": True,
            "codeLens": {"refreshSupport": True},
            "inlayHint": {"refreshSupport": True},
        },
        "textDocument": {**EVERYTHING["textDocument"], "codeLens": {}, "inlayHint": {}},
        "window": {"workDoneProgress": True, "showMessage": {}, "showDocument": {"support": True}},
    }


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache folder of the test's own, for this process and the servers that it starts."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def response_error() -> type[ResponseError]:
    return ResponseError


def _editor(name: str) -> dict[str, Any]:
    return converters.get_converter().unstructure(client_capabilities(name))


@pytest.fixture(scope="session")
def editors() -> dict[str, dict[str, Any]]:
    """The capabilities of three clients: one that pulls and can be told to, one that pulls only, a minimal one.

    VS Code's are what vscode-languageclient declares by itself (``computeClientCapabilities()``), which pytest-lsp has
    of an old release only.
    """
    code = json.loads((Path(__file__).parent / "clients" / "vscode.json").read_text(encoding="utf-8"))
    return {"vscode": code["capabilities"], "neovim": _editor("neovim@0.11"), "minimal": {}}


@pytest.fixture
def editor(start: Callable[..., Wire], editors: dict[str, Any]) -> Callable[..., Wire]:
    """Starts a server for one of the ``editors``, with answers to what it asks such a client.

    ``configuration`` maps the URI of a folder ("" for none) to its section; the test may change it later.
    """

    def connect(
        name: str, fake: bool | Path = True, *, folders: tuple[Path, ...] = (), configuration: Any = None, **more: Any
    ) -> Wire:
        wire = start(fake)
        said = {} if configuration is None else configuration
        wire.answers = {
            "workspace/configuration": lambda params: [said.get(i.get("scopeUri", "")) for i in params["items"]],
            "client/registerCapability": lambda params: None,
            "client/unregisterCapability": lambda params: None,
            "window/workDoneProgress/create": lambda params: None,
            "workspace/diagnostic/refresh": lambda params: None,
            "workspace/codeLens/refresh": lambda params: None,
            "workspace/inlayHint/refresh": lambda params: None,
        }
        if folders:
            more["workspaceFolders"] = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        wire.capabilities = wire.initialize(copy.deepcopy(editors[name]), **more)["capabilities"]
        return wire

    return connect
