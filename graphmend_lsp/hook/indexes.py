"""The indexes of projects, by which callers in other files are found; they do without the analysis."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from graphmend_lsp.project import layout
from graphmend_lsp.project.index import Index

_INDEXES: dict[tuple[str, bool], Index] = {}


def index(path: str) -> Index:
    """The index of the project that a file belongs to, shared by all files of this process."""
    extent = layout.project_extent(path)
    if extent not in _INDEXES:
        made = _INDEXES[extent] = Index(*extent)
        made.hold()
    return _INDEXES[extent]


def prepare() -> None:
    """Bring the indexes that were asked for up to date."""
    for each in _INDEXES.values():
        each.prepare()


def forget() -> None:
    """Files may have changed: the indexes look at the disk at the next question."""
    for each in _INDEXES.values():
        each.refresh()


def callers(path: str, functions: tuple[str, ...], named: tuple[str, ...]) -> tuple[Any, ...]:
    """The present answer to ``ProgramView.callers``, as plain data."""
    return tuple(map(astuple, index(path).callers(path, functions, named, {})))
