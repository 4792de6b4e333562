"""Where what can be computed again is kept between runs.

Not platformdirs, though it does the same: importing it takes longer than all that the import hook does at start.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "GRAPHMEND_CACHE_DIR"


def cache_folder() -> str:
    """The folder for files of ours: ``GRAPHMEND_CACHE_DIR``, else the user's cache folder; it need not exist."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, "graphmend", "Cache")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "graphmend")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "graphmend")
