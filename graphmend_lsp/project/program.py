"""The program around a file, read from disk and from the editor's open buffers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from graphmend_lsp.check import RuntimePlace
from graphmend_lsp.model.program import Caller
from graphmend_lsp.project import files, installed, layout, vendored
from graphmend_lsp.project.index import Index
from graphmend_lsp.settings import RuntimeMode


class SourceCache:
    """Texts of files, kept as long as their modification time and size stay; open buffers come first.

    ``overlay`` maps absolute paths to texts; it is read at every call, so its owner may go on changing it.
    """

    def __init__(self, overlay: Mapping[str, str] | None = None) -> None:
        self.overlay: Mapping[str, str] = {} if overlay is None else overlay
        self._read: dict[str, tuple[int, int, str | None]] = {}
        self._indexes: dict[tuple[str, bool], Index] = {}

    def text(self, path: str) -> str | None:
        """The text of a file, or None if it is missing or not readable as Python source."""
        buffered = self.overlay.get(path)
        if buffered is not None:
            return buffered
        try:
            state = os.stat(path)
        except (OSError, ValueError):
            return None
        known = self._read.get(path)
        if known is not None and known[:2] == (state.st_mtime_ns, state.st_size):
            return known[2]
        try:
            text = files.read(path).text
        except files.SourceError:
            text = None
        self._read[path] = (state.st_mtime_ns, state.st_size, text)
        return text

    def index(self, path: str) -> Index:
        """The index of the project that a file belongs to."""
        key = layout.project_extent(path)
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = Index(*key)
        return found

    def refresh(self) -> None:
        """Something on disk has changed: the indexes look again at the next question, without waiting."""
        for index in self._indexes.values():
            index.refresh()


class DiskProgram:
    """``check.ProgramView`` over a workspace.

    Modules are looked up under ``roots`` and, where ``for_file`` made the view, first under the roots of
    that file: the directory above its top package, its project and the project's ``src``.
    """

    def __init__(
        self,
        roots: Iterable[str] = (),
        *,
        overlay: Mapping[str, str] | None = None,
        runtime_mode: RuntimeMode = "vendored",
        cache: SourceCache | None = None,
    ) -> None:
        self._workspace = tuple(os.path.abspath(root) for root in roots)
        self._cache = cache if cache is not None else SourceCache(overlay)
        self._runtime_mode: RuntimeMode = runtime_mode
        self._roots = tuple(dict.fromkeys(r for w in self._workspace for r in (w, os.path.join(w, "src"))))
        self._only: str | None = None

    def for_file(self, path: str, runtime_mode: RuntimeMode | None = None) -> DiskProgram:
        """The same program as one file sees it: its own roots first, texts shared."""
        view = DiskProgram(self._workspace, runtime_mode=runtime_mode or self._runtime_mode, cache=self._cache)
        view._roots = tuple(dict.fromkeys((*layout.search_roots(path), *view._roots)))
        if os.path.basename(view._roots[0]) in layout.INSTALLED:
            # an installed package: its neighbours there are other projects
            view._only = self.module_name(path)[0].partition(".")[0]
        return view

    def source(self, module: str) -> tuple[str, str] | None:
        """``(path, text)`` of a module of the same project by absolute dotted name, or None."""
        parts = module.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        for number, root in enumerate(self._roots):
            if number == 0 and self._only not in (None, parts[0]):
                continue
            base = os.path.join(root, *parts)
            for path in (os.path.join(base, "__init__.py"), base + ".py"):
                text = self._cache.text(path)
                if text is not None:
                    return path, text
        return None

    def module_name(self, path: str) -> tuple[str, bool]:
        """``(absolute dotted name, is it a package's __init__)`` of a file."""
        return layout.module_name(path)

    def callers(self, path: str, functions: tuple[str, ...], named: tuple[str, ...]) -> tuple[Caller, ...]:
        """Entries in other files of the project that may reach functions of a file, by qualified names."""
        return self._cache.index(path).callers(path, functions, named, self._cache.overlay)

    def refresh(self) -> None:
        """Something on disk has changed."""
        self._cache.refresh()

    def is_missing(self, package: str) -> bool:
        """Whether importing a top-level package certainly fails where the code runs."""
        roots = [root for root in self._roots if os.path.basename(root) not in layout.INSTALLED]
        near = any(os.path.exists(os.path.join(root, package + end)) for root in self._roots for end in ("", ".py"))
        return not near and bool(roots) and installed.is_missing(package, roots[0])

    def scope(self) -> object:
        """The roots, in their order."""
        return self._roots, self._only

    def runtime(self, path: str) -> RuntimePlace:
        """Where mended code in ``path`` finds ``graph_effect`` and ``select``."""
        if self._runtime_mode == "package":
            return RuntimePlace(vendored.PACKAGE_MODULE)
        return vendored.place(path, self._cache.text)
