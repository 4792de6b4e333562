"""A small language client on a real pipe, and the CPU and memory of the server behind it (from ``/proc``: Linux)."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

_CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"configuration": True, "workspaceFolders": True, "diagnostics": {"refreshSupport": True}},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True, "dataSupport": True},
        "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": False},
    },
}
_QUIET = 0.15
"""Seconds without CPU after which a server is taken to have finished."""
_STEP = 0.02


class Client:
    """One server with one open file."""

    def __init__(self, command: list[str], root: Path) -> None:
        self._spent: dict[int, int] = {}
        """Nanoseconds of each process, those that have ended included."""
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root
        )
        self._inbox: queue.Queue[dict[str, Any]] = queue.Queue()
        self._id = 0
        self._sending = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        answer = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root.as_uri(),
                "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
                "capabilities": _CAPABILITIES,
            },
        )
        capabilities = (answer or {}).get("capabilities", {})
        self.pulls = bool(capabilities.get("diagnosticProvider"))
        sync = capabilities.get("textDocumentSync", 1)
        self.whole = (sync.get("change", 1) if isinstance(sync, dict) else sync) != 2
        self.notify("initialized", {})
        self.uri = ""
        self.version = 0

    # -- messages ------------------------------------------------------------------------------------

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        with self._sending:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not line:
                return
            message = json.loads(stream.read(length))
            if "method" in message and "id" in message:
                asked = message["method"] == "workspace/configuration"
                result = [None] * len(message["params"]["items"]) if asked else None
                self._send({"id": message["id"], "result": result})
            else:
                self._inbox.put(message)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any, seconds: float = 120.0) -> Any:
        """The result of a request; None where it failed."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        message = self._wait(lambda m: m.get("id") == self._id, seconds)
        return None if message is None else message.get("result")

    def _wait(self, wanted: Any, seconds: float) -> dict[str, Any] | None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                message = self._inbox.get(timeout=left)
            except queue.Empty:
                return None
            if wanted(message):
                return message
        return None

    # -- the document --------------------------------------------------------------------------------

    def open(self, path: Path, text: str) -> None:
        self.uri, self.version = path.as_uri(), 1
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, line: int, column: int, end_line: int, end_column: int, new: str, text: str) -> None:
        """Replace a range (0-based, ASCII); ``text`` is what comes of it."""
        self.version += 1
        span = {"start": {"line": line, "character": column}, "end": {"line": end_line, "character": end_column}}
        change = {"text": text} if self.whole else {"range": span, "text": new}
        document = {"uri": self.uri, "version": self.version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def diagnostics(self, seconds: float = 60.0) -> bool:
        """Wait for the diagnostics of the text as it is; False if none came."""
        if self.pulls:
            return self.request("textDocument/diagnostic", {"textDocument": {"uri": self.uri}}, seconds) is not None

        def ours(message: dict[str, Any]) -> bool:
            params = message.get("params", {})
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and params.get("uri") == self.uri
                and params.get("version") in (None, self.version)
            )

        return self._wait(ours, seconds) is not None

    def end(self) -> None:
        try:
            self.request("shutdown", None, 10)
            self.notify("exit", None)
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()

    # -- what it costs -------------------------------------------------------------------------------

    def _processes(self) -> list[int]:
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    todo += map(int, task.read_text().split())
                except OSError:
                    pass
        return found

    def cpu(self) -> float:
        """CPU seconds of the server, its threads and children so far."""
        for pid in self._processes():
            threads = 0
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    threads += int(task.read_text().split()[0])
                except (OSError, ValueError):
                    pass
            try:
                row = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                whole = (int(row[11]) + int(row[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
            except (OSError, ValueError, IndexError):
                whole = 0
            # exact for threads that live, in hundredths of a second for those that have ended
            self._spent[pid] = max(self._spent.get(pid, 0), threads, whole)
        return sum(self._spent.values()) / 1e9

    def settled(self, seconds: float = 60.0) -> float:
        """CPU so far, once the server has nothing more to do."""
        end = time.monotonic() + seconds
        known, since = self.cpu(), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < _QUIET:
            time.sleep(_STEP)
            now = self.cpu()
            if now - known > 0.001:
                since = time.monotonic()
            known = max(known, now)
        return known

    def memory(self) -> float:
        """Resident MiB of the server and its children."""
        total = 0
        for pid in self._processes():
            try:
                rows = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(row.split()[1]) for row in rows if row.startswith("VmRSS"))
        return total / 1024
