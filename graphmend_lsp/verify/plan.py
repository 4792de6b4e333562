"""What is to be compared: the texts of the mended program, the entries, the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from graphmend_lsp import check as core
from graphmend_lsp.finding import Applied, Change, Finding, Offer
from graphmend_lsp.project import files
from graphmend_lsp.project.inputs import Source
from graphmend_lsp.project.program import DiskProgram
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import apply_edits

BACKENDS = ("aot_eager", "inductor")


class PlanError(Exception):
    """Nothing can be compared: what is wrong with which file."""

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


@dataclass(frozen=True)
class Options:
    """How to compare; ``timeout`` in seconds, for all entries of a file together."""

    backends: tuple[str, ...] = BACKENDS
    calls: int = 2
    inputs: tuple[Source, ...] = ()
    init: Source | None = None
    dtype: str = ""
    """Module and floating-point inputs are cast to it first; "" leaves them."""
    device: str = ""
    """Module and inputs are moved there first; "" leaves them."""
    timeout: float = 1800.0


@dataclass(frozen=True)
class Plan:
    """One file's comparison.  ``original`` and ``mended`` are the texts that stand for files, by absolute path."""

    path: str
    entries: tuple[str, ...]
    choose: bool
    original: Mapping[str, str]
    mended: Mapping[str, str]
    applied: tuple[Applied, ...] = ()
    against: str = ""
    options: Options = Options()
    left: int = 0
    """Findings that no applied offer mends."""


Accept = Callable[[Finding, Offer], bool]


def mended_plan(
    path: str,
    others: Sequence[str],
    *,
    entry: str = "",
    settings: Callable[[str], Settings],
    program: DiskProgram,
    accept: Accept,
    options: Options,
    texts: Mapping[str, str] | None = None,
) -> Plan:
    """Compare a file with its mended form; ``others`` are further files to mend, ``texts`` unsaved buffers.

    Raises:
        PlanError: a file cannot be read or does not parse.
    """
    texts = texts or {}
    original: dict[str, str] = dict(texts)
    mended: dict[str, str] = dict(texts)
    applied: list[Applied] = []
    named: list[str] = []
    left = 0
    for each in dict.fromkeys((path, *others)):
        text = texts[each] if each in texts else _read(each)
        original[each] = text
        chosen = settings(each)
        result = core.mend(text, each, program=program.for_file(each, chosen.runtime), settings=chosen, accept=accept)
        if result.analysis.problems:
            problem = result.analysis.problems[0]
            raise PlanError(each, problem.message, problem.line)
        mended[each] = result.text
        mended.update({new.path: new.text for new in result.creates})
        applied += [Applied.of(each, finding, offer) for finding, offer in result.applied]
        left += sum(finding.code != "GM001" for finding in result.analysis.findings)
        findings = [finding for finding, _ in result.applied] + list(result.analysis.findings)
        named += [name.name for finding in findings for name in finding.entries if (name.path or each) == path]
    names = (entry,) if entry else tuple(dict.fromkeys(name for name in named if "<" not in name))
    return Plan(path, names, not entry, original, mended, tuple(applied), options=options, left=left)


def offer_plan(
    path: str,
    change: Change,
    finding: Finding,
    offer: Offer,
    *,
    texts: Mapping[str, str],
    options: Options,
) -> Plan:
    """Compare a file with what one offer makes of it; ``texts`` holds the file and all unsaved buffers.

    The entries are those that the finding is said to cost; where they stand in another file, that one is run.
    """
    named = [name for name in finding.entries if "<" not in name.name]
    target = next((name.path for name in named if name.path), None) if all(name.path for name in named) else None
    target = target or path
    names = tuple(dict.fromkeys(name.name for name in named if (name.path or path) == target))
    mended = {**texts, path: apply_edits(texts[path], change.edits), **{new.path: new.text for new in change.creates}}
    original = texts if target in texts else {**texts, target: _read(target)}
    return Plan(
        target, names, True, original, {**original, **mended}, (Applied.of(path, finding, offer),), options=options
    )


def against_plan(path: str, other: str, *, entry: str = "", options: Options) -> Plan:
    """Compare a file with another one that is to take its place.

    Raises:
        PlanError: one of them cannot be read.
    """
    original, mended = {path: _read(path)}, {path: _read(other)}
    return Plan(path, (entry,) if entry else (), not entry, original, mended, against=other, options=options)


def _read(path: str) -> str:
    try:
        return files.read(path).text
    except files.SourceError as error:
        raise PlanError(path, str(error)) from error
