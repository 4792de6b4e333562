"""Run the user's program until it calls an entry for the first time: that gives the live object and real arguments."""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import os
import sys
import types
from typing import Any, Callable, NamedTuple, cast

import torch

from .channel import Failure
from .entries import Call
from .load import Overlay, described

_HIT = "__graphmend_called__"
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class Program(NamedTuple):
    """``script`` (a path) or ``module`` (as in ``python -m``)."""

    script: str
    module: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        return os.path.basename(self.script) if self.script else f"python -m {self.module}"


Found = Callable[[Any, Call], None]


class Watch:
    """Waits for the first call of one entry.

    A module is met in ``nn.Module.__call__``.  Any other function is compiled with a statement in front that reports
    its arguments, which costs nothing elsewhere; when it was met, its own code is put back.
    """

    def __init__(self, path: str, name: str, text: str, found: Found) -> None:
        """``text`` is that of the file at ``path``; ``found`` is called once, inside the call.

        Raises:
            Failure: kind "entry", the file has no such function or class.
        """
        self._path = os.path.realpath(path)
        self._text = text
        self._found = found
        self._process = os.getpid()
        self._met = False
        self._plain: types.CodeType | None = None
        if name.endswith(".forward"):
            name = name[: -len(".forward")]
        self.name = name
        try:
            node = _definition(ast.parse(text), name)
        except SyntaxError as error:
            raise Failure("import", f"{os.path.basename(path)}:{error.lineno}: {error.msg}") from None
        if node is None:
            raise Failure("entry", f"{os.path.basename(path)} has no {name}")
        self.is_class = isinstance(node, ast.ClassDef)
        self._call: Any = torch.nn.Module.__call__
        if self.is_class:
            watch = self

            def calling(module: Any, *args: Any, **kwargs: Any) -> Any:
                if watch._is_ours(module.__class__):
                    watch._meet(module, Call(args, kwargs))
                return watch._call(module, *args, **kwargs)

            cast("Any", torch.nn.Module).__call__ = calling

    def code(self, path: str) -> types.CodeType | None:
        """The code to run for a file in place of its own; None for any other file."""
        if self.is_class or os.path.realpath(path) != self._path:
            return None
        self._plain = compile(self._text, self._path, "exec", dont_inherit=True)
        tree = ast.parse(self._text)
        node = _definition(tree, self.name)
        assert isinstance(node, _Function)
        _report_arguments(node)
        return compile(tree, self._path, "exec", dont_inherit=True)

    def _is_ours(self, kind: type) -> bool:
        for cls in kind.__mro__:
            if cls.__qualname__ == self.name:
                module = sys.modules.get(cls.__module__)
                file = getattr(module, "__file__", None)
                if file and os.path.realpath(file) == self._path:
                    return True
        return False

    def called(self, arguments: tuple[Any, ...]) -> None:
        """What the function that is waited for calls first."""
        frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        code: Any = frame.f_code
        plain = _same_place(self._plain, code)
        holders = [each for each in gc.get_referrers(code) if isinstance(each, types.FunctionType)]
        if plain is None or not holders:
            return
        for function in holders:
            function.__code__ = plain
        args, kwargs = _passed(code, arguments)
        self._meet(_callable(holders[0], frame, args), Call(args, kwargs))

    def _meet(self, target: Any, call: Call) -> None:
        if self._met or os.getpid() != self._process:  # another process has no line to who waits
            return
        self._met = True
        cast("Any", torch.nn.Module).__call__ = self._call
        if isinstance(target, types.MethodType):  # its object is bound already
            call = Call(call.args[1:], call.kwargs)
        self._found(target, call)


def run(program: Program, watch: Watch, overlay: Overlay) -> None:
    """Run a program as ``__main__`` does; returns only if it ended without calling the entry.

    Raises:
        Failure: kind "not-reached", how it ended.
    """
    overlay.code = watch.code
    _patch_loader(watch, overlay)
    import builtins

    builtins.__dict__[_HIT] = watch.called
    sys.argv = [program.script or program.module, *program.arguments]
    how = f"{program.name} ended without calling {watch.name}"
    if watch.is_class:
        how += " (of a class, calls of an nn.Module count: model(x), not model.forward(x))"
    try:
        if program.module:
            import runpy

            sys.path.insert(0, os.getcwd())
            runpy.run_module(program.module, run_name="__main__", alter_sys=True)
        else:
            _run_script(program.script, watch, overlay)
    except SystemExit as stop:
        if stop.code not in (None, 0):
            how += f" (exit status {stop.code})"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Failure(
            "not-reached", f"{program.name} raised {described(error)} before it called {watch.name}"
        ) from error
    raise Failure("not-reached", how)


