"""``graphmend fix``: mend files where behaviour is provably kept."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from graphmend_lsp.cli import options as shared

if TYPE_CHECKING:
    from graphmend_lsp.cli.work import Fixed
    from graphmend_lsp.finding import NewFile, Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_file_arguments(parser)
    parser.add_argument("--diff", action="store_true", help="only show what would change; exit 1 if anything would")
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="also apply fixes that change behaviour (`graphmend check` says how)",
    )


def run(options: argparse.Namespace) -> int:
    from graphmend_lsp.cli import diff, garbage, terminal, work
    from graphmend_lsp.cli.main import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS

    plan = work.plan(
        options.paths,
        options.stdin_filename,
        shared.overrides(options),
        unsafe=options.unsafe,
        force_exclude=options.force_exclude,
    )
    terminal.complain(plan.warnings, "warning")
    terminal.complain(plan.problems)
    failed = bool(plan.problems)
    progress = terminal.Progress(len(plan.jobs))
    created: dict[str, NewFile] = {}
    mended = changed = left = good = broken = 0
    entries = work.Entries()
    for done, job in enumerate(garbage.between(plan.jobs), 1):
        fixed = work.fix_file(job)
        entries.add(job, fixed.entries)
        broken += not fixed.parses
        new = {file.path: file for file in fixed.creates if file.path not in created}
        problems = fixed.problems
        if fixed.source is not None and fixed.text != fixed.source.text and not problems:
            progress.clear()
            if options.diff:
                diff.show(fixed, list(new.values()))
            else:
                problems = _apply(fixed, list(new.values()), job.data is not None)
        elif job.data is not None and fixed.source is not None and not options.diff:
            _pass_through(fixed)
        if problems:
            progress.clear()
            terminal.complain(problems)
            failed = True
            left += fixed.applied + fixed.left
        else:
            good += 1
            created.update(new)
            mended += fixed.applied
            changed += bool(fixed.applied)
            left += fixed.left
        if fixed.internal:
            progress.clear()
            terminal.complain(fixed.internal)
            failed = True
        progress.step(done)
    progress.clear()
    terminal.note(entries.unmatched())
    if options.diff:
        would = _summary("Would mend", mended, changed, left, good, broken)
        print(would, file=sys.stderr)
        return EXIT_ERROR if failed else EXIT_FINDINGS if changed else EXIT_CLEAN
    stream = sys.stderr if any(job.data is not None for job in plan.jobs) else sys.stdout
    for path in created:
        print(f"Wrote {terminal.shown(path)}, which the mended code imports.", file=stream)
    print(_summary("Mended", mended, changed, left, good, broken), file=stream)
    if failed:
        return EXIT_ERROR
    return EXIT_FINDINGS if left and not options.exit_zero else EXIT_CLEAN


def _summary(verb: str, mended: int, changed: int, left: int, good: int, broken: int) -> str:
    """The closing line; ``good`` files had no problem, ``broken`` ones do not parse."""
    from graphmend_lsp.cli.terminal import counted

    rest = f" ({left} left: run graphmend check to see why)" if left else ""
    parts: list[str] = []
    if mended:
        parts.append(f"{verb} {counted(mended, 'finding')} in {counted(changed, 'file')}{rest}")
    elif left:
        parts.append(f"Nothing to mend in {counted(good, 'file')}{rest}")
    elif good:
        parts.append(f"No findings in {counted(good, 'file')}")
    if broken:
        parts.append(f"{counted(broken, 'file')} left alone: {'it does' if broken == 1 else 'they do'} not parse")
    return ("; ".join(parts) or "Nothing was mended") + "."


def _apply(fixed: Fixed, creates: list[NewFile], to_stdout: bool) -> tuple[Problem, ...]:
    """Write the mended file and first what it imports."""
    from graphmend_lsp.finding import Problem
    from graphmend_lsp.project import files, vendored

    assert fixed.source is not None
    path = fixed.path
    try:
        data = fixed.source.encode(fixed.text)  # refuse before anything is written
        for new in creates:
            path = new.path
            vendored.write(new)
        path = fixed.path
        if to_stdout:
            _write_bytes(data)
        else:
            files.write(fixed.source, fixed.text)
    except files.SourceError as error:
        if to_stdout:
            _pass_through(fixed)
        return (Problem(path, None, str(error)),)
    return ()


def _pass_through(fixed: Fixed) -> None:
    """Standard input as it came, so that an editor that filters a buffer never loses it."""
    assert fixed.source is not None
    _write_bytes(fixed.source.data)


def _write_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
