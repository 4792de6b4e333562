"""``graphmend run``: run a program with its code mended in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphmend_lsp.cli.main import EXIT_ERROR
from graphmend_lsp.hook.options import Options, split

if TYPE_CHECKING:
    import argparse

_LISTS = ("--mend", "--select", "--ignore", "--entry")
_TO_STDERR = "-"


def main(arguments: Sequence[str]) -> int:
    """The command; what the program raises comes through, as its exit status does."""
    ours, program = _parts(arguments)
    given = _read(ours)
    if given is None or not program or program == ["-m"]:
        return _explain(ours)
    is_module = program[0] == "-m"
    if program[0].endswith(".ipynb"):
        from graphmend_lsp.project.layout import NOT_RUN  # its imports cost a start more than they are worth

        print(f"error: {program[0]}: {NOT_RUN}", file=sys.stderr)
        return EXIT_ERROR
    try:
        names, folders = split(given.get("--mend", ()))
        select, ignore = _codes(given.get("--select")), _codes(given.get("--ignore"))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_ERROR
    if "--mend" not in given:
        folders = (_project(os.getcwd() if is_module else os.path.dirname(os.path.realpath(program[0]))),)
    entries = tuple(given.get("--entry", ()))
    _install(Options(names, folders, "--unsafe" in given, select, ignore or (), entries), given.get("--report"))
    from graphmend_lsp.hook import launch

    if is_module:
        return launch.module(program[1], program[2:])
    return launch.script(program[0], program[1:])


def _parts(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our options as ``--name=value``; the program with its arguments, which are its own whatever they look like."""
    ours: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "--"):
        option = rest.pop(0)
        if option in _LISTS and rest:
            option = f"{option}={rest.pop(0)}"
        ours.append(f"--report={_TO_STDERR}" if option == "--report" else option)
    if rest[:1] == ["--"]:
        rest.pop(0)
    return ours, rest


def _read(ours: Sequence[str]) -> dict[str, list[str]] | None:
    """The options by name, lists joined; None for help and mistakes.

    By hand: importing argparse takes as long as everything else that happens before the program runs.
    """
    found: dict[str, list[str]] = {}
    for text in ours:
        option, equals, value = text.partition("=")
        if option in _LISTS and equals:
            found.setdefault(option, []).extend(item for part in value.split(",") if (item := part.strip()))
        elif option == "--report" and value:
            found[option] = [value]
        elif text == "--unsafe":
            found[option] = []
        else:
            return None
    return found


def _explain(ours: Sequence[str]) -> int:
    """Print the help, or what is wrong."""
    parser = _parser()
    try:
        parser.parse_args(ours)
        parser.error("a script or -m MODULE is required")
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else EXIT_ERROR


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="graphmend run",
        usage="graphmend run [OPTION ...] (SCRIPT | -m MODULE) [ARGUMENT ...]",
        description="Run a program in this interpreter with its code mended in memory; no file is touched.",
        epilog="Processes that the program starts mend the same. What follows SCRIPT or MODULE is the program's.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--mend",
        action="append",
        metavar="PACKAGE|PATH",
        help="a package with its submodules, or a folder or file (with a / in it); repeatable. "
        "Default: the project of the script, or of the current folder with -m: the files below the nearest "
        "folder with a pyproject.toml, setup.py, setup.cfg or .git, else below the script's own folder",
    )
    parser.add_argument("--unsafe", action="store_true", help="also apply fixes that change behaviour")
    parser.add_argument("--select", action="append", metavar="CODES", help="only these rules (GM101,GM2)")
    parser.add_argument("--ignore", action="append", metavar="CODES", help="without these rules")
    parser.add_argument(
        "--entry", action="append", metavar="NAME", help="a function or class that is compiled; repeatable"
    )
    parser.add_argument(
        "--report",
        nargs="?",
        metavar="FILE",
        help="say at the end what was mended and what was not, on standard error; with --report=FILE as JSON to FILE",
    )
    return parser


def _codes(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Codes of rules.

    Raises:
        ValueError: a name that no rule has.
    """
    if names is None:
        return None
    from graphmend_lsp.project import selectors

    for name in names:
        if selectors.normalise(name) is None:
            raise ValueError(f"no rule answers to {name!r} (graphmend rule lists them)")
    return tuple(names)


def _project(folder: str) -> str:
    from graphmend_lsp.project.layout import project_root

    return project_root(folder) or folder


def _install(options: Options, report_to: list[str] | None) -> None:
    import atexit

    from graphmend_lsp.hook import children, loader

    if report_to is not None:
        import tempfile

        options = options._replace(report=tempfile.mkdtemp(prefix="graphmend-report-"))
    loader.add(options)
    children.announce(options)
    atexit.register(_finish, options.report, report_to[0] if report_to else "", os.getpid())


def _finish(folder: str, target: str, process: int) -> None:
    """At the end of the program: the report, and what was asked for and never met."""
    from graphmend_lsp.hook import loader, report

    if os.getpid() != process:  # a fork that ends like a program
        return
    unmet = loader.unmet()
    for package in unmet:
        report.note(f"there is no package {package}: nothing of that name was imported")
    if not target:
        return
    rows = report.collect(folder)
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    if target == _TO_STDERR:
        sys.stderr.write(report.as_text(rows))
        return
    try:
        with open(target, "w", encoding="utf-8") as stream:
            stream.write(report.as_json(rows, unmet))
    except OSError as error:
        report.note(f"the report cannot be written: {error}")
