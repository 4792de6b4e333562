"""Starts the language server that came with the extension, or the environment's.

    INTERPRETER -I -S server.py [--import-strategy useBundled|fromEnvironment] [the server's own options]

Both flags matter.  -I: neither PYTHONPATH and its kin, nor the user's own site-packages, nor a ``types.py`` in the
working folder reach the server.  -S: the environment's ``.pth`` files and ``sitecustomize`` run below instead, when
standard output, which is the protocol's, is out of their reach and the bundled libraries come first.  Started without
the flags this file starts itself anew with them.

Nothing goes into the environment variables: the processes in which the user's code runs get them as the editor has
them, PYTHONPATH included, and never see ``libs``.

Standard error is the log.  Exit status: 3 this Python is too old; 4 there is no server to start; else the server's own
(0, 1, 2).

Any Python 3 must be able to read this file, so that one that is too old can say so.
"""

import os
import sys
from typing import Callable, Iterable, List, Optional

EXIT_OLD_PYTHON = 3
EXIT_NO_SERVER = 4
OLDEST = (3, 10)
OPTION = "--import-strategy"
BUNDLED = "useBundled"
ENVIRONMENT = "fromEnvironment"
FLAGS = ["-I", "-S"]
HERE = os.path.dirname(os.path.abspath(__file__))
LIBS = os.path.join(HERE, "libs")

Serve = Callable[[List[str]], Optional[int]]


def main(arguments: List[str]) -> int:
    """Start the server; the result is the exit status."""
    if sys.version_info[:2] < OLDEST:
        log(
            f"the server needs Python {dotted(OLDEST)} or later; this is Python {dotted(sys.version_info[:2])} "
            f"({sys.executable}). Choose another one: graphmend.interpreter"
        )
        return EXIT_OLD_PYTHON
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[attr-defined]
    strategy, options = split(arguments)
    if strategy not in (BUNDLED, ENVIRONMENT):
        log(f"{OPTION} is {BUNDLED} or {ENVIRONMENT}, not {strategy!r}")
        return 2
    if not (sys.flags.isolated and sys.flags.no_site):
        return start_anew(strategy, options)
    bundle = os.path.isfile(os.path.join(LIBS, "VERSIONS.json"))  # written last: without it the folder is not whole
    if strategy == BUNDLED and not bundle:
        log(f"there are no libraries beside {__file__} (a source checkout?); those of the environment are used")
    if strategy == BUNDLED and bundle:
        sys.path.insert(0, LIBS)
        warn_about_libcst()
    try:
        serve = find_server()
    except (Exception, SystemExit) as error:
        if strategy == BUNDLED and bundle:
            raise
        log(f"the environment of {sys.executable} has no graphmend-lsp that runs: {type(error).__name__}: {error}")
        if not bundle:
            log("install it there (pip install graphmend-lsp), or build the libraries with scripts/bundle.py")
            return EXIT_NO_SERVER
        log("the server that came with the extension is used")
        return start_anew(BUNDLED, options)  # in a new process: nothing that was imported may be mixed with ours
    return serve(options) or 0


def split(arguments: List[str]) -> "tuple[str, List[str]]":
    """The strategy, and the server's own options."""
    if arguments[:1] == [OPTION]:
        return "".join(arguments[1:2]), arguments[2:]
    if arguments and arguments[0].startswith(OPTION + "="):
        return arguments[0][len(OPTION) + 1 :], arguments[1:]
    return BUNDLED, arguments


def find_server() -> Serve:
    """Do what Python does at its start without -S, and import the server; what is printed meanwhile is logged."""
    import site

    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        site.main()
        return load()
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def load() -> Serve:
    """The server of the first graphmend_lsp on ``sys.path``, with all that it needs."""
    from importlib.util import find_spec

    from graphmend_lsp import __version__
    from graphmend_lsp.server import app

    if find_spec("libcst") is None:  # imported at the first fix
        raise ImportError("No module named 'libcst'")
    serve: Serve = app.main
    place = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(app.__file__))))
    log(f"server {__version__} of {place}, Python {dotted(sys.version_info[:3])} ({sys.executable})")
    return serve


def warn_about_libcst() -> None:
    """Its compiled part is there for certain releases of CPython only."""
    from importlib.machinery import EXTENSION_SUFFIXES

    native = os.path.join(LIBS, "libcst", "native")
    if not any(os.path.isfile(native + suffix) for suffix in EXTENSION_SUFFIXES):
        log(
            f"LibCST is not bundled for this Python ({sys.implementation.cache_tag}, {sys.platform}): "
            "findings are shown, but fixes cannot be made. Choose another one (graphmend.interpreter), "
            f"or install graphmend-lsp there and set graphmend.importStrategy to {ENVIRONMENT}"
        )


def start_anew(strategy: str, options: List[str]) -> int:
    """The same with the right flags, in this process where the system can, else in a child that has our streams."""
    command = [sys.executable, *FLAGS, os.path.abspath(__file__), OPTION, strategy, *options]
    if os.name == "nt":
        import subprocess

        return subprocess.call(command)
    sys.stderr.flush()
    os.execv(sys.executable, command)
    return EXIT_NO_SERVER


def dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def log(message: str) -> None:
    """One line for whoever looks into the editor's log."""
    sys.stderr.write(f"GraphMend: {message}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
