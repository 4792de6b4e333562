"""Which modules are to be mended, judged by name and place when they are loaded."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from graphmend_lsp.hook.options import NEVER
from graphmend_lsp.project.skipped import is_skipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    Match = Literal["named", "folder"]
    """A module of a named package, or one below a named folder, where configured exclusions hold."""


class Scope:
    """What ``packages`` (dotted names) and ``folders`` (absolute paths of folders and files) stand for.

    A module belongs to a package by its name or, if it was loaded by path under another name, by its place.
    """

    def __init__(self, packages: tuple[str, ...], folders: tuple[str, ...]) -> None:
        self.packages = packages
        self._folders = tuple(_real(folder) for folder in folders)
        self._reals: dict[str, str] = {}
        self._inside: dict[str, bool] = {}
        """Whether a directory lies in one of the folders."""
        self._places: dict[str, tuple[str, ...]] = {}
        self._looked: tuple[str, ...] = ()
        self.met: set[str] = set()
        """The packages of which something was loaded."""

    def match(self, name: str, path: str) -> Match | None:
        """How the module ``name``, which stands in the file ``path``, is to be mended; None if it is not."""
        if name.partition(".")[0] in NEVER or os.path.basename(path).startswith("_graphmend"):
            return None  # the runtime stands beside mended code under that name
        for package in self.packages:
            if name == package or name.startswith(package + "."):
                self.met.add(package)
                return "named"
        if not self._folders and not self.packages:
            return None
        folder = self._folder(os.path.dirname(os.path.abspath(path)))
        if _below(folder, _OURS):
            return None
        real = os.path.join(folder, os.path.normcase(os.path.basename(path)))
        for package, places in self._located():
            if any(_below(real, place) for place in places):
                self.met.add(package)
                return "named"
        if real in self._folders:
            return "named"
        if folder not in self._inside:
            self._inside[folder] = any(_holds(top, folder) for top in self._folders)
        return "folder" if self._inside[folder] else None

    def unmet(self) -> list[str]:
        """Packages of which nothing was loaded and that no import would find."""
        return [p for p in self.packages if p not in self.met and p != "__main__" and not _locations(p)]

    def _folder(self, folder: str) -> str:
        """Without symbolic links; kept, since this is asked at every import."""
        if folder not in self._reals:
            self._reals[folder] = _real(folder)
        return self._reals[folder]

    def _located(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The packages and where they stand, looked up again for those not found where ``sys.path`` has changed."""
        if self._looked != (now := tuple(sys.path)):
            for package in self.packages:
                if not self._places.get(package):
                    self._places[package] = _locations(package)
            self._looked = now
        yield from self._places.items()


def _locations(package: str) -> tuple[str, ...]:
    """The folders or the file of a package; nothing is imported for it."""
    import importlib.util

    top, *rest = package.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return ()
    if spec is None:
        return ()
    if spec.submodule_search_locations is None:
        found = [spec.origin] if spec.origin and not rest else []
    else:
        found = [os.path.join(place, *rest) for place in spec.submodule_search_locations]
        found = [place if os.path.isdir(place) else place + ".py" for place in found]
    return tuple(_real(place) for place in found if os.path.exists(place))


def _holds(top: str, folder: str) -> bool:
    """Whether ``folder`` belongs to the project in ``top``: below it, and in none of the folders left out."""
    if not _below(folder, top) or _below(folder, _STDLIB):
        return False
    while folder != top:
        if is_skipped(folder):
            return False
        folder = os.path.dirname(folder)
    return True


def _below(path: str, top: str) -> bool:
    return path == top or path.startswith(top if top.endswith(os.sep) else top + os.sep)


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


_OURS = _real(os.path.dirname(os.path.dirname(__file__)))
_STDLIB = _real(os.path.dirname(os.__file__))
