"""Which torch the user's code runs on, from the installed metadata; nothing is imported or started."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

_RELEASE = re.compile(r"torch-(\d+)\.(\d+)[^-]*\.dist-info$")


def parse_release(text: str) -> tuple[int, int] | None:
    """``(2, 13)`` of "2.13" or "2.13.0+cu130"."""
    match = re.match(r"\s*v?(\d+)\.(\d+)(?![\d])", text)
    return (int(match[1]), int(match[2])) if match else None


def installed_torch(project: str) -> tuple[int, int] | None:
    """The release in the active environment, else in the project's, else in conda's, else in our own."""
    return _installed(project, os.environ.get("VIRTUAL_ENV", ""), os.environ.get("CONDA_PREFIX", ""))


def folder_with_torch(project: str) -> str | None:
    """The ``site-packages`` in which that one stands."""
    return _found(project, os.environ.get("VIRTUAL_ENV", ""), os.environ.get("CONDA_PREFIX", ""))


@lru_cache(maxsize=8192)
def _installed(project: str, virtual_env: str, conda: str) -> tuple[int, int] | None:
    folder = _found(project, virtual_env, conda)
    return None if folder is None else _in(folder)


@lru_cache(maxsize=8192)
def _found(project: str, virtual_env: str, conda: str) -> str | None:
    own = (os.path.join(project, name) for name in (".venv", "venv"))
    return _first(virtual_env) or next(filter(None, map(_with_torch, own)), None) or _first(conda) or _running()


@lru_cache(maxsize=8)
def _first(environment: str) -> str | None:
    """The folder with torch in an environment that many projects share."""
    return _with_torch(environment) if environment else None


@lru_cache(maxsize=1)
def _running() -> str | None:
    folders = (p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages"))
    return next((folder for folder in folders if _in(folder) is not None), None)


def forget() -> None:
    """Another torch may have been installed."""
    _installed.cache_clear()
    _found.cache_clear()
    _first.cache_clear()
    _running.cache_clear()


def _with_torch(environment: str) -> str | None:
    return next((folder for folder in _site_packages(environment) if _in(folder) is not None), None)


def _site_packages(environment: str) -> Iterator[str]:
    """The ``site-packages`` of an environment, POSIX and Windows layouts."""
    yield os.path.join(environment, "Lib", "site-packages")
    lib = os.path.join(environment, "lib")
    try:
        versions = sorted(name for name in os.listdir(lib) if name.startswith("python3"))
    except OSError:
        return
    for name in versions:
        yield os.path.join(lib, name, "site-packages")


def torch_in(environment: str) -> tuple[int, int] | None:
    """The release in one environment, None without torch."""
    return next((release for folder in _site_packages(environment) if (release := _in(folder)) is not None), None)


def _in(folder: str) -> tuple[int, int] | None:
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    found = [(int(m[1]), int(m[2])) for m in map(_RELEASE.match, names) if m]
    return max(found, default=None)


def running_torch() -> str:
    """The release that this very interpreter would import, "2.13.0+cu130"; "" if its metadata is not found."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith("torch-") and name.endswith(".dist-info"):
                return name[len("torch-") : -len(".dist-info")]
    return ""
