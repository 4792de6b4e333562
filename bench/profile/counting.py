"""Count one model's graphs without any code of ours: ``python counting.py SCRIPT CLASS``; prints JSON.

The script runs up to its first call of the class; that call is made under ``torch.compile`` with a backend of five
lines, and Dynamo's log of breaks is read.
"""

from __future__ import annotations

import json
import logging
import os
import re
import runpy
import sys
from typing import Any

import torch
import torch._dynamo.guards

graphs: list[Any] = []
events: list[tuple[str, int]] = []


class Log(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "raph break" in text:
            at = re.search(r"user code at (.+?):(\d+)", text)
            stack = re.findall(r'File "([^"]+)", line (\d+)', text)
            path, line = at.groups() if at else stack[-1]
            own = [row for row in stack if "site-packages/torch/" not in row[0] and "site-packages" in row[0]]
            if "site-packages" not in path and own:  # inside the interpreter's own files
                path, line = own[-1]
            events.append((path, int(line)))


def backend(module: Any, inputs: Any) -> Any:
    graphs.append(module)
    return module.forward


def main() -> None:
    script, name = sys.argv[1:]
    torch._logging.set_logs(graph_breaks=True)
    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    names = [each for each in logging.root.manager.loggerDict if each.endswith("__graph_breaks")]
    for each in names or [logger.name]:
        found = logging.getLogger(each)
        found.handlers[:], found.propagate = [Log(logging.DEBUG)], False
        found.setLevel(logging.DEBUG)
    plain = torch.nn.Module.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self).__name__ != name:
            return plain(self, *args, **kwargs)
        torch.nn.Module.__call__ = plain
        torch.compile(self, backend=backend)(*args, **kwargs)
        sites = sorted(set(events))
        print(json.dumps({"graphs": len(graphs), "events": len(events), "sites": sites}))
        sys.stdout.flush()
        os._exit(0)

    torch.nn.Module.__call__ = call
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
