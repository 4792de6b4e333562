"""Files that are run as ``__main__`` without a loader: those of ``runpy.run_path``, which ``multiprocessing`` uses.

A process that ``multiprocessing`` spawns runs the parent's script again under the name ``__mp_main__``.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable
from typing import Any, cast

from graphmend_lsp.hook import loader

_NAME = "_get_code_from_file"


def patch() -> None:
    """Let ``runpy`` take mended code too.  It is a private function: where it is not there, nothing is patched."""
    original = getattr(runpy, _NAME, None)
    if original is not None and not hasattr(original, "_graphmend"):
        setattr(runpy, _NAME, _wrapped(original))


def _wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_code_from_file(*arguments: Any) -> Any:
        found = original(*arguments)
        try:
            path = os.path.abspath(os.fsdecode(arguments[-1]))
            code = None
            if not path.endswith(".pyc"):
                with open(path, "rb") as stream:
                    code = loader.mended("__main__", path, stream.read())
        except Exception:
            code = None
        if code is None:
            return found
        # Python 3.10 and 3.11 return the name too
        return (code, *cast("tuple[Any, ...]", found)[1:]) if isinstance(found, tuple) else code

    get_code_from_file._graphmend = True  # pyright: ignore[reportFunctionMemberAccess]
    return get_code_from_file
