"""The baselines of one run of ``graphmend check``: what they hide, what of them is stale, and writing them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from graphmend_lsp.cli.terminal import counted, shown
from graphmend_lsp.cli.work import STDIN, Checked, Job
from graphmend_lsp.finding import Finding, Problem
from graphmend_lsp.project.baseline import Baseline, BaselineError, Entry, entries_of, load

Mode = Literal["use", "write", "update"]
"""Hide what is known; make the baseline of what is found; take out of it what is not found any more."""
_NAMED = 5
"""How many stale entries are named."""


class Baselines:
    """One file each for those that the configurations of the files name, or one for all."""

    def __init__(self, mode: Mode = "use") -> None:
        self.mode: Mode = mode
        self.problems: list[Problem] = []
        """Baselines that cannot be read."""
        self.hidden = 0
        self._loaded: dict[str, Baseline | None] = {}
        self._seen: dict[str, dict[str, _Seen]] = {}
        self._without = 0

    def apply(self, job: Job, checked: Checked) -> Checked:
        """The file without the findings that its baseline has."""
        if job.baseline is None or job.path == STDIN:
            self._without += bool(checked.findings)
            return checked
        baseline = self._of(job.baseline)
        if baseline is None:
            return checked
        # what is counted is what the file has, not what the rules of this run let through
        self._seen.setdefault(job.baseline, {})[baseline.name(job.path)] = _Seen(job, checked)
        if self.mode == "write":
            self.hidden += len(checked.findings)
            return _keeping(checked, frozenset(range(len(checked.findings))))
        known = baseline.known(job.path, checked.findings, checked.text)
        self.hidden += len(known)
        return _keeping(checked, known)

    def end(self) -> list[str]:
        """Write what is to be written; what to say of the baselines."""
        said: list[str] = []
        for path, seen in self._seen.items():
            baseline = self._loaded[path]
            assert baseline is not None
            said += self._written(baseline, seen) if self.mode == "write" else self._judged(baseline, seen)
        if self.mode == "write" and self._without:
            said.append(f"{counted(self._without, 'file')} with findings without a baseline: name one with --baseline")
        return said

    def _of(self, path: str) -> Baseline | None:
        if path not in self._loaded:
            try:
                self._loaded[path] = load(path)
            except BaselineError as error:
                writing = self.mode == "write"
                self._loaded[path] = Baseline(path) if writing else None
                if not writing:
                    self.problems.append(Problem(path, error.line, str(error)))
        return self._loaded[path]

    def _written(self, baseline: Baseline, seen: dict[str, _Seen]) -> Iterator[str]:
        files = {name: entries for name, entries in baseline.files.items() if os.path.isfile(baseline.place(name))}
        for name, each in seen.items():
            files[name] = each.merged(files.get(name, ()))
        made = replace(baseline, files=files)
        if self._stored(made):
            total = sum(entry.count for entries in files.values() for entry in entries)
            where = counted(sum(map(bool, files.values())), "file")
            yield f"wrote {shown(made.path)}: {counted(total, 'finding')} in {where}"

    def _judged(self, baseline: Baseline, seen: dict[str, _Seen]) -> Iterator[str]:
        stale: list[str] = []
        kept: dict[str, tuple[Entry, ...]] = {}
        count = 0
        for name, entries in baseline.files.items():
            left: list[Entry] = []
            for entry in entries:
                now = entry.count
                if name in seen:
                    now = min(now, seen[name].count(entry))
                elif not os.path.isfile(baseline.place(name)):
                    now = 0
                if now < entry.count:
                    count += entry.count - now
                    stale.append(f"{shown(baseline.place(name))}: {entry.code} {entry.statement}")
                if now:
                    left.append(replace(entry, count=now))
            if left:
                kept[name] = tuple(left)
        if not count:
            return
        what = f"{counted(count, 'finding')} of {shown(baseline.path)}"
        if self.mode == "update":
            if self._stored(replace(baseline, files=kept)):
                yield f"took {what} out of it: no longer found"
            return
        be, them = ("is", "it") if count == 1 else ("are", "them")
        yield f"{what} {be} no longer found; --update-baseline takes {them} out:"
        yield from (f"  {each}" for each in stale[:_NAMED])
        if len(stale) > _NAMED:
            yield f"  and {len(stale) - _NAMED} more"

    def _stored(self, baseline: Baseline) -> bool:
        try:
            baseline.write()
        except BaselineError as error:
            self.problems.append(Problem(baseline.path, None, str(error)))
            return False
        return True


class _Seen:
    """What was found in a file of a baseline, and what could have been."""

    def __init__(self, job: Job, checked: Checked) -> None:
        self._job = job
        self._whole = checked.extent == "whole" and not checked.problems
        self._found = entries_of(checked.findings, checked.text)
        self._counts = {entry.key: entry.count for entry in self._found}

    def count(self, entry: Entry) -> int:
        """How often an entry was found; as often as it was, where that is not known."""
        if self._whole and self._job.settings.wants(entry.code):
            return self._counts.get(entry.key, 0)
        return entry.count

    def merged(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """The entries of the file now: those found, and those of which nothing is known."""
        unknown = {e.key: e for e in before if not (self._whole and self._job.settings.wants(e.code))}
        for entry in self._found:
            other = unknown.get(entry.key)
            unknown[entry.key] = entry if other is None or other.count < entry.count else other
        return tuple(unknown.values())


def _keeping(checked: Checked, known: frozenset[int]) -> Checked:
    """The file without the findings with these numbers."""
    if not known:
        return checked
    kept = [number for number in range(len(checked.findings)) if number not in known]
    findings: tuple[Finding, ...] = tuple(checked.findings[number] for number in kept)
    resolved = tuple(checked.resolved[number] for number in kept) if checked.resolved else ()
    return replace(checked, findings=findings, resolved=resolved)
