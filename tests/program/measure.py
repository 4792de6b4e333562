"""Compile the calls of one tree and print where TorchDynamo breaks, as ``[[file, line], ...]``.

    python measure.py FOLDER

``main.py`` of the folder lists ``CALLS``: pairs of what is compiled and its arguments.
"""

import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import torch._logging

_PLACE = re.compile(r'(?:File "|user code at )([^"\n]+?)"?(?:, line |:)(\d+)')


class _Sites(logging.Handler):
    def __init__(self, root: Path) -> None:
        super().__init__(logging.DEBUG)
        self.root = os.path.realpath(root) + os.sep
        self.found: set[tuple[str, int]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "raph break" not in text:
            return
        places = [(os.path.realpath(file), int(line)) for file, line in _PLACE.findall(text)]
        own = [(file, line) for file, line in places if file.startswith(self.root)]
        if own:
            file, line = own[-1]
            self.found.add((file[len(self.root) :].replace(os.sep, "/"), line))


def main(folder: str) -> None:
    sites = _Sites(Path(folder))
    torch._logging.set_logs(graph_breaks=True)
    for name in [n for n in logging.root.manager.loggerDict if n.endswith("__graph_breaks")]:
        logging.getLogger(name).handlers[:] = [sites]
        logging.getLogger(name).propagate = False
    sys.path.insert(0, folder)
    import main as tree  # type: ignore[import-not-found]

    for target, arguments in tree.CALLS:
        torch._dynamo.reset()
        compiled: Any = torch.compile(target, backend="eager")
        try:
            compiled(*arguments)
        except (ValueError, AssertionError):
            pass
    print("\n" + json.dumps(sorted(sites.found)))


if __name__ == "__main__":
    main(sys.argv[1])
