"""The interface through which the analysis sees the files around the one it checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class RuntimePlace:
    """Where mended code finds ``graph_effect`` and ``select``.

    ``module`` is what stands after ``from`` (``..._graphmend``, ``_graphmend``).  ``path`` and ``text``
    are the file that must be created for it; None if it is there already or comes from the package.
    """

    module: str
    path: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Mention:
    """A function of another file, by module and qualified name, that mentions ``target`` of this one as ``name``."""

    module: str
    qualname: str
    target: str
    name: str


@dataclass(frozen=True)
class Caller:
    """A function of another file from which ``function`` of this one may be reached, judged by names alone.

    ``module`` is the dotted name of the other file.  Where ``qualname`` is empty it is the file as a whole,
    which may compile something of this one.  ``via`` is where the way leaves this file; ``steps`` is its length.
    """

    module: str
    qualname: str
    function: str = ""
    via: Mention | None = None
    steps: int = 0


class ProgramView(Protocol):
    """What the analysis may ask about the program around one file.  Implemented in ``project``."""

    def source(self, module: str) -> tuple[str, str] | None:
        """``(path, text)`` of a module of the same project by absolute dotted name, or None."""
        ...

    def module_name(self, path: str) -> tuple[str, bool]:
        """``(absolute dotted name, is it a package's __init__)`` of a file."""
        ...

    def callers(self, path: str, functions: tuple[str, ...], named: tuple[str, ...]) -> tuple[Caller, ...]:
        """Entries in other files that may reach functions of a file, by qualified names; the nearest first.

        ``named`` are the names that the user gives as entries.
        """
        ...

    def runtime(self, path: str) -> RuntimePlace:
        """Where mended code in ``path`` finds the runtime."""
        ...

    def is_missing(self, package: str) -> bool:
        """Whether importing a top-level package certainly fails where the code runs."""
        ...

    def scope(self) -> object:
        """What decides which file the name of a module means; equal where only the texts of files can differ."""
        ...


class NoProgram:
    """A file on its own."""

    def source(self, module: str) -> tuple[str, str] | None:
        del module
        return None

    def module_name(self, path: str) -> tuple[str, bool]:
        del path
        return "", False

    def callers(self, path: str, functions: tuple[str, ...], named: tuple[str, ...]) -> tuple[Caller, ...]:
        del path, functions, named
        return ()

    def runtime(self, path: str) -> RuntimePlace:
        del path
        return RuntimePlace("graphmend_lsp.runtime")

    def is_missing(self, package: str) -> bool:
        del package
        return False

    def scope(self) -> object:
        return type(self)
