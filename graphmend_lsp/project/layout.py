"""Where a file stands: its package, its dotted name, and the folders its imports start from."""

from __future__ import annotations

import os
from functools import lru_cache

INSTALLED = ("site-packages", "dist-packages")
PROJECT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
NOTEBOOK = ".ipynb"
NOT_RUN = "a notebook is not run: move the code into a .py file and name that"
"""Why nothing of a notebook is verified or profiled: loading it would run all its cells."""


def is_notebook(path: str) -> bool:
    return path.endswith(NOTEBOOK)


def package_chain(path: str) -> tuple[str, ...]:
    """The package directories around a file, innermost first; empty for a file outside any package.

    A notebook is outside of all: what it imports starts from its own folder.
    """
    return () if is_notebook(path) else _package_chain(os.path.dirname(os.path.abspath(path)))


def _package_chain(folder: str) -> tuple[str, ...]:
    chain: list[str] = []
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        chain.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return tuple(chain)


def import_root(path: str) -> str:
    """The directory above a file's top package, or the file's own directory for a script."""
    chain = package_chain(path)
    return os.path.dirname(chain[-1] if chain else os.path.abspath(path))


def module_name(path: str) -> tuple[str, bool]:
    """``(absolute dotted name, is it a package's __init__)`` of a file.

    Folders without ``__init__.py`` count as packages (namespace packages) below the root of a project or its ``src``.
    """
    stem = os.path.splitext(os.path.basename(path))[0]
    parts = [os.path.basename(folder) for folder in reversed(package_chain(path))]
    is_package = stem == "__init__" and bool(parts)
    above = _namespaces(import_root(path))
    return ".".join([*above, *parts] if is_package else [*above, *parts, stem]), is_package


@lru_cache(maxsize=4096)
def _namespaces(folder: str) -> tuple[str, ...]:
    """The folders from a project's root, or its ``src``, down to the one in which a package or script stands."""
    root = project_root(folder)
    if root is None or root == folder:
        return ()
    parts = os.path.relpath(folder, root).split(os.sep)
    if parts[0] == "src":
        parts = parts[1:]
    return tuple(parts) if all(part.isidentifier() for part in parts) else ()


def forget() -> None:
    """Folders may have changed: look at them again."""
    _namespaces.cache_clear()
    project_root.cache_clear()


@lru_cache(maxsize=4096)
def project_root(folder: str) -> str | None:
    """The nearest directory at or above ``folder`` that looks like a project's root."""
    while True:
        if any(os.path.exists(os.path.join(folder, marker)) for marker in PROJECT_MARKERS):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def search_roots(path: str) -> tuple[str, ...]:
    """The folders in which modules imported by a file may stand, the file's own first."""
    own = import_root(path)
    roots = [own]
    project = project_root(own)
    if project is not None:
        roots += [project, os.path.join(project, "src")]
    return tuple(dict.fromkeys(roots))


def project_extent(path: str) -> tuple[str, bool]:
    """The folder that holds a file's project, and whether only packages right in it belong to it.

    Of an installed package that is the package; without any marker of a project it is what an import
    finds beside the file.
    """
    chain = package_chain(path)
    root = import_root(path)
    if os.path.basename(root) in INSTALLED and chain:
        return chain[-1], False
    project = project_root(root)
    return (root, True) if project is None else (project, False)
