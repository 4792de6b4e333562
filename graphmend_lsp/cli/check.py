"""``graphmend check``: find the lines that split torch.compile graphs."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from graphmend_lsp.cli import options as shared

if TYPE_CHECKING:
    from graphmend_lsp.cli.baselines import Mode

_EPILOG = """\
exit status:
  0  nothing found, or nothing that is not in the baseline; --exit-zero, --write-baseline
  1  findings
  2  an error: a file that cannot be read or parsed, a wrong option, a baseline that cannot be read
  130  interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from graphmend_lsp.cli.output import FORMATS

    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    shared.add_file_arguments(parser)
    parser.add_argument("--output-format", "--format", choices=FORMATS, default="full", help="default: full")
    parser.add_argument("-o", "--output-file", metavar="FILE", help="write to FILE, not to standard output")
    parser.add_argument("--statistics", action="store_true", help="how often each rule found something, no findings")
    known = parser.add_argument_group("findings that are known")
    known.add_argument("--baseline", metavar="FILE", help="report only what is not in FILE")
    mode = known.add_mutually_exclusive_group()
    mode.add_argument("--write-baseline", action="store_true", help="write what these files have into the baseline")
    mode.add_argument("--update-baseline", action="store_true", help="take what is no longer found out of it")
    runs = parser.add_argument_group("how it runs")
    runs.add_argument("--watch", action="store_true", help="check again whenever a file changes, until interrupted")
    runs.add_argument("-j", "--jobs", type=_jobs, metavar="N", help="processes (default: one a core)")
    runs.add_argument("--no-cache", action="store_true", help="neither read nor write results of earlier runs")


def _jobs(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"not a number of processes: {text!r}")
    return count


def run(options: argparse.Namespace) -> int:
    from graphmend_lsp.cli import output
    from graphmend_lsp.cli.main import EXIT_ERROR
    from graphmend_lsp.project import store

    wrong = ""
    if options.statistics and options.output_format not in (*output.TEXT, "json"):
        wrong = f"--statistics is text or json, not {options.output_format}"
    elif options.watch and (options.output_format not in output.TEXT or options.output_file):
        wrong = "--watch writes text to the terminal: no other format, no file"
    elif options.watch and (options.write_baseline or options.update_baseline):
        wrong = "--watch does not write baselines"
    elif options.watch and ("-" in options.paths or options.stdin_filename):
        wrong = "--watch looks at files, not at standard input"
    if wrong:
        print(f"graphmend check: error: {wrong}", file=sys.stderr)
        return EXIT_ERROR
    store.keep(not options.no_cache)
    if options.watch:
        from graphmend_lsp.cli import watch

        return watch.run(options, once)
    return once(options)


def once(options: argparse.Namespace) -> int:
    """One check of everything; the result is the exit status."""
    from graphmend_lsp.cli import output, report, terminal, work
    from graphmend_lsp.cli.baselines import Baselines
    from graphmend_lsp.cli.main import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS
    from graphmend_lsp.cli.results import Results, default_jobs, forget, found

    forget()
    form = options.output_format
    plan = work.plan(
        options.paths,
        options.stdin_filename,
        shared.overrides(options),
        resolve=form in output.WITH_EDITS and not options.statistics,
        force_exclude=options.force_exclude,
        baseline=None if options.baseline is None else os.path.abspath(options.baseline),
    )
    terminal.complain(plan.warnings, "warning")
    terminal.complain(plan.problems)
    mode: Mode = "write" if options.write_baseline else "update" if options.update_baseline else "use"
    if mode != "use" and plan.jobs and all(job.baseline is None for job in plan.jobs):
        print(f"graphmend check: error: --{mode}-baseline needs --baseline FILE or a configured one", file=sys.stderr)
        return EXIT_ERROR
    progress = terminal.Progress(len(plan.jobs))
    target = output.Target(options.output_file)
    written = output.output(form, options.statistics, target.stream, progress.clear)
    totals, entries, baselines = report.Totals(), work.Entries(), Baselines(mode)
    failed = bool(plan.problems)
    results = found(plan.jobs, Results(not options.no_cache), options.jobs or default_jobs())
    for done, (job, checked) in enumerate(results, 1):
        entries.add(job, checked.entries)
        checked = baselines.apply(job, checked)
        totals.add(checked)
        written.add(checked)
        if checked.problems:
            failed = True
            progress.clear()
            sys.stdout.flush()
            terminal.complain(checked.problems)
        progress.step(done)
    progress.clear()
    said = baselines.end()
    problems = (*plan.problems, *baselines.problems)
    written.end(problems, totals.line(0 if mode == "write" else baselines.hidden))
    sys.stdout.flush()
    late = (*baselines.problems, *target.end())
    terminal.complain(late)
    terminal.note([*said, *entries.unmatched()])
    if failed or late:
        return EXIT_ERROR
    return EXIT_FINDINGS if totals.findings and not options.exit_zero else EXIT_CLEAN
