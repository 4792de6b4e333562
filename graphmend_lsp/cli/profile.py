"""``graphmend profile``: compile an entry, count its graphs and time it, as it is and mended."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from graphmend_lsp.cli import options as shared
from graphmend_lsp.cli.main import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS
from graphmend_lsp.finding import Problem

if TYPE_CHECKING:
    from graphmend_lsp.profile.plan import Options, Plan
    from graphmend_lsp.profile.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("target", metavar="PATH::NAME", help="a file and a function, method or nn.Module class in it")
    parser.add_argument(
        "--capture",
        metavar="COMMAND",
        help='take the arguments of the first call in this program: "python train.py --steps 1", "pytest t.py::test"',
    )
    parser.add_argument(
        "--inputs", action="append", metavar="FILE::FUNCTION", default=[], help="makes the arguments; repeatable"
    )
    parser.add_argument("--init", metavar="FILE::FUNCTION", help="makes the constructor's arguments")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: CUDA where there is one")
    parser.add_argument("--dtype", metavar="DTYPE", help="cast module and inputs: float64, float16, bfloat16 ...")
    parser.add_argument("--training", action="store_true", help="training mode with the backward pass (default: eval)")
    parser.add_argument(
        "--compare",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure the mended code, too (default)",
    )
    parser.add_argument("--unsafe", action="store_true", help="the mended code has fixes that change behaviour, too")
    parser.add_argument(
        "--mend",
        action="append",
        metavar="FILE|FOLDER",
        default=[],
        help="what may be mended beside the file itself (default: its project or package); repeatable",
    )
    parser.add_argument("--no-timing", action="store_true", help="only count graphs and breaks: seconds, no compiler")
    parser.add_argument("--backend", choices=("inductor", "aot_eager", "eager"), default="inductor")
    parser.add_argument("--mode", metavar="MODE", default="", help="torch.compile's: reduce-overhead, max-autotune ...")
    parser.add_argument("--python", metavar="PATH", help="the interpreter that has torch and the project's packages")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=1800.0, help="default: 1800")
    parser.add_argument("--json", action="store_true", help="print the report as JSON (docs/profile.schema.json)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page with pictures, too")
    parser.add_argument(
        "--fail-on-breaks",
        metavar="N",
        type=int,
        help="exit with status 1 if more than N places break the graph (in the code as it is)",
    )
    shared.add_rule_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Exit 0; 1 with more break sites than ``--fail-on-breaks`` allows; 2 where there is no profile."""
    from graphmend_lsp.cli import terminal
    from graphmend_lsp.profile.run import profile
    from graphmend_lsp.project.interpreter import interpreter_for
    from graphmend_lsp.project.layout import NOT_RUN, is_notebook

    path, _, entry = str(options.target).rpartition("::")
    if not path or not entry:
        terminal.complain((Problem(options.target, None, "name what to profile as FILE::NAME"),))
        return EXIT_ERROR
    path = os.path.abspath(path)
    try:
        if is_notebook(path):
            raise ValueError(NOT_RUN)
        if not os.path.isfile(path):
            raise ValueError("there is no such file")
        plan = _plan(options, path, entry)
        python = interpreter_for(path, options.python, os.getcwd())
    except (ValueError, FileNotFoundError) as error:
        terminal.complain((Problem(path, None, str(error)),))
        return EXIT_ERROR
    show = terminal.Status()
    report = profile(plan, python, folder=os.getcwd(), progress=lambda text, done: show(f"{done:3} % {text}"))
    show.clear()
    if not _tell(options, plan, report):
        return EXIT_ERROR
    if report.failure is not None or report.original is None:
        return EXIT_ERROR
    limit = options.fail_on_breaks
    return EXIT_FINDINGS if limit is not None and len(report.original.sites) > limit else EXIT_CLEAN


def _tell(options: argparse.Namespace, plan: Plan, report: Report) -> bool:
    """Print the report, and write the page; False if that cannot be written."""
    from graphmend_lsp.cli import terminal

    if options.json:
        import json

        json.dump(report.as_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        from graphmend_lsp.profile.text import Writer

        for line in Writer(terminal.paint_for(sys.stdout), terminal.shown).lines(report):
            print(line)
    if options.html:
        from graphmend_lsp.profile.html import page
        from graphmend_lsp.profile.sources import texts_of

        try:
            with open(options.html, "w", encoding="utf-8") as stream:
                stream.write(page(report, texts_of(report, plan.texts)))
        except OSError as error:
            terminal.complain((Problem(options.html, None, f"cannot be written: {error.strerror or error}"),))
            return False
    return True


def _plan(options: argparse.Namespace, path: str, entry: str) -> Plan:
    from graphmend_lsp.check import Accept
    from graphmend_lsp.profile.plan import Mending, Plan
    from graphmend_lsp.project.config import load_for
    from graphmend_lsp.project.layout import project_extent
    from graphmend_lsp.project.program import DiskProgram

    overrides = shared.overrides(options)
    mending = Mending(
        DiskProgram((os.getcwd(), load_for(path).root)),
        lambda each: overrides.over(load_for(each).settings_for(each)),
        Accept(options.unsafe or load_for(path).unsafe_fixes),
        tuple(os.path.abspath(each) for each in options.mend) or (project_extent(path)[0],),
    )
    return Plan(path, entry, mending if options.compare else None, options=_options(options, path, entry))


def _options(options: argparse.Namespace, path: str, entry: str) -> Options:
    from graphmend_lsp.profile.plan import Capture, Options, configured_options
    from graphmend_lsp.project.inputs import DTYPES, Source

    here = os.getcwd()
    inputs, init, capture = configured_options(path, entry)
    named = tuple(Source.parse(each, here) for each in options.inputs)
    if options.dtype not in (None, *DTYPES):
        raise ValueError(f"--dtype must be one of {', '.join(DTYPES)}")
    if options.capture:
        capture = Capture.parse(options.capture, here)
    elif inputs or named:
        capture = None
    return Options(
        device=options.device or "",
        dtype=options.dtype or "",
        inputs=named or inputs,
        init=init if options.init is None else Source.parse(options.init, here),
        capture=capture,
        training=options.training,
        compare=options.compare,
        timing=not options.no_timing,
        backend=options.backend,
        mode=options.mode,
        timeout=options.timeout,
    )
