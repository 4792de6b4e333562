"""``graphmend verify``: run original and mended code and compare what they do."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from graphmend_lsp.cli import options as shared

if TYPE_CHECKING:
    from graphmend_lsp.verify.plan import Options, Plan
    from graphmend_lsp.verify.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="+", metavar="PATH[::ENTRY]", help="a file, and a function or class in it that is compiled"
    )
    parser.add_argument("--against", metavar="FILE", help="compare with this file instead of the mended one")
    parser.add_argument(
        "--mend", action="append", default=[], metavar="FILE", help="mend this file as well; repeatable"
    )
    parser.add_argument(
        "--inputs",
        action="append",
        default=[],
        metavar="FILE::FUNCTION",
        help="a function that returns arguments; repeatable (default: the file's example_inputs() or get_inputs())",
    )
    parser.add_argument(
        "--init",
        metavar="FILE::FUNCTION",
        help="a function that returns the constructor's arguments (default: get_init_inputs() of the file)",
    )
    parser.add_argument(
        "--backend",
        action="append",
        metavar="NAME",
        help="compile with this backend, beside eager; repeatable (default: aot_eager and inductor; none: eager only)",
    )
    parser.add_argument("--dtype", metavar="NAME", help="cast module and inputs first: float16, bfloat16 ...")
    parser.add_argument("--device", metavar="NAME", help="move module and inputs there first: cuda, cpu ...")
    parser.add_argument("--calls", type=int, default=2, metavar="N", help="calls on one instance (default 2)")
    parser.add_argument("--unsafe", action="store_true", help="also apply fixes that change behaviour")
    parser.add_argument("--python", metavar="PATH", help="the interpreter to run the code in")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="SECONDS", help="for one file (default 1800)")
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    shared.add_rule_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from graphmend_lsp.cli import terminal
    from graphmend_lsp.cli.main import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS
    from graphmend_lsp.finding import Problem
    from graphmend_lsp.project.config import load_for
    from graphmend_lsp.project.interpreter import interpreter_for
    from graphmend_lsp.verify.plan import PlanError
    from graphmend_lsp.verify.run import verify

    reports: list[Report] = []
    failed = False
    show = terminal.Status()
    if options.calls < 1:
        terminal.note(["--calls must be at least 1"])
        return EXIT_ERROR
    warned: dict[Problem, None] = {}
    for target in options.targets:
        path, entry = _split(target)
        known = len(warned)
        warned.update(dict.fromkeys(load_for(path).problems))
        terminal.complain(tuple(warned)[known:], "warning")
        try:
            plan = _plan(options, path, entry)
            python = interpreter_for(path, options.python, os.getcwd())
        except PlanError as error:
            terminal.complain((Problem(error.path, error.line, str(error)),))
            failed = True
            continue
        except (ValueError, FileNotFoundError) as error:
            terminal.complain((Problem(path, None, str(error)),))
            failed = True
            continue
        report = verify(plan, python, folder=os.getcwd(), progress=show)
        show.clear()
        reports.append(report)
        if options.output_format == "full":
            from graphmend_lsp.verify.text import Writer

            for line in Writer(terminal.paint_for(sys.stdout), terminal.shown).lines(report):
                print(line)
            sys.stdout.flush()
    if options.output_format == "json":
        import json

        data: dict[str, Any] = {"version": 1, "files": [report.as_json() for report in reports]}
        json.dump(data, sys.stdout, indent=2)
        sys.stdout.write("\n")
    verdicts = {entry.verdict for report in reports for entry in report.entries}
    if "different" in verdicts:
        return EXIT_FINDINGS
    return EXIT_ERROR if failed or "inconclusive" in verdicts else EXIT_CLEAN


def _split(target: str) -> tuple[str, str]:
    path, mark, entry = target.rpartition("::")
    return (os.path.abspath(path), entry) if mark else (os.path.abspath(target), "")


def _plan(options: argparse.Namespace, path: str, entry: str) -> Plan:
    from graphmend_lsp.check import Accept
    from graphmend_lsp.project.config import load_for
    from graphmend_lsp.project.layout import NOT_RUN, is_notebook
    from graphmend_lsp.project.program import DiskProgram
    from graphmend_lsp.verify import plan

    named: list[str] = [path, *options.mend, *([] if options.against is None else [options.against])]
    for each in filter(is_notebook, named):
        raise plan.PlanError(os.path.abspath(each), NOT_RUN)
    chosen = _options(options, path, entry)
    if options.against is not None:
        return plan.against_plan(path, os.path.abspath(options.against), entry=entry, options=chosen)
    overrides = shared.overrides(options)
    wanted = overrides if not entry else overrides.with_entry(entry)
    return plan.mended_plan(
        path,
        [os.path.abspath(other) for other in options.mend],
        entry=entry,
        settings=lambda each: wanted.over(load_for(each).settings_for(each)),
        program=DiskProgram((os.getcwd(), load_for(path).root)),
        accept=Accept(options.unsafe or load_for(path).unsafe_fixes),
        options=chosen,
    )


def _options(options: argparse.Namespace, path: str, entry: str) -> Options:
    from graphmend_lsp.project.inputs import DTYPES, Source, configured
    from graphmend_lsp.verify import plan

    backends: list[str] = list(plan.BACKENDS) if options.backend is None else options.backend
    here = os.getcwd()
    inputs, init = configured(path, entry)
    if options.dtype not in (None, *DTYPES):
        raise ValueError(f"--dtype must be one of {', '.join(DTYPES)}")
    return plan.Options(
        tuple(dict.fromkeys(name for name in backends if name not in ("none", "eager"))),
        options.calls,
        tuple(Source.parse(each, here) for each in options.inputs) or inputs,
        init if options.init is None else Source.parse(options.init, here),
        options.dtype or "",
        options.device or "",
        options.timeout,
    )
