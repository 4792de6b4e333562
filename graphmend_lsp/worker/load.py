"""The user's files as modules, some of them with another text than on disk."""

from __future__ import annotations

import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import os
import sys
import traceback
from types import CodeType, ModuleType
from typing import Any, Callable, Mapping, Sequence

import torch

from .channel import Failure
from .snapshot import data_of, holders

_torch: Any = torch


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file whose text is given; nothing is read from or written to ``__pycache__``."""

    def __init__(self, fullname: str, path: str, text: str, code: Callable[[str], CodeType | None]) -> None:
        super().__init__(fullname, path)
        self._text = text
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code(self.path) or compile(self._text, self.path, "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        return self._text


def _no_code(path: str) -> CodeType | None:
    del path
    return None


class Overlay(importlib.abc.MetaPathFinder):
    """Finds the files that have another text, those that are not on disk included, wherever an import looks."""

    def __init__(self, texts: Mapping[str, str], packages: Mapping[str, str] | None = None) -> None:
        """``packages``: top-level names, and the ``__init__.py`` to take for each, wherever else one may be."""
        self._packages = dict(packages or {})
        self.code: Callable[[str], CodeType | None] = _no_code
        """Gives the code for a file in place of its own, or None."""
        self._texts = {os.path.realpath(path): text for path, text in texts.items()}
        for path, text in self._texts.items():  # what tracebacks and inspect.getsource show
            linecache.cache[path] = (len(text), None, text.splitlines(True), path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del target
        if path is None and fullname in self._packages:
            return self.spec(fullname, self._packages[fullname])
        tail = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            base = os.path.join(os.path.realpath(folder or os.curdir), tail)
            for candidate in (os.path.join(base, "__init__.py"), base + ".py"):
                if candidate in self._texts:
                    return self.spec(fullname, candidate)
                if os.path.isfile(candidate):  # an import would stop here
                    return None
        return None

    def text(self, path: str) -> str | None:
        """The text that stands for a file."""
        return self._texts.get(os.path.realpath(path))

    def spec(self, fullname: str, path: str) -> importlib.machinery.ModuleSpec | None:
        """How to load the file at ``path`` under a name."""
        real = os.path.realpath(path)
        package = [os.path.dirname(real)] if os.path.basename(real) == "__init__.py" else None
        loader: Any = _Loader(fullname, real, self._texts[real], self.code) if real in self._texts else None
        return importlib.util.spec_from_file_location(fullname, real, loader=loader, submodule_search_locations=package)


def install(roots: Sequence[str], texts: Mapping[str, str], packages: Mapping[str, str] | None = None) -> Overlay:
    """Make imports look in ``roots`` first, and take these texts for files at these absolute paths."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [root for root in roots if root not in sys.path]
    overlay = Overlay(texts, packages)
    sys.meta_path.insert(0, overlay)
    return overlay


def leave_uncompiled() -> None:
    """Let ``torch.compile`` in the user's code do nothing: what is compiled, and how, is chosen here.

    torch's own calls stay (``torch.cond`` compiles itself); the stance "force_eager" would break these.
    """
    real = _torch.compile
    ours = __name__.rpartition(".")[0]

    def compile_nothing(model: Any = None, **options: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__"))  # pyright: ignore[reportPrivateUsage]
        if caller.partition(".")[0] == "torch" or caller.startswith(ours):
            return real(model, **options)
        return _itself if model is None else model

    _torch.compile = compile_nothing
    _torch.nn.Module.compile = _nothing


def _itself(function: Any) -> Any:
    return function


def _nothing(*args: Any, **options: Any) -> None:
    pass


def import_file(overlay: Overlay, path: str, name: str) -> ModuleType:
    """The file as a module of that dotted name, its packages imported first.

    Raises:
        Failure: kind "import"; the text says what it raised and where.
    """
    try:
        parent = name.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        known = sys.modules.get(name)
        if known is not None and os.path.realpath(getattr(known, "__file__", None) or "") == os.path.realpath(path):
            return known
        spec = overlay.spec(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        if parent:
            setattr(sys.modules[parent], name.rpartition(".")[2], module)
        return module
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise Failure("import", f"importing {os.path.basename(path)} raised {described(error)}") from error


class Globals:
    """What the files hold in globals and attributes of classes, so that each run can begin with it."""

    def __init__(self, modules: Sequence[ModuleType]) -> None:
        self._holders = [holder for module in modules for _, holder in holders(module)]
        found = [data_of(holder) for holder in self._holders]
        try:
            self._kept: list[dict[str, Any]] = copy.deepcopy(found)  # at once: an optimizer and its model stay together
        except Exception:  # something that cannot be copied: it stays as the runs leave it
            self._kept = [{name: item for name, item in fields.items() if _can_copy(item)} for fields in found]

    def restore(self) -> None:
        """Put copies of everything back; what was added since is left."""
        try:
            fresh = copy.deepcopy(self._kept)
        except Exception:
            return
        for holder, fields in zip(self._holders, fresh):
            for name, value in fields.items():
                setattr(holder, name, value)


def _can_copy(value: Any) -> bool:
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True


def described(error: BaseException) -> str:
    """An exception in one line, with the innermost place in a file that is not the interpreter's or torch's."""
    own = os.path.dirname(os.path.abspath(__file__))
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not os.path.abspath(frame.filename).startswith(own) and not frame.filename.startswith("<")
    ]
    ours = [frame for frame in frames if not is_library(frame.filename)] or frames[-1:]
    place = f" ({os.path.basename(ours[-1].filename)}:{ours[-1].lineno})" if ours else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}{place}" if text else f"{type(error).__name__}{place}"


def is_library(path: str) -> bool:
    """Whether a file belongs to the interpreter or to an installed package."""
    parts = os.path.abspath(path).split(os.sep)
    return "site-packages" in parts or os.path.abspath(path).startswith(os.path.dirname(os.path.abspath(os.__file__)))
