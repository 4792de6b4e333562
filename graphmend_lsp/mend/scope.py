"""Names inside a function: what a statement reads, what is read later, which statements follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.model.module import FunctionInfo, child_statements, own_nodes


def reads(node: ast.AST) -> set[str]:
    """Names that a node loads, those bound by comprehensions and lambdas inside it left out."""
    found: set[str] = set()
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while todo:
        item, bound = todo.pop()
        if isinstance(item, ast.Name):
            if isinstance(item.ctx, ast.Load) and item.id not in bound:
                found.add(item.id)
            continue
        if isinstance(item, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            inner = bound | {n.id for g in item.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            todo.append((item.generators[0].iter, bound))
            todo.extend((c, inner) for c in ast.iter_child_nodes(item) if not isinstance(c, ast.comprehension))
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
        todo.extend((c, bound) for c in ast.iter_child_nodes(item))
    return found


def writes(node: ast.AST) -> set[str]:
    """Names that a node binds."""
    found: set[str] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            found.add(item.id)
    return found


def parameters(function: FunctionInfo) -> set[str]:
    args = function.node.args
    names = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    return names | {a.arg for a in (args.vararg, args.kwarg) if a is not None}


def local_names(function: FunctionInfo) -> set[str]:
    """Parameters and everything the function (or one it is nested in) binds."""
    names = parameters(function) | set(function.stores)
    for node in own_nodes(function.node):
        if isinstance(node, (ast.Global,)):
            names -= set(node.names)
    if function.parent is not None:
        names |= local_names(function.parent)
    return names


def block_of(function: FunctionInfo, stmt: ast.stmt) -> list[ast.stmt] | None:
    """The list of statements that contains ``stmt``."""
    todo: list[ast.AST] = [function.node]
    while todo:
        node = todo.pop()
        for block in _blocks(node):
            if any(item is stmt for item in block):
                return block
            todo.extend(block)
    return None


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block  # pyright: ignore[reportUnknownVariableType]
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def parent_of(function: FunctionInfo, stmt: ast.stmt) -> ast.AST | None:
    """The statement (or function) directly around ``stmt``."""
    todo: list[ast.AST] = [function.node]
    while todo:
        node = todo.pop()
        for block in _blocks(node):
            if any(item is stmt for item in block):
                return node
            todo.extend(block)
    return None


def is_elif(function: FunctionInfo, stmt: ast.stmt, text: str) -> bool:
    """Whether an ``if`` is spelled ``elif`` (``text`` is its source)."""
    parent = parent_of(function, stmt)
    return isinstance(parent, ast.If) and parent.orelse == [stmt] and text.startswith("elif")


def following(block: list[ast.stmt], stmt: ast.stmt) -> list[ast.stmt]:
    index = next(i for i, item in enumerate(block) if item is stmt)
    return block[index + 1 :]


def read_after(function: FunctionInfo, stmt: ast.stmt, name: str) -> bool:
    """Whether ``name`` may be read after ``stmt`` (by position; anywhere in a loop around it counts)."""
    end = (stmt.end_lineno or stmt.lineno, stmt.end_col_offset or 0)
    inside = {id(n) for n in ast.walk(stmt)}
    if name in _read_by_closures(function):
        return True
    loop = _loop_around(function, stmt)
    loop_nodes = {id(n) for n in ast.walk(loop)} if loop is not None else set[int]()
    for node in ast.walk(function.node):
        if not isinstance(node, ast.Name) or node.id != name or id(node) in inside:
            continue
        augmented = isinstance(node.ctx, ast.Store) and _augments(function, node)
        if not isinstance(node.ctx, ast.Load) and not augmented:
            continue
        if (node.lineno, node.col_offset) >= end or id(node) in loop_nodes:
            return True
    return False


def _read_by_closures(function: FunctionInfo) -> set[str]:
    """Names that functions and lambdas defined inside read: when they run is not known."""
    found: set[str] = set()
    for node in ast.walk(function.node):
        if node is not function.node and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return found


def _augments(function: FunctionInfo, name: ast.Name) -> bool:
    return any(isinstance(n, ast.AugAssign) and n.target is name for n in ast.walk(function.node))


def _loop_around(function: FunctionInfo, stmt: ast.stmt) -> ast.stmt | None:
    """The outermost loop around a statement."""
    todo: list[ast.stmt] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and any(n is stmt for n in ast.walk(node)):
            return node
        todo.extend(child_statements(node))
    return None


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
