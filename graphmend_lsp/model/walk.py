"""Walks over trees, several times faster than ``ast.walk``.

Operators, contexts (``Load``, ``Store``) and names that are strings are left out: nobody asks for them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_NO_NODES = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "module", "level", "simple", "is_async"}
    | {"conversion", "tag", "lineno", "asname", "kwd_attrs", "rest"}
)


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in (ast.Constant, ast.Name, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue, ast.alias):
        return ()
    return tuple(name for name in kind._fields if name not in _NO_NODES)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = found = _fields_of(kind)
        return found


CHILD_FIELDS = _Fields()
"""Fields of each kind of node that can hold nodes."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_Node = ast.AST


def children(node: ast.AST) -> list[ast.AST]:
    """Nodes directly inside a node."""
    found: list[ast.AST] = []
    for name in CHILD_FIELDS[node.__class__]:
        value: Any = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, _Node)]
        elif isinstance(value, _Node):
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and everything inside it, in no particular order."""
    todo = [node]
    fields = CHILD_FIELDS
    while todo:
        item = todo.pop()
        yield item
        for name in fields[item.__class__]:
            value: Any = getattr(item, name, None)
            if value.__class__ is list:
                todo += [part for part in value if isinstance(part, _Node)]
            elif isinstance(value, _Node):
                todo.append(value)


@lru_cache(maxsize=64)
def own_nodes(node: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes inside a function, those of functions and classes nested in it excluded, in no particular order.

    Kept for the functions that were asked for last: proofs about one finding ask again and again.
    """
    found: list[ast.AST] = []
    if isinstance(node, ast.Lambda):
        todo: list[ast.AST] = [node.body]
    else:
        todo = list(getattr(node, "body", ()))
    fields = CHILD_FIELDS
    while todo:
        item = todo.pop()
        found.append(item)
        if isinstance(item, _SCOPES):
            continue
        for name in fields[item.__class__]:
            value: Any = getattr(item, name, None)
            if value.__class__ is list:
                todo += [part for part in value if isinstance(part, _Node)]
            elif isinstance(value, _Node):
                todo.append(value)
    return tuple(found)


def is_name(node: ast.AST, name: str) -> bool:
    """Whether a node is nothing but this name."""
    return isinstance(node, ast.Name) and node.id == name


def last_name(node: ast.expr) -> str:
    """``c`` of ``a.b.c``, ``a`` of ``a``; empty for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
