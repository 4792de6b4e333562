"""What is done to one file: plain data in, plain data out, so that it can run in another process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from graphmend_lsp import check as core
from graphmend_lsp.cli.options import Overrides
from graphmend_lsp.cli.reading import Read, located, read_notebook
from graphmend_lsp.finding import Change, Finding, NewFile, Offer, Problem, Refusal
from graphmend_lsp.model.module import Module
from graphmend_lsp.project import files, layout, plain
from graphmend_lsp.project.config import LoadedConfig, load_for
from graphmend_lsp.project.discover import WITH_NOTEBOOKS, discover
from graphmend_lsp.project.program import DiskProgram, SourceCache
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import Span

if TYPE_CHECKING:
    from graphmend_lsp.notebook import Joined

STDIN = "<stdin>"


Extent = Literal["whole", "part", "none"]


@dataclass(frozen=True)
class Job:
    """One file to look at; ``data`` holds its bytes where they do not come from ``path``."""

    path: str
    settings: Settings
    roots: tuple[str, ...]
    data: bytes | None = None
    resolve: bool = False
    unsafe: bool = False
    baseline: str | None = None
    """The file of findings that are known: an absolute path."""

    @property
    def program(self) -> core.ProgramView:
        """The program around the file."""
        if self.path == STDIN:
            return core.NoProgram()
        overlay: dict[str, str] = {}
        cache = _CACHE
        if self.data is not None:
            try:
                overlay[self.path] = files.decode(self.data).text
            except files.SourceError:
                pass  # reported when the file itself is read
            cache = SourceCache(overlay)
        return DiskProgram(self.roots, cache=cache).for_file(self.path, self.settings.runtime)

    def content(self) -> bytes:
        """The file's bytes.

        Raises:
            SourceError: it cannot be read.
        """
        if self.data is not None:
            return self.data
        return files.content(self.path, plain.MOST_DATA if layout.is_notebook(self.path) else plain.MOST_BYTES)

    def read(self, data: bytes | None = None) -> Read:
        """The file, from ``data`` if they have been read.

        Raises:
            SourceError: it cannot be read.
        """
        data = self.content() if data is None else data
        if layout.is_notebook(self.path):
            return read_notebook(self.path, data)
        file = files.decode(data, self.path)
        return Read(file, file.text)


@dataclass(frozen=True)
class Checked:
    """What ``check_file`` found.

    ``text`` is what was analysed: of a notebook that is the text of all ``cells``, and ``lines`` are the lines of the
    file in which its lines stand.  ``extent`` says how much of the
    file could be checked, ``entries`` which of the names that the settings give as entries are in it; ``resolved``
    holds each offer's edits where the job asked for them.
    """

    path: str
    text: str
    extent: Extent = "none"
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    unused_suppressions: tuple[Span, ...] = ()
    resolved: tuple[tuple[tuple[Offer, Change | Refusal], ...], ...] = ()
    entries: tuple[str, ...] = ()
    cells: Joined | None = None
    lines: tuple[int, ...] = ()
    internal: bool = False
    """Whether an error of ours is among the problems: the file is to be checked again the next time."""

    @property
    def safe_fixes(self) -> int:
        """How many findings have a safe offer that can be applied."""
        return sum(map(self.has_safe_fix, self.findings))

    def has_safe_fix(self, finding: Finding) -> bool:
        return self.extent == "whole" and any(offer.safety == "safe" for offer in finding.offers)


@dataclass(frozen=True)
class Fixed:
    """What ``fix_file`` did; ``source`` is None for a file that could not be read."""

    path: str
    source: files.SourceFile | None = None
    text: str = ""
    applied: int = 0
    left: int = 0
    creates: tuple[NewFile, ...] = ()
    problems: tuple[Problem, ...] = ()
    parses: bool = True
    entries: tuple[str, ...] = ()
    internal: tuple[Problem, ...] = ()
    """Errors of ours that cost one rule or function: what was mended is right all the same."""


class Entries:
    """The names that the settings give as entries, and which of them some file has."""

    def __init__(self) -> None:
        self._wanted: dict[str, None] = {}
        self._found: set[str] = set()

    def add(self, job: Job, found: Iterable[str]) -> None:
        self._wanted.update(dict.fromkeys(job.settings.entries))
        self._found.update(found)

    def unmatched(self) -> list[str]:
        """What to say of the names that no file has."""
        return [
            f'no function or class is named "{name}" in the files checked'
            for name in self._wanted
            if name not in self._found
        ]


@dataclass(frozen=True)
class Plan:
    """The files of one run, in order, and what could not be planned."""

    jobs: tuple[Job, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = field(default=())


_CACHE = SourceCache()


def plan(
    paths: Iterable[str],
    stdin_filename: str | None,
    wanted: Overrides,
    *,
    resolve: bool = False,
    unsafe: bool = False,
    baseline: str | None = None,
    force_exclude: bool = False,
) -> Plan:
    """The jobs for the paths of a command line; ``-`` reads standard input here."""
    paths = list(paths) or ["." if stdin_filename is None else "-"]

    def job(path: str, config: LoadedConfig, data: bytes | None = None) -> Job:
        settings = wanted.over(config.settings_for(path))
        roots = (os.getcwd(), config.root)
        return Job(path, settings, roots, data, resolve, unsafe or config.unsafe_fixes, baseline or config.baseline)

    jobs: list[Job] = []
    warnings: list[Problem] = []
    if "-" in paths:
        data = sys.stdin.buffer.read()
        path = STDIN if stdin_filename is None else os.path.abspath(stdin_filename)
        config = load_for(os.getcwd() if stdin_filename is None else path)
        warnings += config.problems
        jobs.append(job(path, config, data))
        paths = [p for p in paths if p != "-"]
    found = discover(paths, WITH_NOTEBOOKS, force_exclude=force_exclude)
    jobs += (job(path, config) for path, config in found.files)
    return Plan(tuple(jobs), found.problems, tuple(dict.fromkeys((*warnings, *found.config_problems))))


def check_file(job: Job, data: bytes | None = None, program: core.ProgramView | None = None) -> Checked:
    """Check one file.  Whatever goes wrong becomes a problem of this file.

    ``data`` are its bytes, if they have been read; ``program`` is the program around it, where it is not the job's own.
    """
    try:
        source = job.read(data)
    except files.SourceError as error:
        return Checked(job.path, "", problems=(Problem(job.path, None, str(error)),))
    try:
        program = job.program if program is None else program
        analysis = source.placed(core.check(source.text, job.path, program=program, settings=job.settings))
        resolved: tuple[tuple[tuple[Offer, Change | Refusal], ...], ...] = ()
        if job.resolve:
            resolved = tuple(
                tuple((offer, _resolved(source, analysis, finding, offer, program)) for offer in finding.offers)
                for finding in analysis.findings
            )
    except Exception as error:
        return Checked(job.path, "", problems=(_internal(job.path, error),), internal=True)
    checked = Checked(
        job.path,
        "",
        _extent(analysis),
        analysis.findings,
        (*analysis.problems, *(located(failure.problem, source.cells) for failure in analysis.internal)),
        analysis.unused_suppressions,
        resolved,
        _entries(analysis, job.settings.entries),
        internal=bool(analysis.internal),
    )
    return with_source(checked, source)


def with_source(checked: Checked, source: Read) -> Checked:
    """The same with what its places refer to, as far as it has any."""
    if source.cells is None:
        shown = checked.findings or checked.unused_suppressions
        return replace(checked, text=source.text) if shown else checked
    return replace(checked, text=source.text, cells=source.cells, lines=source.lines)


def _resolved(
    source: Read, analysis: core.Analysis, finding: Finding, offer: Offer, program: core.ProgramView
) -> Change | Refusal:
    if analysis.problems:
        return Refusal(offer.kind, "unsupported", "the file does not parse")
    change = core.resolve(analysis, finding, offer, program=program)
    if source.cells is None or isinstance(change, Refusal):
        return change
    return source.cells.fitting(change, offer.kind)


def _extent(analysis: core.Analysis) -> Extent:
    if not analysis.problems:
        return "whole"
    parsed = analysis.parsed
    return "part" if parsed is not None and any(chunk.nodes for chunk in parsed.chunks) else "none"


def _entries(analysis: core.Analysis, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the names that the file has, or may have in a part that does not parse."""
    near = [name for name in names if name.rpartition(".")[2] in analysis.text]
    if not near or analysis.parsed is None or analysis.problems:
        return tuple(near)
    module = Module(analysis.path, analysis.parsed, "", False)
    return tuple(name for name in near if module.find(name) is not None)