def _run_script(path: str, watch: Watch, overlay: Overlay) -> None:
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    code = watch.code(path)
    if code is None:
        text: Any = overlay.text(path)
        if text is None:
            with open(path, "rb") as stream:
                text = stream.read()
        code = compile(text, path, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def _patch_loader(watch: Watch, overlay: Overlay) -> None:
    """Files that are loaded by path come here as well; a finder sees only what ``import`` looks for."""
    loader: Any = importlib.machinery.SourceFileLoader
    before = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        path = self.get_filename(fullname)
        text = overlay.text(path)
        code = watch.code(path)
        if code is None and text is not None:
            code = compile(text, path, "exec", dont_inherit=True)
        return code or before(self, fullname)

    loader.get_code = get_code


def _definition(tree: ast.AST, name: str) -> ast.AST | None:
    """The last definition of a qualified name, also in branches."""
    found = tree
    for part in name.split("."):
        if part == "<locals>":
            continue
        candidates = [
            node for node in _inside(found) if isinstance(node, (*_Function, ast.ClassDef)) and node.name == part
        ]
        if not candidates:
            return None
        found = candidates[-1]
    return found


def _inside(top: ast.AST) -> list[ast.AST]:
    """What is below a node, without what is in functions and classes there."""
    found: list[ast.AST] = []
    stack = list(ast.iter_child_nodes(top))
    while stack:
        node = stack.pop(0)
        found.append(node)
        if not isinstance(node, (*_Function, ast.ClassDef)):
            stack[:0] = list(ast.iter_child_nodes(node))
    return found


def _report_arguments(node: Any) -> None:
    """Put ``_HIT((a, b, args, kwargs))`` before the body, on the line of ``def``."""
    given = node.args
    names = [each.arg for each in (*getattr(given, "posonlyargs", ()), *given.args, *given.kwonlyargs)]
    names += [each.arg for each in (given.vararg, given.kwarg) if each is not None]
    values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
    statement = ast.Expr(ast.Call(ast.Name(_HIT, ast.Load()), [values], []))
    for part in ast.walk(statement):
        ast.copy_location(part, node)
    first = node.body[0]
    has_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    node.body.insert(1 if has_docstring else 0, ast.fix_missing_locations(statement))


def _same_place(code: types.CodeType | None, wanted: types.CodeType) -> types.CodeType | None:
    """The code below ``code`` with the name and first line of another one."""
    stack = [] if code is None else [code]
    while stack:
        found = stack.pop()
        if found.co_name == wanted.co_name and found.co_firstlineno == wanted.co_firstlineno:
            return found if found.co_freevars == wanted.co_freevars else None
        stack += [each for each in found.co_consts if isinstance(each, types.CodeType)]
    return None


def _passed(code: types.CodeType, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments from the values of the parameters."""
    positional, keywords = code.co_argcount, code.co_kwonlyargcount
    args: list[Any] = list(values[:positional])
    kwargs = dict(zip(code.co_varnames[positional : positional + keywords], values[positional : positional + keywords]))
    rest = list(values[positional + keywords :])
    if code.co_flags & 0x04:  # *args
        args += rest.pop(0)
    if code.co_flags & 0x08:  # **kwargs
        kwargs.update(rest.pop(0))
    return tuple(args), kwargs


def _callable(function: types.FunctionType, frame: Any, args: tuple[Any, ...]) -> Any:
    """The function as its callers know it, with its decorators; bound where it is a method."""
    if args:
        owner = args[0]
        kind = owner if isinstance(owner, type) else type(owner)
        for cls in kind.__mro__:
            known = cls.__dict__.get(function.__name__)
            if known is not None and f"{cls.__qualname__}.{function.__name__}" == function.__qualname__:
                bound = getattr(owner, function.__name__, None)
                if isinstance(bound, types.MethodType):
                    return bound
                return types.MethodType(function, owner)
    known = frame.f_globals.get(function.__name__)
    return known if callable(known) and function.__qualname__ == function.__name__ else function
