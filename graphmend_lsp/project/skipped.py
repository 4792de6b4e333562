"""Folders that hold no source of a project; apart from ``discover`` because the import hook needs no more of it."""

from __future__ import annotations

import os

SKIPPED = frozenset(
    (
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        ".vscode",
        "__pycache__",
        "__pypackages__",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    )
)


def is_skipped(folder: str) -> bool:
    """Whether a folder is left out by default: known names, eggs, and virtual environments of any name."""
    name = os.path.basename(folder)
    return name in SKIPPED or name.endswith((".egg-info", ".egg")) or os.path.exists(os.path.join(folder, "pyvenv.cfg"))
