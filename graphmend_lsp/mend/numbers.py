"""Whether names may hold Python ints where they hold 0-d integer tensors: what is computed of them and takes it."""

from __future__ import annotations

import ast
from typing import Literal

from graphmend_lsp.flow.ops import function_fact, method_fact
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.model.walk import children, own_nodes, walk

Type = Literal["int", "float"]
_EXACT = (ast.Add, ast.Sub, ast.Mult)
_WHOLE = (ast.FloorDiv, ast.Mod)
_BESIDE = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_COMPARES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ALSO_NUMBERS = {"torch.linspace": ("start", "end")}
"""Parameters that take tensors in an overload of their own, which reads them."""
_STEPS = 256
"""Floats in multiples of 1/256 are exact in single precision up to 65,536, and so are sums of them and sizes."""


class Uses:
    """The uses of such names in one function; ``changes`` says what is no longer quite the same."""

    def __init__(self, site: Site, names: set[str]) -> None:
        self._site = site
        self._rows = frozenset(names)
        nodes = [site.function.node, *own_nodes(site.function.node)]
        self._parents = {id(child): node for node in nodes for child in children(node)}
        self._names = [node for node in nodes if isinstance(node, ast.Name)]
        own = {id(node) for node in nodes}
        self._nested = [n for n in walk(site.function.node) if isinstance(n, ast.Name) and id(n) not in own]
        self._tracked: dict[str, Type] = dict.fromkeys(names, "int")
        self.changes: list[str] = []
        self._follow()

    def fault(self) -> ast.expr | None:
        """An expression that needs a tensor, or would not be the same number; None if there is none."""
        inner = next((node for node in self._nested if node.id in self._tracked), None)
        if inner is not None:
            return inner
        for node in sorted(self._names, key=lambda n: (n.lineno, n.col_offset)):
            if node.id not in self._tracked:
                continue
            if not isinstance(node.ctx, ast.Load):
                if node.id not in self._rows and self._given(node) is None:
                    return node
                continue
            root: ast.expr = node
            parent = self._parents.get(id(root))
            while isinstance(parent, (ast.BinOp, ast.UnaryOp)) and self._number(parent) is not None:
                root, parent = parent, self._parents.get(id(parent))
            if not self._taken(root, parent):
                return root
        return None

    # -- what is a number ----------------------------------------------------------------------------

    def _follow(self) -> None:
        """Names that are computed from those that are known, until there are no more."""
        while True:
            found = {n.id for n in self._names if isinstance(n.ctx, ast.Store) and self._computed(n)}
            new = found - self._tracked.keys()
            if not new:
                return
            self._tracked |= dict.fromkeys(new, "int")

    def _computed(self, name: ast.Name) -> bool:
        value = self._given(name)
        return value is not None and any(
            isinstance(inner, ast.Name) and inner.id in self._tracked for inner in ast.walk(value)
        )

    def _given(self, name: ast.Name) -> ast.expr | None:
        """The int that a plain assignment gives to a name."""
        stmt = self._parents.get(id(name))
        if (isinstance(stmt, ast.Assign) and len(stmt.targets) == 1) or isinstance(
            stmt, (ast.AnnAssign, ast.AugAssign)
        ):
            value = stmt.value
            operator = isinstance(stmt, ast.AugAssign) and not isinstance(stmt.op, _EXACT)
            return value if value is not None and not operator and self._number(value) == "int" else None
        return None

    def _number(self, node: ast.expr) -> Type | None:
        if isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return None
            exact = float(value * _STEPS).is_integer() and abs(value) < _STEPS
            return "int" if isinstance(value, int) else "float" if exact else None
        if isinstance(node, ast.Name) and node.id in self._tracked:
            return self._tracked[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._number(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            if left is None or right is None:
                return None
            if isinstance(node.op, _WHOLE):
                divisor = node.right.value if isinstance(node.right, ast.Constant) else 0
                return "int" if left == right == "int" and divisor else None
            if not isinstance(node.op, _EXACT) or left == right == "float":
                return None
            return "int" if left == right else "float"
        value = self._site.value(node)
        return "int" if value.kind is Kind.PYTHON and value.null == 0 and value.dtype == "int" else None

    # -- what takes it -------------------------------------------------------------------------------

    def _taken(self, node: ast.expr, parent: ast.AST | None) -> bool:
        kind = self._number(node)
        if isinstance(parent, ast.keyword):
            outer = self._parents.get(id(parent))
            return isinstance(outer, ast.Call) and self._argument(outer, node, kind, parent.arg)
        if isinstance(parent, ast.Call):
            return parent.func is not node and self._argument(parent, node, kind, None)
        if isinstance(parent, (ast.Tuple, ast.List)):
            outer = self._parents.get(id(parent))
            return isinstance(outer, ast.Call) and self._argument(outer, parent, kind, None)
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id in self._tracked
        if isinstance(parent, ast.Slice):
            return kind == "int"
        if isinstance(parent, ast.Compare):
            sides = (parent.left, *parent.comparators)
            plain = all(isinstance(op, _COMPARES) for op in parent.ops)
            return plain and all(self._number(side) is not None for side in sides) and self._tested(parent)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, _BESIDE):
            return self._beside(parent, node)
        return False

    def _beside(self, parent: ast.BinOp, node: ast.expr) -> bool:
        """A tensor is on the other side: it keeps its type beside a number as it does beside a 0-d tensor."""
        other = parent.right if parent.left is node else parent.left
        value = self._site.value(other)
        if value.kind is not Kind.TENSOR or value.mixed or value.array or value.shape == ():
            return False
        text = one_line(self._site.source(parent))
        self.changes.append(f"`{text}` computes with a Python number instead of a 0-d tensor")
        return True

    def _tested(self, node: ast.expr) -> bool:
        parent = self._parents.get(id(node))
        return isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and parent.test is node

    def _argument(self, call: ast.Call, given: ast.expr, kind: Type | None, keyword: str | None) -> bool:
        name = self._site.module.dotted(call.func) or ""
        if isinstance(call.func, ast.Name) and call.func.id == "range":
            return kind == "int"
        fact = function_fact(name) if name.startswith("torch.") else None
        if fact is None and isinstance(call.func, ast.Attribute):
            value = self._site.facts.values.get(id(call.func.value), UNKNOWN)
            fact = method_fact(call.func.attr) if value.kind is Kind.TENSOR and not value.mixed else None
        if fact is None or not fact.params:
            return False
        at = next((i for i, argument in enumerate(call.args) if argument is given), None)
        parameter = keyword if at is None else fact.params[min(at, len(fact.params) - 1)]
        if parameter in _ALSO_NUMBERS.get(name, ()):
            return True
        return kind == "int" and parameter in fact.numbers
