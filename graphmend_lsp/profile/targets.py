"""What in a file can be profiled, and the source of its functions and classes, to see later whether it changed.

Static and quick: one walk over what parses, no analysis of what the functions do.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, Loader, Module
from graphmend_lsp.model.program import ProgramView
from graphmend_lsp.model.regions import entries
from graphmend_lsp.parse import Chunk, Parsed, first_line
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import LineIndex, Span, split_lines

Kind = Literal["compiled", "module"]
"""``compiled``: the source or the settings say that it is an entry.  ``module``: an ``nn.Module``, which may be."""

_INPUTS = ("example_inputs", "get_inputs")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, with the source of its annotation; "" without one."""

    name: str
    annotation: str = ""
    required: bool = True
    keyword_only: bool = False


@dataclass(frozen=True)
class Part:
    """A function, method or class: the range of its name, and its lines, from its first decorator to its end."""

    name: str
    span: Span
    first: int
    last: int

    def holds(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(frozen=True)
class Target(Part):
    """What a profile can be asked for, by the name that the worker takes: a function, ``Class.method`` or a class."""

    kind: Kind = "compiled"
    call: tuple[Parameter, ...] = ()
    """What it is called with, ``self`` left out."""
    init: tuple[Parameter, ...] = ()
    """What the constructor takes, of a class."""


@dataclass(frozen=True, eq=False)
class Outline:
    """The targets of one text, and all its functions, methods and classes (not those inside functions)."""

    text: str
    parsed: Parsed
    targets: tuple[Target, ...]
    parts: tuple[Part, ...]
    inputs: frozenset[str] = frozenset()
    """Which functions of the file make inputs: ``example_inputs``, ``get_inputs``, ``get_init_inputs``."""
    torch: str = ""
    """The name that ``import torch`` gives it; "" without that import."""

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    def named(self, name: str) -> Part | None:
        """The target of a name, else the function or class; of several the last, which Python sees, too."""
        found: Part | None = next((target for target in self.targets if target.name == name), None)
        return found or next((part for part in reversed(self.parts) if part.name == name), None)

    def around(self, line: int) -> Part | None:
        """The innermost function or method that holds a line; else the innermost class."""
        holding = [part for part in self.parts if part.holds(line)]
        return min(holding, key=lambda part: part.last - part.first, default=None)

    def digest(self, part: Part) -> str:
        """Of the part's source: the same wherever in the file it stands."""
        return _digest(self.lines[part.first - 1 : part.last])

    @property
    def has_inputs(self) -> bool:
        """Whether the file says how it is called."""
        return any(name in self.inputs for name in _INPUTS)


def outline(
    path: str, parsed: Parsed, program: ProgramView, settings: Settings, before: Outline | None = None
) -> Outline:
    """Targets and parts of a text; where it does not parse just now, those of ``before`` that still stand there."""
    loader = Loader(program)
    module = loader.module(path, parsed)
    engine = Engine(loader)
    found = _targets(module, settings, engine)
    parts = tuple(_part(item, parsed) for item in (*module.classes, *module.functions) if _stands(item))
    if parsed.failure is not None and before is not None:
        names = {target.name for target in found}
        found += _kept([target for target in before.targets if target.name not in names], parsed, parts)
    makers = frozenset(name for name in (*_INPUTS, "get_init_inputs") if module.bindings.get(name))
    torch = next(
        (name for name, known in module.bindings.items() for b in known if b.kind == "import" and b.target == "torch"),
        "",
    )
    found.sort(key=lambda target: target.span)
    return Outline(parsed.text, parsed, tuple(found), parts, makers, torch)


def targets(path: str, parsed: Parsed, program: ProgramView, settings: Settings) -> tuple[Target, ...]:
    """What can be profiled in a file: its compiled entries, and its ``nn.Module`` classes that have a ``forward``."""
    return outline(path, parsed, program, settings).targets


def digest(text: str, target: Part) -> str:
    """Of the target's source in ``text``: the same wherever in the file it stands."""
    return _digest(split_lines(text)[target.first - 1 : target.last])


def _digest(lines: list[str]) -> str:
    """Indentation, line endings and white space at the ends of lines do not count."""
    stripped = [line.rstrip() for line in lines]
    indent = len(stripped[0]) - len(stripped[0].lstrip()) if stripped else 0
    moved = (line[indent:] if not line[:indent].strip() else line for line in stripped)
    return hashlib.sha256("\n".join(moved).encode("utf-8", "surrogatepass")).hexdigest()[:32]


# -- targets -----------------------------------------------------------------------------------------


def _targets(module: Module, settings: Settings, engine: Engine) -> list[Target]:
    found: dict[str, Target] = {}
    for entry in entries(module, settings.entries, engine):
        function = entry.function
        owner = function.receiver or function.cls
        item: FunctionInfo | ClassInfo = function
        if owner is not None and function.name in ("forward", "__call__"):
            item = owner
        known = item.module is module and _stands(item)
        if known and "<" not in item.qualname and (entry.explicit or isinstance(item, ClassInfo)):
            kind: Kind = "compiled" if entry.explicit else "module"
            if item.qualname not in found or kind == "compiled":
                found[item.qualname] = _target(item, kind, engine)
    for cls in module.classes:
        new = cls.qualname not in found and _stands(cls)
        if new and engine.is_module(cls) and engine.method(cls, "forward") is not None:
            found[cls.qualname] = _target(cls, "module", engine)
    return list(found.values())


def _stands(item: FunctionInfo | ClassInfo) -> bool:
    """Whether it is in the text as it is now, not only in one that did parse."""
    return item.chunk.id in item.module.parsed.by_id


def _target(item: FunctionInfo | ClassInfo, kind: Kind, engine: Engine) -> Target:
    part = _part(item, item.module.parsed)
    if isinstance(item, FunctionInfo):
        made = () if item.cls is None else _parameters(engine.method(item.cls, "__init__"))
        return Target(part.name, part.span, part.first, part.last, kind, _parameters(item), made)
    call = engine.method(item, "forward") or engine.method(item, "__call__")
    made = _parameters(engine.method(item, "__init__"))
    return Target(part.name, part.span, part.first, part.last, kind, _parameters(call), made)


def _part(item: FunctionInfo | ClassInfo, parsed: Parsed) -> Part:
    node = item.node
    assert not isinstance(node, ast.Lambda)
    chunk = item.chunk
    shift = parsed.by_id[chunk.id].shift
    last = (node.end_lineno or node.lineno) + shift
    return Part(item.qualname, _name_span(chunk, node).shifted(shift), first_line(node) + shift, last)


def _name_span(chunk: Chunk, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Span:
    """Raw range of the name after ``def`` or ``class``."""
    column = chunk.column(node.lineno, node.col_offset)
    text = chunk.raw_text(node.lineno)
    found = _HEADER.match(text, column)
    if found is None or found["name"] != node.name:  # a continuation line, or a name that Python normalises
        return Span(node.lineno, column, node.lineno, max(len(text.rstrip()), column))
    return Span(node.lineno, found.start("name"), node.lineno, found.end("name"))


_HEADER = re.compile(r"\s*(?:async\s+def|def|class)\s+(?P<name>\w+)")


def _parameters(function: FunctionInfo | None) -> tuple[Parameter, ...]:
    """Parameters in order, without ``self`` and what collects the rest."""
    if function is None:
        return ()
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = len(positional) - len(arguments.defaults)
    rows = [(arg, number < needed, False) for number, arg in enumerate(positional)]
    if function.cls is not None and "staticmethod" not in "".join(function.decorator_names()):
        rows = rows[1:]
    rows += [
        (arg, default is None, True) for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return tuple(
        Parameter(arg.arg, ast.unparse(arg.annotation) if arg.annotation is not None else "", required, keyword)
        for arg, required, keyword in rows
    )


def _kept(missing: list[Target], parsed: Parsed, parts: tuple[Part, ...]) -> Iterator[Target]:
    """Targets that a syntax error hides, so that nothing that is shown at them jumps while typing.

    Either what makes them one does not parse (an import), or they do not: then their header is looked for.
    """
    places = {part.name: part for part in parts}
    index = LineIndex(parsed.text)
    broken = [
        number for chunk in parsed.chunks if chunk.broken for number in range(chunk.line, chunk.line + len(chunk.lines))
    ]
    for target in missing:
        part = places.get(target.name) or _header_of(target, index, broken)
        if part is not None:
            yield replace(target, span=part.span, first=part.first, last=part.last)


def _header_of(target: Target, index: LineIndex, lines: list[int]) -> Part | None:
    """Where the target's header stands among lines that do not parse, nearest to where it was."""
    last = target.name.rpartition(".")[2]
    for number in sorted(lines, key=lambda number: abs(number - target.span.line)):
        found = _HEADER.match(index.line(number))
        if found is not None and found["name"] == last:
            return Part(target.name, Span(number, found.start("name"), number, found.end("name")), number, number)
    return None
