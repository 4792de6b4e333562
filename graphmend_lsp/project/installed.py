"""Whether a package is installed where the user's code runs, by its files: nothing is imported."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache

from graphmend_lsp.project import plain
from graphmend_lsp.project.torch_release import folder_with_torch


def is_missing(package: str, project: str) -> bool:
    """Whether an ``import`` of a top-level package certainly fails there.

    Only where an environment with torch is found is anything certain: that is where the code runs.
    """
    if package in sys.stdlib_module_names:
        return False
    folder = folder_with_torch(project)
    if folder is None:
        return False
    names = _modules(folder)
    return names is not None and package.lower() not in names


@lru_cache(maxsize=16)
def _modules(folder: str) -> frozenset[str] | None:
    """The top-level modules of a ``site-packages``, in lower case; None where more may be found at run time."""
    found = _listed(folder)
    names = {_module(name) for name in found}
    for name in found:
        if name.endswith(".pth"):
            added = _added(os.path.join(folder, name))
            if added is None:
                return None
            names.update(_module(each) for path in added for each in _listed(path))
    return frozenset(names)


def forget() -> None:
    """Something may have been installed or removed."""
    _modules.cache_clear()


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _module(name: str) -> str:
    """Of a file or folder: ``numpy``, ``six.py``, ``_cffi.cpython-311-x86_64-linux-gnu.so``."""
    return re.split(r"[.-]", name, maxsplit=1)[0].lower()


def _added(path: str) -> list[str] | None:
    """The folders that a ``.pth`` file adds; None where it installs a finder."""
    try:
        text = plain.read(path, plain.MOST_BYTES)[1].decode("utf-8", "replace")
    except OSError:
        return None
    lines = [line.strip() for line in text.splitlines()]
    if any(line.startswith("import ") and "__editable__" in line for line in lines):
        return None
    folders = [line for line in lines if line and not line.startswith(("#", "import ", "import\t"))]
    return [os.path.join(os.path.dirname(path), line) for line in folders]
