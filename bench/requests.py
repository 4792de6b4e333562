"""CPU that the server spends on each request, in a file of 4,000 lines with 200 findings.

    python bench/requests.py [--lines N] [--findings N] [--repeat N]

The server is the real one on a pipe; its CPU is read from ``/proc`` (all threads, nanoseconds), so Linux is needed.
The file is open and checked before, so that what is measured is what an editor waits for while its user looks around.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CAPABILITIES: dict[str, Any] = {
    "workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True, "dataSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "hover": {"contentFormat": ["markdown"]},
        "codeLens": {},
        "inlayHint": {},
    },
}


def text(lines: int, findings: int) -> str:
    """Modules with one finding each, padded with code that has none."""
    each = max(lines // findings, 12)
    made = ["import torch", "from torch import nn", "", ""]
    for number in range(findings):
        made += [
            f"class Part{number}(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.lin = nn.Linear(8, 8)",
            "",
            "    def forward(self, x):",
            "        x = self.lin(x)",
            *("        x = x + 1" for _ in range(each - 12)),
            "        if x.abs().max() > 10:",
            "            x = x.clamp(-10, 10)",
            "        return x",
            "",
            "",
        ]
    return "\n".join(made)


class Client:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "graphmend_lsp", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.number = 0

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.process.stdout.read(length))

    def request(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
            if "id" in message:
                self.send({"id": message["id"], "result": None})

    def cpu(self) -> float:
        """Milliseconds of CPU of all threads so far."""
        total = 0
        folder = f"/proc/{self.process.pid}/task"
        for task in os.listdir(folder):
            with open(f"{folder}/{task}/schedstat", encoding="ascii") as stream:
                total += int(stream.read().split()[0])
        return total / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=4000)
    parser.add_argument("--findings", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("-v", action="store_true", help="all times")
    args = parser.parse_args()
    source = text(args.lines, args.findings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.py"
        path.write_text(source)
        client = Client()
        root = Path(folder).as_uri()
        client.request("initialize", {"processId": None, "rootUri": root, "capabilities": CAPABILITIES})
        client.send({"method": "initialized", "params": {}})
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": source}
        before = client.cpu()
        client.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        while (message := client.read()).get("method") != "textDocument/publishDiagnostics":
            continue
        found = message["params"]["diagnostics"]
        spent = client.cpu() - before
        print(f"{len(source.splitlines())} lines, {len(found)} diagnostics; open to diagnostics {spent:.0f} ms")
        time.sleep(2)  # a user reads first; the server collects its garbage
        where = {"textDocument": {"uri": uri}}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": args.lines * 2, "character": 0}}
        one = found[len(found) // 2]["range"]
        context: dict[str, Any] = {"diagnostics": []}
        actions = client.request("textDocument/codeAction", {**where, "range": one, "context": context})
        fix = next(action for action in actions if "data" in action)
        requests: list[tuple[str, str, Any]] = [
            ("hover", "textDocument/hover", {**where, "position": one["start"]}),
            ("code actions of a line", "textDocument/codeAction", {**where, "range": one, "context": context}),
            ("code actions of the file", "textDocument/codeAction", {**where, "range": whole, "context": context}),
            ("resolve a fix", "codeAction/resolve", fix),
            ("code lenses", "textDocument/codeLens", where),
            ("inlay hints", "textDocument/inlayHint", {**where, "range": whole}),
        ]
        worst = 0.0
        for name, method, params in requests:
            times: list[float] = []
            for _ in range(args.repeat):
                start = client.cpu()
                client.request(method, params)
                time.sleep(0.02)  # what is done after the answer counts, too
                times.append(client.cpu() - start)
            if args.v:
                print([round(spent) for spent in times])
            times.sort()
            worst = max(worst, times[-1])
            print(f"{name:26} median {times[len(times) // 2]:7.1f} ms   worst {times[-1]:7.1f} ms")
        print(f"worst of all: {worst:.0f} ms of CPU")
        client.process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
