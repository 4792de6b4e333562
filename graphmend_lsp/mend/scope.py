"""Names inside a function: what a statement reads, what is read later, which statements follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from weakref import WeakKeyDictionary

from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.walk import children, own_nodes, walk

_reads: WeakKeyDictionary[ast.AST, set[str]] = WeakKeyDictionary()
_writes: WeakKeyDictionary[ast.AST, set[str]] = WeakKeyDictionary()
"""Trees never change, and those that an edit does not touch stay."""


def reads(node: ast.AST) -> set[str]:
    """Names that a node loads, those bound by comprehensions and lambdas inside it left out."""
    known = _reads.get(node)
    if known is None:
        known = _reads[node] = _read_in(node)
    return known.copy()


def _read_in(node: ast.AST) -> set[str]:
    found: set[str] = set()
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while todo:
        item, bound = todo.pop()
        if isinstance(item, ast.Name):
            if isinstance(item.ctx, ast.Load) and item.id not in bound:
                found.add(item.id)
            continue
        if isinstance(item, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            inner = bound | {n.id for g in item.generators for n in walk(g.target) if isinstance(n, ast.Name)}
            todo.append((item.generators[0].iter, bound))
            todo.extend((c, inner) for c in children(item) if not isinstance(c, ast.comprehension))
            for index, generator in enumerate(item.generators):
                todo.extend((c, inner) for c in generator.ifs)
                if index:
                    todo.append((generator.iter, inner))
            continue
        if isinstance(item, ast.Lambda):
            args = item.args
            names = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
            names |= {a.arg for a in (args.vararg, args.kwarg) if a is not None}
            todo.append((item.body, bound | names))
            todo.extend((d, bound) for d in (*args.defaults, *(d for d in args.kw_defaults if d is not None)))
            continue
        if isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name) and item.target.id not in bound:
            found.add(item.target.id)
        todo.extend((c, bound) for c in children(item))
    return found


def writes(node: ast.AST) -> set[str]:
    """Names that a node binds."""
    known = _writes.get(node)
    if known is None:
        stored = (n for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)))
        known = _writes[node] = {item.id for item in stored}
    return known.copy()


def parameters(function: FunctionInfo) -> set[str]:
    args = function.node.args
    names = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    return names | {a.arg for a in (args.vararg, args.kwarg) if a is not None}


@lru_cache(maxsize=64)
def local_names(function: FunctionInfo) -> frozenset[str]:
    """Parameters and everything the function (or one it is nested in) binds."""
    names = parameters(function) | set(function.stores)
    for node in own_nodes(function.node):
        if isinstance(node, (ast.Global,)):
            names -= set(node.names)
    if function.parent is not None:
        names |= local_names(function.parent)
    return frozenset(names)


@lru_cache(maxsize=64)
def _places(function: FunctionInfo) -> dict[int, tuple[ast.AST, list[ast.stmt], int]]:
    """For each statement of a function (by id): what it stands in, its block and its index there."""
    found: dict[int, tuple[ast.AST, list[ast.stmt], int]] = {}
    todo: list[ast.AST] = [function.node]
    while todo:
        node = todo.pop()
        for block in _blocks(node):
            for index, item in enumerate(block):
                found[id(item)] = (node, block, index)
            todo.extend(block)
    return found


def block_of(function: FunctionInfo, stmt: ast.stmt) -> list[ast.stmt] | None:
    """The list of statements that contains ``stmt``."""
    place = _places(function).get(id(stmt))
    return None if place is None else place[1]


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block  # pyright: ignore[reportUnknownVariableType]
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def parent_of(function: FunctionInfo, stmt: ast.stmt) -> ast.AST | None:
    """The statement (or function) directly around ``stmt``."""
    place = _places(function).get(id(stmt))
    return None if place is None else place[0]


def is_elif(function: FunctionInfo, stmt: ast.stmt, text: str) -> bool:
    """Whether an ``if`` is spelled ``elif`` (``text`` is its source)."""
    parent = parent_of(function, stmt)
    return isinstance(parent, ast.If) and parent.orelse == [stmt] and text.startswith("elif")


def following(block: list[ast.stmt], stmt: ast.stmt) -> list[ast.stmt]:
    index = next(i for i, item in enumerate(block) if item is stmt)
    return block[index + 1 :]


def read_after(function: FunctionInfo, stmt: ast.stmt, name: str) -> bool:
    """Whether ``name`` may be read after ``stmt`` before it is bound anew."""
    if name in _read_by_closures(function):
        return True
    path = _path_to(function, stmt)
    for index in range(len(path) - 1, -1, -1):
        block, position = path[index]
        found = _first_use(block[position + 1 :], name)
        if found is not None:
            return found == "read"
        if index == 0:
            break
        parent = path[index - 1][0][path[index - 1][1]]
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.While)) and block is not parent.orelse:
            # Around the loop once more: its head, then its body from the start.
            head = parent.test if isinstance(parent, ast.While) else None
            if head is not None and name in reads(head):
                return True
            again = _first_use(block, name)
            if again == "read":
                return True
            if parent.orelse and _first_use(parent.orelse, name) == "read":
                return True
        if isinstance(parent, ast.Try):
            later = [*(s for h in parent.handlers for s in h.body), *parent.orelse, *parent.finalbody]
            if _may_read(later, name):
                return True
    return False


def _path_to(function: FunctionInfo, stmt: ast.stmt) -> list[tuple[list[ast.stmt], int]]:
    """Blocks from the function's body down to the one with ``stmt``, each with the index inside it."""
    path: list[tuple[list[ast.stmt], int]] = []
    node: ast.AST | None = stmt
    while isinstance(node, ast.stmt):
        place = _places(function).get(id(node))
        if place is None:
            break
        path.append((place[1], place[2]))
        node = place[0]
    return path[::-1]


