"""Run a script or module as ``__main__`` the way ``python`` would, with the hook installed."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from graphmend_lsp.hook import loader

EXIT_RAISED, EXIT_NO_SCRIPT = 1, 2


def script(path: str, arguments: Sequence[str]) -> int:
    """``python PATH ARGUMENTS``; the exit status.

    Raises:
        SystemExit, KeyboardInterrupt: the script's own.
    """
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or _is_archive(path):
        _first_on_path(os.path.abspath(path))
        _new_main(__loader__=None)
        return _run(lambda: _run_module("__main__", False), _of_runpy)
    _first_on_path(os.path.dirname(os.path.realpath(path) if os.name == "posix" else os.path.abspath(path)))
    full = os.path.abspath(path)
    name = "__main__"
    compiled = path.endswith(".pyc")
    try:
        with open(full, "rb") as stream:
            data = stream.read()
    except OSError as error:
        print(f"graphmend: can't open file {full!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        return EXIT_NO_SCRIPT
    load = SourcelessFileLoader(name, full) if compiled else SourceFileLoader(name, full)
    main = _new_main(__file__=full, __cached__=None, __loader__=load)

    def run() -> None:
        code = load.get_code(name) if compiled else _code(full, data)
        assert code is not None
        exec(code, main.__dict__)

    return _run(run, lambda code: code.co_filename == full)


def module(name: str, arguments: Sequence[str]) -> int:
    """``python -m NAME ARGUMENTS``; the exit status.

    Raises:
        SystemExit, KeyboardInterrupt: the module's own.
    """
    sys.argv = ["-m", *arguments]
    _first_on_path(os.getcwd())
    _new_main(__loader__=None)
    return _run(lambda: _run_module(name, True), _of_runpy)


def _code(path: str, data: bytes) -> CodeType:
    code = loader.mended("__main__", path, data)
    return code if code is not None else compile(data, path, "exec", dont_inherit=True)


def _run_module(name: str, is_module: bool) -> None:
    import runpy

    run_as_main: Any = runpy._run_module_as_main  # pyright: ignore[reportPrivateUsage,reportUnknownMemberType,reportAttributeAccessIssue,reportUnknownVariableType]
    run_as_main(name, alter_argv=is_module)  # what `python -m` itself calls


def _of_runpy(code: CodeType) -> bool:
    return code.co_filename == "<frozen runpy>" or os.path.basename(code.co_filename) == "runpy.py"


def _is_archive(path: str) -> bool:
    if path.endswith((".py", ".pyc")) or not os.path.isfile(path):
        return False
    import zipfile

    return zipfile.is_zipfile(path)


def _first_on_path(folder: str) -> None:
    """Put a folder where ours stands; with ``-P`` or ``-I`` Python puts none there."""
    if not getattr(sys.flags, "safe_path", bool(sys.flags.isolated)):
        sys.path[:1] = [folder]


def _new_main(**values: object) -> ModuleType:
    """A module such as Python makes for the main program."""
    main = ModuleType("__main__")
    if sys.version_info < (3, 14):
        vars(main)["__annotations__"] = {}
    main.__dict__.update(values, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main


# -- exceptions ---------------------------------------------------------------------------------------


def _run(run: Callable[[], None], is_users: Callable[[CodeType], bool]) -> int:
    """Run the program; an exception is shown as Python shows it, without the frames above ``is_users``."""
    try:
        run()
        return 0
    except SystemExit:
        raise
    except BaseException as error:
        raised = error
    _show(raised, is_users)  # not above: what a hook of the program raises does not come "during handling" this
    if isinstance(raised, KeyboardInterrupt):
        sys.excepthook = _silent  # shown already; the interpreter is to end as it does after an interrupt
        raise raised
    return EXIT_RAISED


def _show(error: BaseException, is_users: Callable[[CodeType], bool]) -> None:
    trace = error.__traceback__
    while trace is not None and not is_users(trace.tb_frame.f_code):
        trace = trace.tb_next
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as second:
        print("Error in sys.excepthook:", file=sys.stderr)
        second.__traceback__ = second.__traceback__ and second.__traceback__.tb_next
        sys.__excepthook__(type(second), second, second.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, trace)


def _silent(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    del kind, error, trace
