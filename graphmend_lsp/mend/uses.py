"""What becomes of a number that an expression gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Site
from graphmend_lsp.model.walk import children, walk

Takes = Callable[[Facts, ast.AST, ast.expr], bool | ast.expr]
"""Says of an expression or statement whether it takes a tensor for a number in it; an expression is one more number,
which is a tensor then, too."""
_MAX_NAMES = 3
"""How many names a number is followed through."""


def _nothing(facts: Facts, holder: ast.AST, node: ast.expr) -> bool:
    del facts, holder, node
    return False


def only_beside_tensors(
    site: Site,
    node: ast.expr,
    *,
    through_numbers: bool = False,
    takes: Takes = _nothing,
) -> bool:
    """Whether the number, or the one name that it is given, is only an operand beside a tensor.

    In every calling context of the function that is known.  ``through_numbers``: arithmetic with other numbers may
    come before that.
    """
    contexts = (site.facts, *site.others)
    return beside_tensors(node, contexts, through_numbers=through_numbers, takes=takes)


def beside_tensors(
    node: ast.expr,
    contexts: Iterable[Facts],
    *,
    through_numbers: bool = False,
    sinks: Iterable[ast.stmt] = (),
    allows: Callable[[ast.BinOp], bool] = lambda _: True,
    takes: Takes = _nothing,
) -> bool:
    """As ``only_beside_tensors``, for facts of any function.

    ``sinks`` are assignments that may take the number, too; ``allows`` says which arithmetic with other numbers may
    come before that.
    """
    ends = frozenset(id(stmt) for stmt in sinks)
    return all(_Uses(facts, through_numbers, ends, allows, takes).ends_well(node) for facts in contexts)


class _Uses:
    def __init__(
        self,
        facts: Facts,
        through_numbers: bool,
        sinks: frozenset[int],
        allows: Callable[[ast.BinOp], bool],
        takes: Takes,
    ) -> None:
        self._facts = facts
        self._takes = takes
        self._through = through_numbers
        self._sinks = sinks
        self._allows = allows
        nodes = list(walk(facts.function.node))
        self._names = [node for node in nodes if isinstance(node, ast.Name)]
        self._parents = {id(child): node for node in nodes for child in children(node)}

    def ends_well(self, node: ast.expr, names: int = 0) -> bool:
        while True:
            parent = self._parents.get(id(node))
            if id(parent) in self._sinks:
                return True
            taken = parent is not None and self._takes(self._facts, parent, node)
            if taken is True:
                return True
            if taken:
                node = taken
                continue
            if isinstance(parent, ast.BinOp):
                other = parent.right if parent.left is node else parent.left
                if self._is_tensor(other):
                    return True
                if not self._through or not self._is_number(other) or not self._allows(parent):
                    return False
                node = parent
            elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub) and self._through:
                node = parent
            else:
                target = self._given(node)
                return target is not None and names < _MAX_NAMES and self._name_ends_well(target, names)

    def _given(self, node: ast.expr) -> ast.Name | None:
        """The name that an expression is given: its own, or one of ``a, b = x, y``."""
        parent = self._parents.get(id(node))
        place = None
        if isinstance(parent, ast.Tuple):
            place = next(i for i, item in enumerate(parent.elts) if item is node)
            node, parent = parent, self._parents.get(id(parent))
        if not isinstance(parent, ast.Assign) or len(parent.targets) > 1:
            return None
        target = parent.targets[0]
        if place is not None:
            assert isinstance(node, ast.Tuple)
            if not isinstance(target, ast.Tuple) or len(target.elts) != len(node.elts):
                return None
            if any(isinstance(item, ast.Starred) for item in (*target.elts, *node.elts)):
                return None
            target = target.elts[place]
        return target if isinstance(target, ast.Name) else None

    def _name_ends_well(self, target: ast.Name, names: int) -> bool:
        same = [each for each in self._names if each.id == target.id]
        used = [each for each in same if isinstance(each.ctx, ast.Load)]
        return len(same) - len(used) == 1 and bool(used) and all(self.ends_well(each, names + 1) for each in used)

    def _is_tensor(self, node: ast.expr) -> bool:
        value = self._facts.values.get(id(node), UNKNOWN)
        return value.kind is Kind.TENSOR and not value.array and not value.mixed

    def _is_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        value = self._facts.values.get(id(node), UNKNOWN)
        return value.kind in (Kind.PYTHON, Kind.SCALAR) and value.dtype in ("int", "float", None)