def fix_file(job: Job) -> Fixed:
    """Mend the text of one file; nothing is written.  Whatever goes wrong becomes a problem of this file."""
    try:
        source = job.read()
    except files.SourceError as error:
        return Fixed(job.path, problems=(Problem(job.path, None, str(error)),))
    try:
        if source.cells is not None and source.cells.failures:
            checked = core.check(source.text, job.path, program=job.program, settings=job.settings)
            return _left_alone(job, source, source.placed(checked))
        mended = core.mend(
            source.text, job.path, program=job.program, settings=job.settings, accept=core.Accept(job.unsafe)
        )
        if mended.text == source.text and mended.analysis.problems:
            return _left_alone(job, source, mended.analysis)
        text, cells = source.mended(mended)
    except files.SourceError as error:
        return Fixed(job.path, source.file, source.file.text, problems=(Problem(job.path, None, str(error)),))
    except Exception as error:
        return Fixed(job.path, source.file, source.file.text, problems=(_internal(job.path, error),))
    if mended.analysis.problems:  # it was analysed before: the edits must have broken it
        broken = mended.analysis.problems[0].message
        reason = f"internal error: the mended text is not valid ({broken}); not written; please report"
        return Fixed(job.path, source.file, text, len(mended.applied), problems=(Problem(job.path, None, reason),))
    return Fixed(
        job.path,
        source.file,
        text,
        len(mended.applied),
        len(mended.analysis.findings),
        tuple(mended.creates),
        entries=_entries(mended.analysis, job.settings.entries),
        internal=tuple(located(failure.problem, cells) for failure in mended.analysis.internal),
    )


def _left_alone(job: Job, source: Read, analysis: core.Analysis) -> Fixed:
    """What comes of a file that does not parse."""
    return Fixed(
        job.path,
        source.file,
        source.file.text,
        problems=tuple(replace(p, message=f"{p.message}; left alone") for p in analysis.problems),
        parses=False,
        entries=_entries(analysis, job.settings.entries),
        internal=tuple(located(failure.problem, source.cells) for failure in analysis.internal),
    )


def _internal(path: str, error: Exception) -> Problem:
    """An error of ours, with the innermost place, which is what a report needs."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return Problem(path, None, f"internal error: {type(error).__name__}: {error}{place}; please report")
