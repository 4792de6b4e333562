"""Where findings are for those who look at a whole repository: paths from its top, lines of the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import quote

from graphmend_lsp.cli.work import STDIN, Checked
from graphmend_lsp.text import Span

_WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def repository() -> str:
    """The folder that paths are relative to: the top of the repository around the current folder.

    Without one, what the CI system says, else the current folder.
    """
    here = folder = os.path.realpath(os.getcwd())
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            given = (os.environ.get(name, "") for name in _WORKSPACES)
            return next((os.path.realpath(path) for path in given if _below(here, path)), here)
        folder = parent
    return folder


def _below(path: str, folder: str) -> bool:
    if not folder:
        return False
    top = os.path.realpath(folder)
    return path == top or path.startswith(os.path.join(top, ""))


def relative(path: str, top: str) -> str | None:
    """A path from ``top`` with ``/``; None if it does not lie there.  Links are resolved, as the hosts want it."""
    if path == STDIN:
        return None
    try:
        found = os.path.relpath(os.path.realpath(path), top)
    except ValueError:  # another drive
        return None
    if found == os.pardir or found.startswith(os.pardir + os.sep):
        return None
    return found.replace(os.sep, "/")


def uri(path: str) -> str:
    """A relative path as a URI reference."""
    return quote(os.fsencode(path), safe="/~!$&'()*+,;=@")


def file_uri(path: str, folder: bool = False) -> str:
    """An absolute path as a URI; one of a folder ends with a slash."""
    absolute = os.path.abspath(path).replace(os.sep, "/")
    if not absolute.startswith("/"):
        absolute = "/" + absolute  # a drive
    if folder and not absolute.endswith("/"):
        absolute += "/"
    return "file://" + quote(os.fsencode(absolute), safe="/~!$&'()*+,;=@:")


@dataclass(frozen=True)
class Region:
    """Lines of a file, from 1; columns from 1 in code points, the end exclusive, None where the file has none.

    ``cell`` is the number of a notebook's cell: its lines stand on other lines of the file, its columns nowhere.
    """

    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None
    cell: int | None = None
    cell_line: int = 0


def region(checked: Checked, span: Span, *, own: bool = True) -> Region:
    """The place of a range of what was analysed; ``own`` False for one of another file."""
    cells = checked.cells if own else None
    if cells is None:
        return Region(span.line, span.end_line, span.column + 1, span.end_column + 1)
    number, local = cells.local(span)
    first, last = (checked.lines[min(line, len(checked.lines)) - 1] for line in (span.line, span.end_line))
    return Region(first, max(first, last), cell=cells.cells[number].number, cell_line=local.line)
