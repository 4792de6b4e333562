"""Where what can be computed again is kept between runs."""

from __future__ import annotations

import os

VARIABLE = "GRAPHMEND_CACHE_DIR"


def cache_folder() -> str:
    """The folder for files of ours: ``GRAPHMEND_CACHE_DIR``, else the user's cache folder; it need not exist."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    from platformdirs import user_cache_dir

    return user_cache_dir("graphmend", appauthor=False)
