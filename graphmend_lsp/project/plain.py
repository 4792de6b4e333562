"""Reading files that may be anything by the time they are opened: only plain ones are read."""

from __future__ import annotations

import os
import stat

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Not blocking: to open a pipe that nobody writes to would take for ever."""


MOST_BYTES = 20_000_000
"""Of a source: its tree takes a hundred times as much memory, and nobody has written more by hand."""
MOST_DATA = 200_000_000
"""Of JSON: a notebook keeps its pictures with its cells."""


class NotPlain(OSError):
    """A pipe, a socket or a device, which may never end."""

    def __init__(self) -> None:
        super().__init__(0, "not a plain file")


class TooLarge(OSError):
    """More bytes than anybody has written by hand."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(0, f"too large: {size:,} bytes, and {most:,} are the most that is read")


def read(path: str, most: int | None = None) -> tuple[os.stat_result, bytes]:
    """A file as it was looked at, then read; of one and the same file, whatever takes its place meanwhile.

    Raises:
        OSError: it cannot be read, is no plain file, or has more than ``most`` bytes.
        ValueError: no file can have such a name.
    """
    handle = os.open(path, _FLAGS)
    try:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, "Is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise NotPlain
        if most is not None and found.st_size > most:
            raise TooLarge(found.st_size, most)
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read() if most is None else stream.read(most + 1)
        if most is not None and len(data) > most:  # it grew meanwhile
            raise TooLarge(len(data), most)
        return found, data
    finally:
        os.close(handle)
