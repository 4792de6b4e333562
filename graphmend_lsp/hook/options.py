"""What one installation of the hook is asked to do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

VARIABLE = "GRAPHMEND_HOOK"
"""The environment variable through which child processes learn what to mend."""

NEVER = frozenset(("torch", "torchgen", "functorch", "triton", "graphmend_lsp"))
"""Packages that are not mended: torch and what compiles with it, and this one."""


class Options(NamedTuple):  # not a dataclass: importing dataclasses takes longer than all of the hook
    """``packages`` are dotted names; ``folders`` absolute paths of folders and files.

    ``select`` None means what the configuration says; ``report`` is the folder in which all processes
    of a run leave their records, "" if nobody asked for them.
    """

    packages: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    unsafe: bool = False
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    report: str = ""

    def encode(self) -> dict[str, Any]:
        """Plain data for ``json``."""
        return self._asdict()


def decode(data: object) -> Options:
    """The opposite of ``Options.encode``; what is missing has its default.

    Raises:
        ValueError: not what ``encode`` makes.
    """
    if not isinstance(data, dict):
        raise ValueError("not options of the hook")
    given = cast("dict[str, Any]", data)
    unknown = given.keys() - set(Options._fields)
    if unknown:
        raise ValueError(f"unknown options: {', '.join(sorted(unknown))}")
    values: dict[str, Any] = {
        name: tuple(cast("list[str]", value)) if isinstance(value, list) else value for name, value in given.items()
    }
    return Options(**values)


def split(wanted: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and absolute paths among what a user wants mended; a path has a separator, a leading dot or ``.py``.

    Raises:
        ValueError: neither, a path that does not exist, or a package that is never mended.
    """
    names: dict[str, None] = {}
    folders: dict[str, None] = {}
    for item in wanted:
        if os.sep in item or "/" in item or item.startswith(".") or item.endswith(".py"):
            path = os.path.abspath(item)
            if not os.path.exists(path):
                raise ValueError(f"no such file or folder: {item}")
            folders[path] = None
            continue
        if not item or not all(part.isidentifier() for part in item.split(".")):
            raise ValueError(f"not the name of a package: {item!r} (a path has a {os.sep} in it)")
        if item.partition(".")[0] in NEVER:
            raise ValueError(f"{item} is never mended")
        names[item] = None
    return tuple(names), tuple(folders)
