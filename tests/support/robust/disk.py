"""Trees that no project should have, and caches that somebody has ruined."""

from __future__ import annotations

import os
import random
import shutil
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

MODEL = """\
import torch
from torch import nn
from pipe import helper
from pkg import inner


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = helper(x)
        return inner.gate(x)
"""
INNER = """\
def gate(x):
    print(x)
    return x
"""


def odd_tree(folder: Path) -> int:
    """Make a tree with links to themselves, pipes, sockets, folders called ``.py`` and names that are not UTF-8.

    How many findings there are in it.
    """
    package = folder / "pkg"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.graphmend]\n")
    (folder / "model.py").write_text(MODEL)
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text(INNER)
    (folder / "empty.py").write_text("")
    (folder / "binary.py").write_bytes(bytes(range(256)) * 8)
    (folder / "folder.py").mkdir()
    (package / "pyproject.toml").mkdir()
    (folder / "loop.py").symlink_to("loop.py")
    (folder / "dangling.py").symlink_to("nowhere.py")
    (package / "up").symlink_to("..")
    os.mkfifo(folder / "pipe.py")
    os.mkdir(folder / "piped")
    os.mkfifo(folder / "piped" / "pyproject.toml")
    (folder / "piped" / "other.py").write_text(INNER)
    with open(os.path.join(os.fsencode(folder), b"caf\xe9.py"), "wb") as stream:
        stream.write(MODEL.encode())
    (folder / "two\nlines.py").write_text(MODEL)
    here = os.getcwd()
    os.chdir(folder)  # the address of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket.py")
    finally:
        os.chdir(here)
    return 4


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _random(path: Path) -> None:
    path.write_bytes(random.Random(path.name).randbytes(max(path.stat().st_size, 200)))


def _some_bytes(path: Path) -> None:
    data, choice = bytearray(path.read_bytes()), random.Random(path.name)
    for _ in range(len(data) // 50 + 1):
        data[choice.randrange(len(data))] = choice.randrange(256)
    path.write_bytes(bytes(data))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "in it").write_text("")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _gone(path: Path) -> None:
    path.unlink()


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _other_schema(path: Path) -> None:
    """A database of another version, a folder's worth of rows of other types; of other files a JSON text."""
    path.unlink()
    if path.suffix != ".sqlite":
        path.write_text('{"version": 99}')
        return
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE files (name TEXT, version INTEGER)")
        connection.execute("INSERT INTO files VALUES ('x', 99)")
    connection.close()


def _other_rows(path: Path) -> None:
    """Rows that hold something else than what is written."""
    if path.suffix != ".sqlite":
        path.write_bytes(b"\x80\x05K\x01.")  # a pickle of 1
        return
    with sqlite3.connect(path) as connection:
        for number, data in enumerate(("", "null", "[]", "[[]]", "{}", '"x"', "[1, 2, 3]", "{" * 5000)):
            connection.execute("UPDATE files SET outline = ? WHERE rowid % 16 = ?", (data, number))
            connection.execute("UPDATE files SET units = ? WHERE rowid % 16 = ?", (data, number + 8))
    connection.close()


RUINS: dict[str, Callable[[Path], None]] = {
    "truncated": _truncate,
    "empty": _empty,
    "random": _random,
    "some bytes": _some_bytes,
    "a folder": _folder,
    "a pipe": _pipe,
    "a link to itself": _link,
    "of another version": _other_schema,
    "with other rows": _other_rows,
    "gone": _gone,
}
"""What may have become of a file of the cache."""


def remove(folder: Path) -> None:
    """Remove a cache, whatever it is."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    elif folder.is_symlink() or folder.exists():
        folder.unlink()


def _latin(path: Path) -> None:
    path.write_bytes(MODEL.encode() + b"# caf\xe9\n")


def _huge(path: Path) -> None:
    """Of 5 GB, and of no blocks."""
    os.truncate(path, 5_000_000_000)


BECOMES: dict[str, tuple[Callable[[Path], None], str]] = {
    "gone": (_gone, "no such file or directory"),
    "a folder": (_folder, "is a directory"),
    "a pipe": (_pipe, "not a plain file"),
    "a link to itself": (_link, "too many levels of symbolic links"),
    "of another encoding": (_latin, "not utf-8 text (byte 0xe9 in line 12)"),
    "huge": (_huge, "too large: 5,000,000,000 bytes, and 20,000,000 are the most that is read"),
    "random": (_random, "not utf-8 text"),
}
"""What a source file may have become, and what is said of it."""
