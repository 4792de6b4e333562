"""Integers that a constructor keeps as tensors: which attributes they are, and how it can keep them as numbers too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null
from graphmend_lsp.mend import names
from graphmend_lsp.mend.base import Replacement, Site
from graphmend_lsp.mend.layout import reindent
from graphmend_lsp.mend.sources import one_line, operand, replaced
from graphmend_lsp.model.module import ClassInfo, FunctionInfo
from graphmend_lsp.model.walk import walk

_INTEGERS = frozenset(f"torch.{name}" for name in "int64 int32 int16 int8 uint8 long int short".split())
_MAKERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.full"})
_BUFFERS = frozenset({"torch.nn.Buffer", "torch.nn.parameter.Buffer"})
_EXACT = (ast.Add, ast.Sub, ast.Mult)


@dataclass(frozen=True)
class Constant:
    """An attribute that holds an integer as a tensor without dimensions, and the one that is to hold the number."""

    name: str
    number: str
    spelled: str
    """The number's attribute with ``self``, as the constructor says it."""
    statement: ast.stmt
    persistent: bool


@dataclass(frozen=True)
class _Step:
    """A statement of the constructor that is to keep a number: how it is written then, and which numbers that takes.

    ``assumed`` is what is not known to be an int.
    """

    number: str
    replacement: Replacement
    needs: frozenset[str]
    assumed: str = ""


@dataclass
class Constants:
    """Those of one class."""

    constructor: FunctionInfo
    found: dict[str, Constant] = field(default_factory=dict[str, Constant])
    steps: list[_Step] = field(default_factory=list[_Step])
    aliases: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    """Names that hold one of the attributes, by ``id`` of the top-level statement."""

    def kept(self, used: set[str]) -> list[_Step]:
        """The steps that make the numbers of the attributes that are used."""
        needed = {self.found[name].spelled for name in used}
        chosen: list[_Step] = []
        for step in reversed(self.steps):
            if step.number in needed:
                needed |= step.needs
                chosen.append(step)
        return chosen[::-1]


def constants_of(site: Site, cls: ClassInfo) -> Constants | None:
    """The constants of a class; None if it has none, or they are written in other places of the file, too."""
    constructor = cls.methods.get("__init__")
    if constructor is None or constructor.chunk is not site.chunk:
        return None
    makes = (n for n in walk(constructor.node) if isinstance(n, ast.Call))
    if not any(constructor.module.dotted(call.func) in _MAKERS for call in makes):
        return None  # what the constructor calls is not looked at in vain
    facts = site.engine.generic(constructor)
    if facts is None:
        return None
    made = _Reader(site, constructor, facts).read()
    return made if made.found and not _written_elsewhere(site, cls, made) else None


