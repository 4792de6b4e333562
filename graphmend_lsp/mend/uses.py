"""What becomes of a number that an expression gives."""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Site
from graphmend_lsp.model.walk import walk


def only_beside_tensors(site: Site, node: ast.expr) -> bool:
    """Whether the number, or the one name that it is given, is only an operand beside a tensor.

    In every calling context of the function that is known.
    """
    return all(_only_beside_tensors(site, facts, node) for facts in (site.facts, *site.others))


def _only_beside_tensors(site: Site, facts: Facts, node: ast.expr) -> bool:
    stmt = site.event.stmt
    used: list[ast.expr] = [node]
    if isinstance(stmt, ast.Assign) and stmt.value is node:
        target = stmt.targets[0]
        if len(stmt.targets) > 1 or not isinstance(target, ast.Name):
            return False
        names = [each for each in walk(site.function.node) if isinstance(each, ast.Name) and each.id == target.id]
        if sum(not isinstance(each.ctx, ast.Load) for each in names) > 1:
            return False
        used = [each for each in names if isinstance(each.ctx, ast.Load)]
    operands = {
        id(side)
        for each in walk(site.function.node)
        if isinstance(each, ast.BinOp)
        for side, other in ((each.left, each.right), (each.right, each.left))
        if _is_tensor(facts, other)
    }
    return bool(used) and all(id(each) in operands for each in used)


def _is_tensor(facts: Facts, node: ast.expr) -> bool:
    value = facts.values.get(id(node), UNKNOWN)
    return value.kind is Kind.TENSOR and not value.array and not value.mixed
