"""A small editor: starts a command as a language server, and says what it answers and logs."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TIMEOUT = 120.0
CAPABILITIES: dict[str, Any] = {
    "workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}},
    "textDocument": {
        "publishDiagnostics": {"versionSupport": True, "dataSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}},
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
}


class Editor:
    """One session; what the server asks is answered with nothing."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment)
        self.stray = b""
        self.log = ""
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._next = 0
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline():
            if line == b"\r\n":
                self._messages.put(json.loads(stream.read(length)))
            elif match := re.fullmatch(rb"Content-Length: (\d+)\r\n", line):
                length = int(match[1])
            elif not line.startswith(b"Content-Type: "):
                self.stray += line
        self._messages.put(None)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line.decode()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _next_message(self) -> dict[str, Any]:
        message = self._messages.get(timeout=TIMEOUT)
        assert message is not None, f"the server ended:\n{self.log}"
        if "id" in message and "method" in message:
            self._send({"id": message["id"], "result": None})
        return message

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any = None) -> Any:
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params})
        while True:
            message = self._next_message()
            if message.get("id") == self._next and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            self._kept.append(message)

    def command(self, name: str, *arguments: Any) -> Any:
        return self.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    def begin(self, **options: Any) -> None:
        params = {"processId": None, "rootUri": None, "capabilities": CAPABILITIES, "initializationOptions": options}
        self.request("initialize", params)
        self.notify("initialized", {})

    def open(self, path: Path) -> list[dict[str, Any]]:
        """Open a file; its diagnostics."""
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text()}
        self.notify("textDocument/didOpen", {"textDocument": item})
        while True:
            message = self._kept.pop(0) if self._kept else self._next_message()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == item["uri"]:
                return message["params"]["diagnostics"]

    def fixes(self, path: Path, diagnostic: dict[str, Any]) -> list[dict[str, Any]]:
        """The quick fixes of a diagnostic."""
        params = {
            "textDocument": {"uri": path.as_uri()},
            "range": diagnostic["range"],
            "context": {"diagnostics": [diagnostic], "only": ["quickfix"]},
        }
        return self.request("textDocument/codeAction", params)

    def end(self) -> int:
        """Shut down; the exit status."""
        self.request("shutdown")
        self.notify("exit")
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(TIMEOUT)
        for thread in self._threads:
            thread.join(TIMEOUT)
        return code

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.wait()
