"""``graphmend check --watch``: check again whenever a file changes.

The folders are looked at again and again.  A library that is told of changes by the system would save that, but each
system tells in another way, and none tells of files on a network.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

from graphmend_lsp.cli import terminal
from graphmend_lsp.hook import depends
from graphmend_lsp.project import layout
from graphmend_lsp.project.discover import WITH_NOTEBOOKS, discover

_PAUSE = 0.3
"""Seconds between two looks; longer where a look takes long."""
_SHARE = 10
"""A look may take this part of the time."""
_State = dict[str, tuple[int, int]]


def run(options: argparse.Namespace, once: Callable[[argparse.Namespace], int]) -> int:
    """Check until interrupted, which raises KeyboardInterrupt."""
    paths, here = options.paths or ["."], os.getcwd()
    while True:
        seen = _state(paths, options.baseline, here)
        _clear_screen()
        try:
            once(options)
        except OSError:
            if _is_there(here):
                raise
            print("error: the current folder: no such file or directory", file=sys.stderr)
        sys.stdout.flush()
        print(f"[{time.strftime('%H:%M:%S')}] Watching for changes; Ctrl-C ends it.", file=sys.stderr, flush=True)
        _await_change(seen, paths, options.baseline, here)


def _is_there(here: str) -> bool:
    """Whether there is a current folder; one that is made anew in its place is it again, as with another branch."""
    try:
        os.getcwd()
    except OSError:
        try:
            os.chdir(here)
        except OSError:
            return False
    return True


def _await_change(seen: _State, paths: list[str], baseline: str | None, here: str) -> None:
    """Return once something is other than it was, and nothing has changed since the last look."""
    now = before = seen
    while now == seen or now != before:
        began = time.monotonic()
        before, now = now, _state(paths, baseline, here)
        time.sleep(max(_PAUSE, (time.monotonic() - began) * _SHARE))


def _state(paths: list[str], baseline: str | None, here: str) -> _State:
    """Times and sizes of all that the findings may depend on: the files, their projects, and configurations."""
    try:
        return _looked(paths, baseline) if _is_there(here) else {}
    except OSError:  # it has just gone
        return {}


def _looked(paths: list[str], baseline: str | None) -> _State:
    found = discover(paths, WITH_NOTEBOOKS)
    named = {path for path, _ in found.files}
    extents = {layout.project_extent(path) for path in named}
    extents |= {(os.path.abspath(path), False) for path in paths if os.path.isdir(path)}
    for root, flat in extents:
        named.update(depends.files_of(root, flat))
    named.update(config.path for _, config in found.files if config.path is not None)
    named.update(config.baseline for _, config in found.files if config.baseline is not None)
    if baseline is not None:
        named.add(os.path.abspath(baseline))
    state: _State = {}
    for path in named:
        try:
            seen = os.stat(path)
        except OSError:
            continue
        state[path] = seen.st_mtime_ns, seen.st_size
    return state


def _clear_screen() -> None:
    if terminal.is_terminal(sys.stdout):
        sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")
        sys.stdout.flush()
