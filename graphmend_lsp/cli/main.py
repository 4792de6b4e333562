"""Picks the command and holds what all of them share: exit codes, interrupts, closed pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from graphmend_lsp import __version__

if TYPE_CHECKING:
    import argparse

COMMANDS = {
    "check": "find the lines that split torch.compile graphs",
    "fix": "mend them where behaviour is provably kept",
    "verify": "run original and mended code and compare what they do",
    "profile": "compile an entry and measure it, as it is and mended",
    "run": "run a program with its code mended in memory",
    "rule": "explain a rule",
    "server": "start the language server on standard input and output",
}

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["run"]:  # streams, interrupts and exceptions are the program's own
        from graphmend_lsp.cli.run import main as run_program

        return run_program(arguments[1:])
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # the reader (head, less) has seen enough; keep the interpreter from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLEAN


def server_main(argv: Sequence[str] | None = None) -> int:
    """``graphmend-lsp``: the server, unless a command of ``graphmend`` is named."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    named = bool(arguments) and arguments[0] in {*COMMANDS, "--version", "--help", "-h"}
    return main(arguments if named else ["server", *arguments])


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["server"]:  # its options are its own
        from graphmend_lsp.server.app import main as serve

        return serve(arguments[1:]) or EXIT_CLEAN
    try:
        if arguments and arguments[0] in COMMANDS:
            command = import_module(f"graphmend_lsp.cli.{arguments[0]}")
            summary = COMMANDS[arguments[0]]
            import argparse

            parser = argparse.ArgumentParser(
                prog=f"graphmend {arguments[0]}",
                description=f"{summary[0].upper()}{summary[1:]}.",
                allow_abbrev=False,
            )
            command.add_arguments(parser)
            options = parser.parse_intermixed_args(arguments[1:])
        else:
            parser = _overview()
            parser.parse_args(arguments)  # shows the version or the help, or says what is wrong
            parser.print_help(sys.stderr)
            return EXIT_ERROR
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else EXIT_ERROR
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character of the source is no reason to fail
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        os.getcwd()  # everything here is relative to it
    except OSError as error:
        print(f"error: the current folder: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return EXIT_ERROR
    code: int = command.run(options)
    sys.stdout.flush()
    return code


def _overview() -> argparse.ArgumentParser:
    """The parser of what stands before a command, and the help that lists them."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="graphmend",
        description="Find, mend and measure the lines that split torch.compile graphs.",
        epilog="Exit status: 0 nothing found, 1 findings, 2 an error. `graphmend COMMAND --help` shows more.",
    )
    parser.add_argument("--version", action="version", version=f"graphmend {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser
