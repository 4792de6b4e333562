"""How the Python processes that this one starts learn what to mend.

The options stand in an environment variable, and a folder with a ``sitecustomize`` that reads it comes first on
``PYTHONPATH``.  That reaches ``multiprocessing`` (spawn, forkserver; a fork has the hook anyway), ``subprocess`` and
launchers such as torchrun, unless a child gets another environment or runs with ``-E``, ``-I`` or ``-S``.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

from graphmend_lsp.hook.options import VARIABLE, Options, decode, split

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


def announce(options: Options) -> None:
    """Let child processes install the same, beside what they are asked for already."""
    known = announced() if os.environ.get(VARIABLE) else []
    if options not in known:
        os.environ[VARIABLE] = json.dumps([o.encode() for o in (*known, options)])
    paths = _paths()
    if FOLDER not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([FOLDER, *paths])


def announced() -> list[Options]:
    """What the environment asks for.

    Raises:
        ValueError: it cannot be read.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text.startswith("["):
        return [Options(*split(item for part in text.split(",") if (item := part.strip())))] if text else []
    data: Any = json.loads(text)
    return [decode(item) for item in cast("list[object]", data)]


def withdraw() -> None:
    """Take out of the environment what ``announce`` put there."""
    os.environ.pop(VARIABLE, None)
    paths = [path for path in _paths() if path != FOLDER]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)


def _paths() -> list[str]:
    text = os.environ.get("PYTHONPATH", "")
    return text.split(os.pathsep) if text else []
