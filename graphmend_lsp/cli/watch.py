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
    paths = options.paths or ["."]
    while True:
        seen = _state(paths, options.baseline)
        _clear_screen()
        once(options)
        sys.stdout.flush()
        print(f"[{time.strftime('%H:%M:%S')}] Watching for changes; Ctrl-C ends it.", file=sys.stderr, flush=True)
        _await_change(seen, paths, options.baseline)


def _await_change(seen: _State, paths: list[str], baseline: str | None) -> None:
    """Return once something is other than it was, and nothing has changed since the last look."""
    now = before = seen
    while now == seen or now != before:
        began = time.monotonic()
        before, now = now, _state(paths, baseline)
        time.sleep(max(_PAUSE, (time.monotonic() - began) * _SHARE))


def _state(paths: list[str], baseline: str | None) -> _State:
    """Times and sizes of all that the findings may depend on: the files, their projects, and configurations."""
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
