"""Which statements of a function can matter for what it returns.

Constructors, decorators and globals are run to learn what they leave behind.  Of the functions that they call only
the result is of interest then, so that most of these (checks, registration, documentation) need not be followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from graphmend_lsp.model.module import FunctionNode
from graphmend_lsp.model.walk import walk

_ALWAYS = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
_SEES_NAMES = frozenset({"locals", "vars", "exec", "eval"})
Slice = frozenset[ast.stmt]
_known: WeakKeyDictionary[FunctionNode, Slice | None] = WeakKeyDictionary()
"""Trees never change, and those that an edit does not touch stay."""


def slice_of(function: FunctionNode) -> Slice | None:
    """``returned_by`` for the body of a function."""
    if isinstance(function, ast.Lambda):
        return None
    if function not in _known:
        _known[function] = returned_by(function.body)
    return _known[function]


def returned_by(body: list[ast.stmt]) -> Slice | None:
    """The statements of a function's body, at any depth, that can change its result; None for all.

    A statement counts if it leaves a block, or binds or may change a name that another one that counts mentions.
    Tests count where what they guard does.
    """
    statements = list(_statements(body))
    mentioned = {stmt: _names(_own_parts(stmt)) for stmt in statements}
    if any(not _SEES_NAMES.isdisjoint(names) for names in mentioned.values()):
        return None
    blocks = [stmt for stmt in statements if isinstance(stmt, _BLOCKS)]
    kept = {stmt for stmt in statements if isinstance(stmt, _ALWAYS) or _yields(stmt)}
    wanted = {name for stmt in kept for name in mentioned[stmt]}
    while True:
        before = len(kept), len(wanted)
        for stmt in statements:
            if stmt not in kept and not isinstance(stmt, _BLOCKS) and not wanted.isdisjoint(_changes(stmt)):
                kept.add(stmt)
                wanted |= mentioned[stmt]
        for block in reversed(blocks):  # inner ones first
            if block not in kept and (
                any(inner in kept for inner in _inside(block)) or not wanted.isdisjoint(_bound(_own_parts(block)))
            ):
                kept.add(block)
                wanted |= mentioned[block]
        if before == (len(kept), len(wanted)):
            return frozenset(kept)


def _inside(block: ast.stmt) -> Iterable[ast.stmt]:
    """Statements directly inside a compound one."""
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(block, name, ())
    for part in (*getattr(block, "handlers", ()), *getattr(block, "cases", ())):
        yield from part.body


def _statements(body: list[ast.stmt]) -> Iterable[ast.stmt]:
    """All statements of a body, outer ones first; of functions and classes in it only the statement itself."""
    todo = list(reversed(body))
    while todo:
        stmt = todo.pop()
        yield stmt
        if isinstance(stmt, _BLOCKS):
            todo += reversed(list(_inside(stmt)))


def _own_parts(stmt: ast.stmt) -> list[ast.AST]:
    """What belongs to a statement itself, not to the statements in it."""
    if not isinstance(stmt, _BLOCKS):
        return [stmt]
    parts: list[ast.AST] = []
    for name in ("test", "iter", "target", "subject"):
        part = getattr(stmt, name, None)
        if part is not None:
            parts.append(part)
    for item in getattr(stmt, "items", ()):
        parts.append(item)
    for handler in getattr(stmt, "handlers", ()):
        parts += [handler.type] if handler.type is not None else []
    for case in getattr(stmt, "cases", ()):
        parts += [case.pattern] if case.guard is None else [case.pattern, case.guard]
    return parts


def _names(parts: Iterable[ast.AST]) -> set[str]:
    return {node.id for part in parts for node in walk(part) if isinstance(node, ast.Name)}


def _bound(parts: Iterable[ast.AST]) -> set[str]:
    found: set[str] = set()
    for part in parts:
        for node in walk(part):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
                found.add(node.name)
    return found


def _changes(stmt: ast.stmt) -> set[str]:
    """Names that a simple statement binds, or whose objects it may change."""
    if isinstance(stmt, _SCOPES):
        return {stmt.name}
    if isinstance(stmt, (ast.Expr, ast.Assert)):
        return _names([stmt])  # a method may change its object; an assertion tells what it has passed
    # an attribute that is set is not followed, so it changes nothing
    items = (
        node.value for node in walk(stmt) if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    )
    return _bound([stmt]) | {node.id for node in items if isinstance(node, ast.Name)}


def _yields(stmt: ast.stmt) -> bool:
    if isinstance(stmt, _SCOPES):
        return False
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for part in _own_parts(stmt) for node in walk(part))
