"""``graphmend check``: find the lines that split torch.compile graphs."""

from __future__ import annotations

import argparse
import sys

from graphmend_lsp.cli import options as shared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_file_arguments(parser)
    parser.add_argument("--output-format", choices=("full", "concise", "json"), default="full")


def run(options: argparse.Namespace) -> int:
    from graphmend_lsp.cli import report, terminal, work
    from graphmend_lsp.cli.main import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS

    as_json = options.output_format == "json"
    plan = work.plan(options.paths, options.stdin_filename, shared.overrides(options), resolve=as_json)
    terminal.complain(plan.warnings, "warning")
    terminal.complain(plan.problems)
    paint = terminal.paint_for(sys.stdout)
    show = report.full if options.output_format == "full" else report.concise
    progress = terminal.Progress(len(plan.jobs))
    failed = bool(plan.problems)
    kept: list[work.Checked] = []
    totals = report.Totals()
    entries = work.Entries()
    for done, job in enumerate(plan.jobs, 1):
        checked = work.check_file(job)
        failed = failed or bool(checked.problems)
        totals.add(checked)
        entries.add(job, checked.entries)
        if as_json:
            kept.append(checked)
        elif text := show(checked, paint):
            progress.clear()
            sys.stdout.write(text)
        if checked.problems:
            progress.clear()
            sys.stdout.flush()
            terminal.complain(checked.problems)
        progress.step(done)
    progress.clear()
    if as_json:
        import json

        json.dump(report.as_json(kept, plan.problems), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print(totals.line())
    terminal.note(entries.unmatched())
    if failed:
        return EXIT_ERROR
    return EXIT_FINDINGS if totals.findings and not options.exit_zero else EXIT_CLEAN
