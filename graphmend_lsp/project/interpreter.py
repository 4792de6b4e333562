"""The user's own Python, in which his code can run; nothing is started here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from graphmend_lsp.project.config import load_for
from graphmend_lsp.project.torch_release import torch_in


def find_interpreter(folder: str, wanted: str | None = None) -> str:
    """The interpreter for the code in a folder.

    ``wanted`` (an option or setting; a path, relative to the folder, or a command) comes first. Then of the active
    environment, the project's ``.venv`` or ``venv`` (upwards from the folder), conda's, our own and ``PATH``'s the
    first one that has torch, else the first one.

    Raises:
        FileNotFoundError: ``wanted`` is not there.
    """
    if wanted:
        path = os.path.join(folder, os.path.expanduser(wanted))
        if os.path.isdir(path):
            path = next((p for p in _in_environment(path) if os.path.isfile(p)), path)
        found = path if os.path.isfile(path) else shutil.which(wanted)
        if found is None:
            raise FileNotFoundError(f"there is no Python interpreter {wanted}")
        return os.path.abspath(found)
    known = [(env, path) for env in _environments(folder) for path in _in_environment(env) if os.path.isfile(path)]
    for env, path in known:
        if torch_in(env) is not None:
            return path
    if torch_in(sys.prefix) is not None or not known:
        return sys.executable
    return known[0][1]


def interpreter_for(path: str, wanted: str | None, folder: str) -> str:
    """The interpreter for a file: ``wanted`` from ``folder``, else what its configuration names, else as found.

    Raises:
        FileNotFoundError: the one that is named is not there.
    """
    if wanted:
        return find_interpreter(folder, wanted)
    config = load_for(path)
    return find_interpreter(config.root if config.python else os.path.dirname(path), config.python)


def _environments(folder: str) -> Iterator[str]:
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        yield active
    here = os.path.abspath(folder)
    while True:
        yield os.path.join(here, ".venv")
        yield os.path.join(here, "venv")
        parent = os.path.dirname(here)
        if parent == here:
            break
        here = parent
    conda = os.environ.get("CONDA_PREFIX")
    if conda:
        yield conda


def _in_environment(environment: str) -> Iterator[str]:
    """Where an environment has its interpreter, on POSIX and Windows."""
    yield os.path.join(environment, "bin", "python")
    yield os.path.join(environment, "Scripts", "python.exe")
    yield os.path.join(environment, "python.exe")
