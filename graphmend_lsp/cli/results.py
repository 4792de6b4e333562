"""What was found in files, kept between runs: used again only where everything that it depends on is as it was.

An entry is named by the file's path and bytes, the settings and this program's own state, and holds the answers to all
that the analysis asked about other files (``hook/record.py``), which are compared with the present ones first
(``hook/depends.py``).
"""

from __future__ import annotations

import io
import marshal
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from graphmend_lsp.cli import garbage
from graphmend_lsp.cli.work import Checked, Job, check_file, with_source
from graphmend_lsp.finding import Problem
from graphmend_lsp.hook import depends, indexes, record
from graphmend_lsp.hook.cache import Blobs, digest, key
from graphmend_lsp.hook.depends import Row
from graphmend_lsp.project import files, installed, layout, torch_release

_FORM = 1
"""Another form of what is stored needs another number."""
_WORTH = 60_000
"""Bytes of source below which starting processes takes longer than the check."""
_MODULES = frozenset(("graphmend_lsp.finding", "graphmend_lsp.text", "graphmend_lsp.cli.work"))


class Results:
    """The findings of files; ``kept`` False neither reads nor writes the cache."""

    def __init__(self, kept: bool = True) -> None:
        self._blobs = Blobs("check") if kept else None

    def known(self, job: Job) -> Checked | None:
        """What was found in a file, if that would be found now."""
        if self._blobs is None or job.data is not None:
            return None
        try:
            data = job.content()
            name = _name(job, data)
            blob = self._blobs.load(name)
            if blob is None:
                return None
            rows, body = _opened(blob)
            now = depends.refreshed(rows)
            if now is None:
                return None
            checked = _loaded(body)
            if checked is None or checked.path != job.path:
                return None
            source = job.read(data) if _needs_source(job, checked) else None
        except (files.SourceError, ValueError, EOFError, TypeError):
            return None
        if now is not rows:
            self._blobs.save(name, _closed(now, body))
        return checked if source is None else with_source(checked, source)

    def check(self, job: Job) -> Checked:
        """Check a file, and keep what is found."""
        if job.data is not None:
            return check_file(job)
        try:
            data = job.content()
        except files.SourceError as error:
            return Checked(job.path, "", problems=(Problem(job.path, None, str(error)),))
        program = record.CheckedProgram(job.path, job.roots, job.settings.runtime)
        checked = check_file(job, data, program)
        if self._blobs is not None and not checked.internal:
            bare = replace(checked, text="", cells=None, lines=())
            self._blobs.save(_name(job, data), _closed(program.depends(), pickle.dumps(bare, 5)))
        return checked

    def end(self) -> None:
        """Bound what is kept."""
        if self._blobs is not None:
            self._blobs.sweep()


def found(jobs: Sequence[Job], kept: Results, processes: int) -> Iterator[tuple[Job, Checked]]:
    """The files with what is found in them, in their order: from the cache, else in ``processes`` processes."""
    known = [kept.known(job) for job in jobs]
    todo = [job for job, checked in zip(jobs, known, strict=True) if checked is None]
    processes = min(processes, len(todo))
    if processes < 2 or sum(map(_size, todo)) < _WORTH:
        arriving = map(kept.check, garbage.between(todo))
    else:
        from graphmend_lsp.cli.pool import Pool

        for job in todo:
            indexes.index(job.path)
        indexes.prepare()  # once, not in each process
        arriving = Pool(kept, processes).run(todo)
    for job, checked in zip(jobs, known, strict=True):
        yield job, next(arriving) if checked is None else checked
    if todo:
        kept.end()


def default_jobs() -> int:
    """As many processes as there are cores for this one."""
    if sys.platform != "win32" and hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _size(job: Job) -> int:
    try:
        return len(job.data) if job.data is not None else os.path.getsize(job.path)
    except (OSError, ValueError):
        return 0


def forget() -> None:
    """A run begins: what an earlier one in this process saw of files, projects and environments counts no longer."""
    for each in (depends, record, indexes, layout, installed, torch_release):
        each.forget()


def _needs_source(job: Job, checked: Checked) -> bool:
    return bool(checked.findings or checked.unused_suppressions or job.path.endswith(".ipynb"))


def _name(job: Job, data: bytes) -> str:
    settings = job.settings
    return key(
        "check",
        _FORM,
        job.path,
        digest(data),
        job.roots,
        job.resolve,
        settings.select,
        settings.ignore,
        settings.entries,
        sorted(settings.severity.items()),
        settings.torch_version,
        settings.runtime,
        settings.symbols,
    )


def _closed(rows: tuple[Row, ...], body: bytes) -> bytes:
    return marshal.dumps((rows, body))


def _opened(blob: bytes) -> tuple[tuple[Row, ...], bytes]:
    return cast("tuple[tuple[Row, ...], bytes]", marshal.loads(blob))


class _Unpickler(pickle.Unpickler):
    """Makes what findings consist of and nothing else."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name not in _MODULES:
            raise pickle.UnpicklingError(f"{module_name}.{global_name} is no part of a finding")
        return super().find_class(module_name, global_name)


def _loaded(body: bytes) -> Checked | None:
    try:
        found = _Unpickler(io.BytesIO(body)).load()
    except Exception:  # what was pickled by another release, or is not ours
        return None
    return found if isinstance(found, Checked) else None
