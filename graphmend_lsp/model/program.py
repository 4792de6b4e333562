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


class ProgramView(Protocol):
    """What the analysis may ask about the program around one file.  Implemented in ``project``."""

    def source(self, module: str) -> tuple[str, str] | None:
        """``(path, text)`` of a module of the same project by absolute dotted name, or None."""
        ...

    def module_name(self, path: str) -> tuple[str, bool]:
        """``(absolute dotted name, is it a package's __init__)`` of a file."""
        ...

    def runtime(self, path: str) -> RuntimePlace:
        """Where mended code in ``path`` finds the runtime."""
        ...


class NoProgram:
    """A file on its own."""

    def source(self, module: str) -> tuple[str, str] | None:
        del module
        return None

    def module_name(self, path: str) -> tuple[str, bool]:
        del path
        return "", False

    def runtime(self, path: str) -> RuntimePlace:
        del path
        return RuntimePlace("graphmend_lsp.runtime")
