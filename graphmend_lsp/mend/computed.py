"""What a test has computed when its branch begins: it raises on neither path, or on both."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.mend import scope


class Computed:
    """The expressions of a test that are computed whatever comes out."""

    def __init__(self, node: ast.stmt | ast.expr) -> None:
        test = node.test if isinstance(node, (ast.If, ast.IfExp)) else None
        found = [] if test is None else list(_always(test))
        bound = {n.target.id for part in found for n in ast.walk(part) if isinstance(n, ast.NamedExpr)}
        self._known = {ast.dump(part) for part in found if not _names(part) & bound}
        branch = [*node.body, *node.orelse] if isinstance(node, ast.If) else []
        self._simple = [s for top in branch for s in ast.walk(top) if isinstance(s, ast.stmt)]

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression of the branch is one of them, of the same values."""
        if not isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)) or ast.dump(node) not in self._known:
            return False
        names = _names(node)
        here = (node.lineno, node.col_offset)
        before = [s for s in self._simple if (s.end_lineno or s.lineno, s.end_col_offset or 0) <= here]
        return not any(_may_change(stmt, names) for stmt in before)


def _always(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that are computed in any case; of an ``and`` all, since the branch begins behind them."""
    todo: list[ast.AST] = [test]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.BoolOp):
            todo += node.values if isinstance(node.op, ast.And) else node.values[:1]
        elif isinstance(node, ast.Compare):
            todo += [node.left, node.comparators[0]]
        elif isinstance(node, ast.IfExp):
            todo.append(node.test)
        elif not isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            todo += ast.iter_child_nodes(node)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _may_change(stmt: ast.stmt, names: set[str]) -> bool:
    if isinstance(stmt, ast.Assign) and all(isinstance(t, ast.Name) for t in stmt.targets):
        return bool(scope.writes(stmt) & names)
    return True
