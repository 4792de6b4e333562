"""Colours, progress and paths as a person sees them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from typing import Protocol, TextIO

from graphmend_lsp.finding import Problem


class Paint(Protocol):
    """Puts a style on a text, or leaves it as it is."""

    def __call__(self, text: str, *styles: str) -> str: ...


_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}


def plain(text: str, *styles: str) -> str:
    """No colours."""
    return text


def coloured(text: str, *styles: str) -> str:
    """ANSI colours."""
    return f"\x1b[{';'.join(str(_CODES[style]) for style in styles)}m{text}\x1b[0m" if text else text


def paint_for(stream: TextIO) -> Paint:
    """Colours for a terminal, unless ``NO_COLOR`` is set; ``FORCE_COLOR`` wants them anywhere."""
    if os.environ.get("NO_COLOR"):
        return plain
    if os.environ.get("FORCE_COLOR"):
        return coloured
    return coloured if is_terminal(stream) else plain


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that takes escape codes."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and _understands_ansi()


def _understands_ansi() -> bool:
    """Whether the terminal takes escape codes; older Windows consoles have to be asked to."""
    if sys.platform != "win32":
        return True
    import ctypes

    kernel = ctypes.windll.kernel32
    handle, mode = kernel.GetStdHandle(-11), ctypes.c_ulong()
    return bool(kernel.GetConsoleMode(handle, ctypes.byref(mode)) and kernel.SetConsoleMode(handle, mode.value | 4))


def shown(path: str) -> str:
    """A path relative to the current folder if it lies there, else as it is."""
    if not os.path.isabs(path):
        return path
    try:
        relative = os.path.relpath(path)
    except (ValueError, OSError):  # another drive; a current folder that is gone
        return path
    return path if relative == os.pardir or relative.startswith(os.pardir + os.sep) else relative


def place(path: str, cell: int | None, line: int | None, column: int | None = None) -> str:
    """A place in a file: ``nb.ipynb:cell 3:12:5``; a column counts from 0."""
    parts = [shown(path), *([f"cell {cell}"] if cell else []), *([str(line)] if line else [])]
    return ":".join(parts if column is None else [*parts, str(column + 1)])


def complain(problems: tuple[Problem, ...], level: str = "error") -> None:
    """Write problems to standard error."""
    paint = paint_for(sys.stderr)
    for problem in problems:
        where = place(problem.path, problem.cell, problem.line)
        print(
            f"{paint(level, 'bold', 'red' if level == 'error' else 'yellow')}: {where}: {problem.message}",
            file=sys.stderr,
        )


def note(messages: Iterable[str]) -> None:
    """Write to standard error what is about no file."""
    for message in messages:
        print(f"graphmend: {message}", file=sys.stderr)


def counted(number: int, noun: str) -> str:
    """ "1 file", "2 files"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('x') else 's'}"


class Progress:
    """``files done / total`` on standard error, for a terminal and for runs of more than a second."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._on = total > 1 and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + 1.0
        self._visible = False

    def step(self, done: int) -> None:
        """Show that ``done`` files are done, at most ten times a second."""
        if self._on and (now := time.monotonic()) >= self._next:
            self._next = now + 0.1
            self._visible = True
            sys.stderr.write(f"\r{done}/{self._total} files")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, before other output."""
        if self._visible:
            self._visible = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Status:
    """The run at hand on standard error, for a terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, text: str) -> None:
        if self._on:
            sys.stderr.write(f"\r\x1b[K{text[:100]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
