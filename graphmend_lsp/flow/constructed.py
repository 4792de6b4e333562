"""Objects whose constructor is given tensors, or other objects: what that leaves in their attributes.

A class has one value for all its objects, whose constructor's arguments are taken for configuration. An object whose
construction is in sight and that is given more has the attributes that follow from it as its ``keys``.
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.classes import MAX_DEPTH, Classes, owned
from graphmend_lsp.flow.contexts import rebased, rooted, signature_of
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.values import Kind, Value, Why, all_roots, changed, holds_tensor, join
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, Loader, Module
from graphmend_lsp.model.walk import walk
from graphmend_lsp.parse import Place

_MAX_FORMS = 12
"""Different arguments for which a constructor is followed."""
_OBJECTS = frozenset({Kind.TENSOR, Kind.MODULE, Kind.INSTANCE, Kind.FUNCTION})


class Constructed(Classes):
    """Follows constructors with their arguments."""

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader)
        self._left: dict[tuple[FunctionInfo, object], dict[str, Value] | None] = self.table()
        self._forms: dict[FunctionInfo, int] = self.table()
        self._outside: dict[Module, frozenset[str]] = self.table()

    def bind_params(
        self,
        function: FunctionInfo,
        bound: Value | None,
        values: list[Value],
        keywords: dict[str, Value],
        exact: bool,
    ) -> dict[str, Value]:
        """Parameter values of a call."""
        raise NotImplementedError

    def made(
        self, cls: ClassInfo, values: list[Value], keywords: dict[str, Value], node: ast.expr, *, outside: bool
    ) -> Value:
        """An object as its constructor leaves it; ``outside`` says that no compiled code calls that."""
        plain = self.instance(cls)
        init = self.method(cls, "__init__")
        if init is None or not any(map(_tells, (*values, *keywords.values()))):
            return plain
        if any(self.method(cls, name) is not None for name in ("__setattr__", "__getattribute__", "__new__")):
            return plain  # what is read need not be what the constructor sets
        given = self._given(init, plain, values, keywords)
        attributes: dict[str, Value] = {}
        for name, value in self._stored(cls, init, given).items():
            mine = rebased(value, given, ("op", id(node)))
            kept = owned(mine, name)
            attributes[name] = kept if outside else changed(kept, roots=kept.roots | all_roots(mine))
        return changed(plain, keys=attributes) if attributes else plain

    def left_by(
        self,
        init: FunctionInfo,
        receiver: Value,
        values: list[Value],
        keywords: dict[str, Value],
        caller: FunctionInfo,
    ) -> dict[str, Value]:
        """The attributes that the constructor of a base sets, called with these arguments by that of a class."""
        given = self._given(init, receiver, values, keywords)
        told = {name: value for name, value in self._left_for(init, given).items() if _tells(value)}
        if told:
            calls = self._base_calls.get(caller, frozenset())
            self._base_calls[caller] = calls | {(init, name) for name in told}
        return {name: rebased(value, given, ("op", id(init.node))) for name, value in told.items()}

    def _given(
        self, init: FunctionInfo, receiver: Value, values: list[Value], keywords: dict[str, Value]
    ) -> dict[str, Value]:
        """The arguments that say more than the constructor does itself, by parameter."""
        args = init.node.args
        positional = [*args.posonlyargs, *args.args]
        open_ones = {arg.arg for arg in (*positional[1:], *args.kwonlyargs) if not self._declared(arg, init)}
        bound = self.bind_params(init, receiver, values, keywords, True)
        return {name: value for name, value in bound.items() if name in open_ones and _tells(value)}

    def _declared(self, arg: ast.arg, init: FunctionInfo) -> bool:
        return arg.annotation is not None and self.annotation(arg.annotation, init.module) is not None

    def _stored(self, cls: ClassInfo, init: FunctionInfo, given: dict[str, Value]) -> dict[str, Value]:
        """What the constructor sets and nobody else sets to something else, where it tells more for these arguments."""
        found: dict[str, Value] = {}
        for name, value in self._left_for(init, given).items():
            if not _tells(value) or name in self._set_outside(cls.module):
                continue
            others = (m for base in self.mro(cls) if isinstance(base, ClassInfo) for m in self.setters(base, name))
            for method in others:
                other = self.stores_of(method).get(name) if method.name != "__init__" else None
                value = value if other is None else join(value, other)
            if _more(value, self.member(cls, name, self.instance(cls))):
                found[name] = value
        return found

    def _left_for(self, init: FunctionInfo, given: dict[str, Value]) -> dict[str, Value]:
        """What a constructor sets on its object, for some of its arguments."""
        if not given:
            return {}
        key = (init, signature_of(given))
        if key in self._left:
            known = self._left[key]
            self._running += known is None
            return known or {}
        forms = self._forms.get(init, 0)
        if forms >= _MAX_FORMS:
            return {}
        self._forms[init] = forms + 1
        self._left[key] = None
        before = self._running
        params = self.default_params(init, constructor=True)
        params |= {name: self._parameter(init, name, value) for name, value in given.items()}
        interpreter = self._interpreter(init, Facts(init, params), State(dict(params)), MAX_DEPTH - 3)
        interpreter.self_stores = {}
        interpreter.eager = True
        interpreter.run()
        if before == self._running:
            self._left[key] = interpreter.self_stores
        else:
            del self._left[key]
        return interpreter.self_stores

    def _parameter(self, init: FunctionInfo, name: str, value: Value) -> Value:
        """An argument as the constructor sees it, for whoever passes it."""
        root = ("param", name)
        if value.kind is Kind.CONTAINER:
            return rooted(value, root)
        if value.kind is not Kind.TENSOR:
            return value
        args = init.node.args
        arg = next(a for a in (*args.posonlyargs, *args.args, *args.kwonlyargs) if a.arg == name)
        place = Place(init.chunk.id, init.chunk.span(arg))
        why = Why(place, init.module.path, f"`{name}` is a parameter of `{init.qualname}`, given a tensor")
        shape = () if value.shape == () else root
        return changed(value, roots=frozenset({root}), dtype=("any", root), shape=shape, device=root, why=why)

    def _set_outside(self, module: Module) -> frozenset[str]:
        """Attributes of anything but ``self`` that a file sets."""
        known = self._outside.get(module)
        if known is None:
            nodes = (node for chunk in module.parsed.seen for top in chunk.nodes for node in walk(top))
            found = (_named_by_setattr(node) if isinstance(node, ast.Call) else _assigned(node) for node in nodes)
            known = self._outside[module] = frozenset(name for name in found if name is not None)
        return known


def _assigned(node: ast.AST) -> str | None:
    """The attribute of anything but ``self`` that is set, or deleted."""
    if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
        return None
    return None if isinstance(node.value, ast.Name) and node.value.id == "self" else node.attr


def _named_by_setattr(node: ast.Call) -> str | None:
    """The attribute that ``setattr(box, "name", value)`` sets."""
    if not isinstance(node.func, ast.Name) or node.func.id != "setattr" or len(node.args) != 3:
        return None
    name = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
    return name if isinstance(name, str) else None


def _tells(value: Value) -> bool:
    """Whether a value is more than configuration."""
    return value.kind in _OBJECTS or holds_tensor(value)


def _more(value: Value, plain: Value) -> bool:
    """Whether something is known of an attribute that is not known of that of any object of the class."""
    if value.kind is not plain.kind or value.mixed is not plain.mixed:
        return True
    if value.kind in (Kind.MODULE, Kind.INSTANCE):
        return value.ref is not plain.ref or value.keys is not None
    return value.kind is Kind.CONTAINER and holds_tensor(value) and not holds_tensor(plain)
