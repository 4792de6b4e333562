"""Attributes that methods set on ``self``, names that are put together at run time (``f"layer{i}"``) included."""

from __future__ import annotations

import ast
import re
from weakref import WeakKeyDictionary

from graphmend_lsp.model.walk import walk

ANY = "\0"
"""Stands for the part of a name that is not known."""

_ADDS = frozenset({"append", "extend", "insert", "add", "appendleft", "update"})
_REGISTERS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})


def name_pattern(node: ast.expr) -> str | None:
    """A string that is built from constants and other parts: ``f"layer{i}"`` as ``"layer\\0"``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (str(v.value) if isinstance(v, ast.Constant) else ANY for v in node.values)
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = name_pattern(node.left), name_pattern(node.right)
        return None if left is None and right is None else (left or ANY) + (right or ANY)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        return re.sub(r"%\w", ANY, node.left.value) if isinstance(node.left.value, str) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        base = name_pattern(node.func.value)
        return None if base is None else re.sub(r"\{[^}]*\}", ANY, base)
    return None


def may_be(a: str, b: str) -> bool:
    """Whether two names, of which parts may not be known, can be the same."""
    a_first, _, a_last = a.partition(ANY) if ANY in a else (a, "", a)
    b_first, _, b_last = b.partition(ANY) if ANY in b else (b, "", b)
    if not (a_first.strip(ANY) or a_last.strip(ANY)) or not (b_first.strip(ANY) or b_last.strip(ANY)):
        return False
    a_last, b_last = a_last.rpartition(ANY)[2], b_last.rpartition(ANY)[2]
    starts = a_first.startswith(b_first) or b_first.startswith(a_first)
    return starts and (a_last.endswith(b_last) or b_last.endswith(a_last))


_known: WeakKeyDictionary[ast.AST, frozenset[str]] = WeakKeyDictionary()
"""Trees never change, and those that an edit does not touch stay."""


def attributes_set(function: ast.AST) -> frozenset[str]:
    """Names of attributes that a method sets on ``self``, ``register_buffer("name", ...)`` included."""
    known = _known.get(function)
    if known is None:
        known = _known[function] = frozenset(_attributes_set(function))
    return known


_giving: WeakKeyDictionary[ast.AST, bool] = WeakKeyDictionary()


def gives_its_base(constructor: ast.AST) -> bool:
    """Whether a constructor calls another one, mostly that of its base, with arguments."""
    known = _giving.get(constructor)
    if known is None:
        calls = [node for node in walk(constructor) if isinstance(node, ast.Call) and (node.args or node.keywords)]
        known = any(isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" for call in calls)
        _giving[constructor] = known
    return known


def _attributes_set(function: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in walk(function):
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(node.attr)
        elif isinstance(node, ast.Call):
            name = _registered(node) or _added_to(node)
            if name is not None:
                found.add(name)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            name = _attribute_of_self(node.value)
            if name is not None:
                found.add(name)
    return found


def _added_to(node: ast.Call) -> str | None:
    """The attribute in ``self.items.append(x)``."""
    func = node.func
    return _attribute_of_self(func.value) if isinstance(func, ast.Attribute) and func.attr in _ADDS else None


def _attribute_of_self(node: ast.expr) -> str | None:
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else None


def _registered(node: ast.Call) -> str | None:
    """The name in ``self.add_module(name, ...)``, ``setattr(self, name, ...)``."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in _REGISTERS:
        given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "name"), None)
        return None if given is None else name_pattern(given)
    if isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) == 3:
        owner = node.args[0]
        if isinstance(owner, ast.Name) and owner.id == "self":
            return name_pattern(node.args[1])
    return None
