"""The hook itself: mended code in place of what Python's source loader would compile.

Every module that comes from a ``.py`` file is compiled by ``SourceFileLoader.get_code``: those that ``import``
finds, those loaded by path (``spec_from_file_location``, as Hugging Face loads remote code) and those run with
``-m``.  A finder on ``sys.meta_path`` sees only the first kind.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from graphmend_lsp.hook import report
from graphmend_lsp.hook.cache import Cache, Entry, digest, key
from graphmend_lsp.hook.depends import refreshed
from graphmend_lsp.hook.options import Options
from graphmend_lsp.hook.scope import Scope

if TYPE_CHECKING:
    from graphmend_lsp.hook.scope import Match


class Hook:
    """One installation: what to mend, and how."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.scope = Scope(options.packages, options.folders)
        self._torch: str | None = None

    def code(self, name: str, path: str, data: bytes, match: Match) -> CodeType | None:
        """The mended code of a module; None if there is nothing to mend or mending went wrong."""
        options = self.options
        torch = self._torch_release()
        how = (options.unsafe, options.select, options.ignore, options.entries, match, torch)
        where = os.path.abspath(path)
        entry_key = key(*how, path, where, digest(data))
        entry = _cache.read(entry_key)
        depends = None if entry is None else refreshed(entry.depends)
        cached = depends is not None
        if entry is None or depends is None:
            entry = self._mend(name, path, data, match, torch)
            if entry is None:
                return None
            depends = entry.depends
            _cache.write(entry_key, entry)
            _complain_once()
        elif depends is not entry.depends:
            _cache.write(entry_key, entry._replace(depends=depends))
        if options.report:
            report.leave(options.report, name, where, entry.record, cached)
        return entry.code

    def _mend(self, name: str, path: str, data: bytes, match: Match, torch: str) -> Entry | None:
        from graphmend_lsp.hook import mender

        began = time.monotonic()
        try:
            return mender.mend(path, data, self.options, match, torch)
        except mender.NotMended as error:
            problem = str(error)
        except Exception as error:
            problem = mender.internal_error(error)
        finally:
            _say_why_it_takes_long(time.monotonic() - began)
        report.leave(self.options.report, name, os.path.abspath(path), "", False, problem)
        return None

    def _torch_release(self) -> str:
        if self._torch is None:
            from graphmend_lsp.project.torch_release import running_torch

            self._torch = running_torch()
        return self._torch


_hooks: list[Hook] = []
_cache = Cache()
_state = threading.local()
_complained = False
_PATIENCE = 3.0
_spent = 0.0
"""Seconds for mending in this process."""
_before: Any = None
"""What stood in the place of ``get_code``, if it was not the inherited one."""


def add(options: Options, stacklevel: int = 2) -> None:
    """Install the hook, or add to what is installed; warns of modules that are imported already."""
    global _before
    if any(hook.options == options for hook in _hooks):
        return
    hook = Hook(options)
    loaded = _loaded(hook.scope)
    _hooks.append(hook)
    if vars(SourceFileLoader).get("get_code") is not _get_code:
        _before = vars(SourceFileLoader).get("get_code")
        SourceFileLoader.get_code = _get_code
    from graphmend_lsp.hook import scripts

    scripts.patch()
    if loaded:
        import warnings

        more = f" and {len(loaded) - 3} more" if len(loaded) > 3 else ""
        warnings.warn(
            f"imported before graphmend's hook was installed, so not mended: {', '.join(loaded[:3])}{more}",
            RuntimeWarning,
            stacklevel=stacklevel,
        )


def remove() -> None:
    """Take the hook away."""
    _hooks.clear()
    if vars(SourceFileLoader).get("get_code") is _get_code:  # else somebody wrapped it: it goes on, and does nothing
        if _before is None:
            del SourceFileLoader.get_code
        else:
            SourceFileLoader.get_code = _before


def mended(name: str, path: str, data: bytes) -> CodeType | None:
    """The mended code of a file that is about to be compiled; None where it is to be compiled as it is."""
    found = _responsible(name, path)
    if found is None:
        return None
    hook, match = found
    _state.busy = True  # what the analysis imports is not mended
    try:
        return hook.code(name, path, data, match)
    except Exception as error:
        report.note(f"{path} is not mended: {type(error).__name__}: {error}")
    finally:
        _state.busy = False
    return None


def _responsible(name: str, path: str) -> tuple[Hook, Match] | None:
    """The installation that is to mend a module."""
    if not getattr(_state, "busy", False):
        for hook in _hooks:
            match = hook.scope.match(name, path)
            if match is not None:
                return hook, match
    return None


def unmet() -> list[str]:
    """Named packages of which nothing was imported and that cannot be found."""
    return [package for hook in _hooks for package in hook.scope.unmet()]


def _loaded(scope: Scope) -> list[str]:
    found: list[str] = []
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(path, str) or not path.endswith(".py"):
            continue
        if scope.match(name, path) is not None and not any(h.scope.match(name, path) for h in _hooks):
            found.append(name)
    scope.met.clear()
    return found


def _say_why_it_takes_long(seconds: float) -> None:
    """Tell a person who waits; nobody else, since the output of a program is to be its own."""
    global _spent
    before, _spent = _spent, _spent + seconds
    if before < _PATIENCE <= _spent and sys.stderr and sys.stderr.isatty():
        report.note("mending takes long in the first run only; what is mended is kept for the next ones")


def _complain_once() -> None:
    global _complained
    if _cache.complaint and not _complained:
        _complained = True
        report.note(f"{_cache.complaint}; what is mended now is mended again in the next run")


def _look(loader: SourceFileLoader, name: str) -> CodeType | None:
    path = loader.get_filename(name)
    found = _responsible(name, path)
    if found is None:
        return None
    if type(loader).source_to_code is not SourceFileLoader.source_to_code:
        problem = f"its loader, {type(loader).__qualname__}, compiles in its own way"
        report.leave(found[0].options.report, name, path, "", False, problem)
        return None
    return mended(name, path, loader.get_data(path))


def _get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
    code = None
    try:
        code = _look(self, fullname)
    except Exception:  # whatever is wrong with the file, Python says it in its own words
        pass
    if code is not None:
        return code
    if _before is not None:
        return cast("CodeType | None", _before(self, fullname))
    return super(SourceFileLoader, self).get_code(fullname)


# Python leaves out of tracebacks what importlib does; a frame of ours between them would make all of them visible.
_get_code.__code__ = _get_code.__code__.replace(co_filename=SourceFileLoader.get_data.__code__.co_filename)