class _Reader:
    """Reads the statements of a constructor in their order."""

    def __init__(self, site: Site, constructor: FunctionInfo, facts: Facts) -> None:
        self.site = site
        self.facts = facts
        self.made = Constants(constructor)
        self.locals: dict[str, str] = {}
        """Names that hold such a tensor at this point, with the number's."""
        self.needs: set[str] = set()
        """The numbers that the statement at hand computes with."""
        self.bound: ast.stmt | None = None
        """The statement, if it gives such a tensor a name."""
        self.taken_names = set(names.identifiers(site.module.parsed.text)) | site.reserved
        self.taken_attributes = set(self.taken_names)
        arguments = constructor.node.args
        self.self_name = (*arguments.posonlyargs, *arguments.args)[0].arg if arguments.args else "self"

    def read(self) -> Constants:
        for stmt in self.made.constructor.body:
            self._statement(stmt)
            for node in walk(stmt):
                if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    if not (isinstance(stmt, ast.Assign) and stmt.targets == [node] and self.bound is stmt):
                        self.locals.pop(node.id, None)
        return self.made

    def _statement(self, stmt: ast.stmt) -> None:
        self.bound = None
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            target, value = stmt.targets[0], stmt.value
            if isinstance(target, ast.Name):
                self._local(stmt, target.id, value)
            elif isinstance(target, ast.Attribute) and self._is_self(target.value):
                persistent = False
                if isinstance(value, ast.Call) and self.site.module.dotted(value.func) in _BUFFERS and value.args:
                    persistent = _persistent(value, 1)
                    value = value.args[0]
                self._attribute(stmt, target.attr, value, persistent)
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            call = stmt.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "register_buffer":
                words = {k.arg: k.value for k in call.keywords}
                given = [*call.args, *(words[name] for name in ("name", "tensor")[len(call.args) :] if name in words)]
                name = given[0] if len(given) > 1 else None
                if self._is_self(call.func.value) and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    self._attribute(stmt, name.value, given[1], _persistent(call, 2))

    def _local(self, stmt: ast.Assign, name: str, value: ast.expr) -> None:
        self.needs.clear()
        number = self._tensor_of(value)
        text = None if number is not None else self._twin(value)
        if number is None and text is None:
            return
        self.bound = stmt
        known = self._name(name, self.taken_names)
        self._step(stmt, known, number, text)
        self.locals[name] = known

    def _attribute(self, stmt: ast.stmt, name: str, value: ast.expr, persistent: bool) -> None:
        self.needs.clear()
        number = self._tensor_of(value)
        text = None if number is not None else self._twin(value)
        if name in self.made.found or (number is None and text is None) or not name.isidentifier():
            return
        known = self._name(name, self.taken_attributes)
        spelled = f"{self.self_name}.{known}"
        self._step(stmt, spelled, number, text)
        self.made.found[name] = Constant(name, known, spelled, stmt, persistent)

    def _step(self, stmt: ast.stmt, spelled: str, number: ast.expr | None, text: str | None) -> None:
        if number is not None:
            lines = (f"{spelled} = {self._text(number)}", *self._lines(stmt, [(number, spelled)]))
        else:
            lines = (*self._lines(stmt, []), f"{spelled} = {text}")
        assumed = self._text(number) if number is not None and not self._is_int(number) else ""
        self.made.steps.append(_Step(spelled, Replacement(stmt, stmt, lines), frozenset(self.needs), assumed))

    # -- expressions -------------------------------------------------------------------------------

    def _tensor_of(self, node: ast.expr) -> ast.expr | None:
        """``k`` of ``torch.tensor(k, dtype=torch.int64)``, where that is an integer without dimensions."""
        if not isinstance(node, ast.Call):
            return None
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("long", "int")
            and not (node.args or node.keywords)
        ):
            inner = self._tensor_of(node.func.value)
            return inner if inner is not None and self._is_int(inner) else None
        maker = self.site.module.dotted(node.func)
        words = {k.arg: k.value for k in node.keywords}
        if maker not in _MAKERS or not set(words) <= {"dtype", "device"}:
            return None
        if maker == "torch.full":
            if len(node.args) != 2 or not isinstance(node.args[0], ast.Tuple) or node.args[0].elts:
                return None
        elif len(node.args) != 1:
            return None
        if "dtype" in words and self.site.module.dotted(words["dtype"]) not in _INTEGERS:
            return None
        number = node.args[-1]
        if self._is_int(number):
            return number
        value = self.facts.values.get(id(number), UNKNOWN)
        plain = isinstance(number, (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp))
        if (
            "dtype" not in words
            or not plain
            or value.kind not in (Kind.PYTHON, Kind.UNKNOWN)
            or value.dtype in ("float", "bool")
        ):
            return None
        return number

    def _twin(self, node: ast.expr) -> str | None:
        """The number that an expression of such tensors holds, from the numbers of those."""
        text, involved = self._rendered(node)
        return text if involved else None

    def _rendered(self, node: ast.expr) -> tuple[str | None, bool]:
        if isinstance(node, ast.Name) and node.id in self.locals:
            self.needs.add(self.locals[node.id])
            return self.locals[node.id], True
        if isinstance(node, ast.Attribute) and self._is_self(node.value) and node.attr in self.made.found:
            spelled = self.made.found[node.attr].spelled
            self.needs.add(spelled)
            return spelled, True
        if isinstance(node, ast.BinOp) and isinstance(node.op, (*_EXACT, ast.FloorDiv)):
            left, right = self._rendered(node.left), self._rendered(node.right)
            if left[0] is None or right[0] is None or (isinstance(node.op, ast.FloorDiv) and not _nonzero(node.right)):
                return None, False
            cuts = [(part, made[0]) for part, made in ((node.left, left), (node.right, right)) if made[1] and made[0]]
            return one_line(replaced(self.site, node, cuts)), left[1] or right[1]
        return (operand(node, self._text(node)), False) if self._is_int(node) else (None, False)

    def _is_int(self, node: ast.expr) -> bool:
        value = self.facts.values.get(id(node), UNKNOWN)
        return value.kind is Kind.PYTHON and value.dtype == "int" and value.null is Null.NEVER

    # -- text ----------------------------------------------------------------------------------------

    def _is_self(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.self_name

    def _name(self, name: str, taken: set[str]) -> str:
        known = names.unique(f"{name}_value", taken)
        taken.add(known)
        return known

    def _text(self, node: ast.expr) -> str:
        return one_line(self.site.source(node))

    def _lines(self, stmt: ast.stmt, cuts: list[tuple[ast.expr, str]]) -> tuple[str, ...]:
        raw = self.site.chunk.raw_text(stmt.lineno)
        return tuple(reindent(replaced(self.site, stmt, cuts), raw[: len(raw) - len(raw.lstrip())], ""))


def _persistent(call: ast.Call, position: int) -> bool:
    given = {k.arg: k.value for k in call.keywords}.get("persistent")
    if given is None and len(call.args) > position:
        given = call.args[position]
    return not (isinstance(given, ast.Constant) and given.value is False)


def _nonzero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value != 0


def _written_elsewhere(site: Site, cls: ClassInfo, made: Constants) -> bool:
    """Whether anything of the file but the one statement may change what one of the attributes holds."""
    chunks = [c for c in site.module.parsed.seen if any(name in c.text for name in made.found)]
    suspects = [
        n for chunk in chunks for top in chunk.nodes for n in walk(top) if _writes(n, made, _aliases(top, made))
    ]
    if not suspects:
        return False
    others = {id(node) for other in site.module.classes if not related(site, cls, other) for node in of_self(other)}
    return any(id(node) not in others for node in suspects)


def related(site: Site, one: ClassInfo, other: ClassInfo) -> bool:
    """Whether one of two classes derives from the other; by name, since facts may be older than the module."""
    orders = [{_named(c) for c in site.engine.mro(cls)} for cls in (one, other)]
    return _named(one) in orders[1] or _named(other) in orders[0]


def _named(cls: ClassInfo | str) -> str:
    return cls if isinstance(cls, str) else f"{cls.module.path}:{cls.qualname}"


def of_self(cls: ClassInfo) -> Iterator[ast.AST]:
    """What the methods of a class do with attributes of ``self``, which are not those of another class."""
    for method in cls.methods.values():
        arguments = method.node.args
        first = (*arguments.posonlyargs, *arguments.args)[:1]
        for node in walk(method.node):
            inner = node
            while isinstance(inner, (ast.Attribute, ast.Subscript, ast.Call)):
                inner = inner.func if isinstance(inner, ast.Call) else inner.value
            if first and inner is not node and isinstance(inner, ast.Name) and inner.id == first[0].arg:
                yield node


def _aliases(top: ast.stmt, made: Constants) -> frozenset[str]:
    """Names that are given one of the attributes as it is."""
    key = id(top)
    if key not in made.aliases:
        made.aliases[key] = frozenset(
            target.id
            for node in walk(top)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr in made.found
            for target in node.targets
            if isinstance(target, ast.Name)
        )
    return made.aliases[key]


def _writes(node: ast.AST, made: Constants, aliases: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in made.found and not isinstance(node.ctx, ast.Load):
        stmt = made.found[node.attr].statement
        return not (isinstance(stmt, ast.Assign) and stmt.targets[0] is node)
    if isinstance(node, ast.Constant) and node.value in made.found:
        stmt = made.found[str(node.value)].statement  # setattr, getattr, _buffers[...]
        return not any(n is node for n in ast.walk(stmt))
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _is_one(node.value, made, aliases)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id in aliases
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    called = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if any(keyword.arg == "out" and _is_one(keyword.value, made, aliases) for keyword in node.keywords):
        return True
    if not called.endswith("_") or called.endswith("__"):
        return False
    inplace = [*([func.value] if isinstance(func, ast.Attribute) else []), *node.args[:1]]
    return any(_is_one(each, made, aliases) for each in inplace)


def _is_one(node: ast.expr, made: Constants, aliases: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    return isinstance(node, ast.Attribute) and node.attr in made.found