def _first_use(block: list[ast.stmt], name: str) -> str | None:
    """Whether a block surely binds ``name`` before reading it ("bound"), may read it first ("read"), or neither."""
    jumps = False
    for stmt in block:
        found = _use_in(stmt, name)
        if found is not None:
            return None if jumps and found == "bound" else found
        jumps = jumps or _jumps(stmt)
    return None


def _jumps(stmt: ast.stmt) -> bool:
    """Whether a ``break`` or ``continue`` in it may skip what follows."""
    todo: list[ast.stmt] = [stmt]
    while todo:
        item = todo.pop()
        if isinstance(item, (ast.Break, ast.Continue)):
            return True
        if not isinstance(item, (ast.For, ast.AsyncFor, ast.While)):
            todo.extend(inner for block in _blocks(item) for inner in block)
    return False


def _may_read(block: list[ast.stmt], name: str) -> bool:
    return any(name in reads(stmt) for stmt in block)


def _use_in(stmt: ast.stmt, name: str) -> str | None:
    if isinstance(stmt, ast.If):
        if name in reads(stmt.test):
            return "read"
        sides = (_first_use(stmt.body, name), _first_use(stmt.orelse, name))
        if "read" in sides:
            return "read"
        return "bound" if sides == ("bound", "bound") else None
    if isinstance(stmt, (ast.For, ast.AsyncFor, ast.While)):
        head = stmt.test if isinstance(stmt, ast.While) else stmt.iter
        if name in reads(head):
            return "read"
        if not isinstance(stmt, ast.While) and name in writes(stmt.target):
            return "read" if _may_read(stmt.orelse, name) else None
        return "read" if "read" in (_first_use(stmt.body, name), _first_use(stmt.orelse, name)) else None
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        if any(name in reads(item.context_expr) for item in stmt.items):
            return "read"
        return _first_use(stmt.body, name)
    if isinstance(stmt, (ast.Try, ast.Match)):
        return "read" if name in reads(stmt) else None
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return "read" if name in reads(stmt) else None
    if name in reads(stmt):
        return "read"
    if isinstance(stmt, (ast.Return, ast.Raise)):
        return "bound"  # nothing behind it runs
    if isinstance(stmt, (ast.Break, ast.Continue)):
        return None
    return "bound" if name in writes(stmt) else None


@lru_cache(maxsize=64)
def _read_by_closures(function: FunctionInfo) -> set[str]:
    """Names that functions and lambdas defined inside read: when they run is not known."""
    found: set[str] = set()
    for node in walk(function.node):
        if node is not function.node and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found |= {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return found


@lru_cache(maxsize=64)
def outer_names(function: FunctionInfo) -> frozenset[str]:
    """Names the function declares ``global`` or ``nonlocal``."""
    found: set[str] = set()
    for node in own_nodes(function.node):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
    return frozenset(found)


@lru_cache(maxsize=64)
def local_imports(function: FunctionInfo) -> dict[str, ast.stmt]:
    """Names that only import statements inside the function bind, with those statements."""
    found: dict[str, ast.stmt] = {}
    others: set[str] = parameters(function)
    for node in own_nodes(function.node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            others.add(node.id)
    return {name: node for name, node in found.items() if name not in others}
