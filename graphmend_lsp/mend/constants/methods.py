"""Methods that compute with such constants: every number in them written for Python numbers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.ops import function_fact, method_fact
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import ExpressionReplacement, Replacement, Site
from graphmend_lsp.mend.constants.constructor import Constant
from graphmend_lsp.mend.sources import one_line, operand, replaced, replacements
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.walk import children, own_nodes

Type = Literal["int", "float"]
_ROUNDED = frozenset({"ceil", "floor"})
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass
class Converted:
    """One method with the numbers of its constants; ``changes`` say in words what is no longer the same."""

    method: FunctionInfo
    replacements: list[Replacement | ExpressionReplacement] = field(
        default_factory=list[Replacement | ExpressionReplacement]
    )
    changes: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    rewritten: list[ast.expr] = field(default_factory=list[ast.expr])
    both: list[str] = field(default_factory=list[str])
    """Names that hold such a number, and are used as tensors, too."""
    math: bool = False
    returns: Type | None = None


class Numbers:
    """Which expressions of one method are numbers once its constants are, and how they are written then.

    A name is a number if all that it is given are numbers, and at least one of that comes from a constant.
    """

    def __init__(
        self,
        site: Site,
        method: FunctionInfo,
        facts: Facts,
        found: Mapping[str, Constant],
        returned: Mapping[str, Type],
        math: str,
    ) -> None:
        self.site = site
        self.facts = facts
        self.found = found
        self.returned = returned
        self.math = math
        self.made = Converted(method)
        self.poison: set[str] = set()
        self.types: dict[int, Type] = {}
        self.names: dict[str, Type] = {}
        self.tracked: set[str] = set()
        nodes = [method.node, *own_nodes(method.node)]
        self.parents = {id(child): node for node in nodes for child in children(node)}
        self.statements = [n for n in nodes if isinstance(n, ast.stmt) and n is not method.node]
        self.statements.sort(key=lambda n: (n.lineno, n.col_offset))
        arguments = method.node.args
        first = (*arguments.posonlyargs, *arguments.args)[:1]
        self.self_name = first[0].arg if first else ""

    def convert(self) -> Converted | None:
        """The method rewritten; None if what a method returns as a number is used as a tensor.

        A name that is used as a tensor, too, stays one, and so does all that is computed from it.
        """
        while True:
            before = len(self.poison)
            self._read()
            self._poisoned()
            roots = self._roots()
            self.made = Converted(self.made.method)
            for root in roots:
                if not self._consumed(root):
                    if not self._stays(root):
                        return None
                    self.types[id(root)] = "int"
            if len(self.poison) == before:
                break
        self.made.both = sorted(self.poison)
        self._write(roots)
        return self.made

    def _stays(self, node: ast.expr) -> bool:
        """Whether an expression can stay the tensor that it is; what it is computed from stays one then."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in self.tracked:
                self.poison.add(inner.id)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                if self._is_self(inner.func.value) and inner.func.attr in self.returned:
                    return False
        return True

    # -- what is a number ----------------------------------------------------------------------------

    def _read(self) -> None:
        self.types, self.names, self.tracked = {}, {}, set()
        for _ in range(2):  # a name of a loop is read before it is given
            for stmt in self.statements:
                if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                    self._assign(stmt)

    def _assign(self, stmt: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or stmt.value is None:
            return
        name = targets[0].id
        kind = self.number(stmt.value)
        if kind is None or name in self.poison:
            return
        involved = self._involves(stmt.value)
        if isinstance(stmt, ast.AugAssign):
            known = self.names.get(name)
            kind = None if known is None else self._result(stmt.op, known, kind)
            involved = involved or name in self.tracked
        if kind is None:
            return
        nested = not any(stmt is each for each in self.made.method.body)
        self.names[name] = "float" if nested and self.names.get(name) == "float" else kind
        if involved:
            self.tracked.add(name)

    def _poisoned(self) -> None:
        """Names that are given something else, too, or by a loop, a ``with`` or an unpacking."""
        for node in own_nodes(self.made.method.node):
            if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Load) or node.id not in self.tracked:
                continue
            stmt = self.parents.get(id(node))
            plain = isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and stmt.value is not None
            if not plain or not isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or stmt.value is None:
                self.poison.add(node.id)
            elif self.number(stmt.value) is None or (isinstance(stmt, ast.Assign) and len(stmt.targets) > 1):
                self.poison.add(node.id)

    def number(self, node: ast.expr) -> Type | None:
        """The type of the number that an expression is, constants being numbers."""
        if isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return None
            return "int" if isinstance(value, int) else "float"
        if self._is_constant(node):
            return "int"
        if isinstance(node, ast.Name) and node.id in self.tracked:
            return self.names[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            left, right = self.number(node.left), self.number(node.right)
            return self._result(node.op, left, right) if left and right else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.number(node.operand)
        if isinstance(node, ast.Call):
            found = self._call(node)
            if found is not None:
                return found
        value = self.facts.values.get(id(node), UNKNOWN)
        if value.kind is Kind.PYTHON and value.null == 0 and value.dtype in ("int", "float"):
            return "int" if value.dtype == "int" else "float"
        return None

    def _result(self, op: ast.operator, left: Type, right: Type) -> Type:
        return "int" if left == right == "int" and not isinstance(op, ast.Div) else "float"

    def _call(self, node: ast.Call) -> Type | None:
        func = node.func
        if isinstance(func, ast.Attribute) and self._is_self(func.value) and func.attr in self.returned:
            return self.returned[func.attr]
        if node.keywords:
            return None
        name = self.site.module.dotted(func) or ""
        if isinstance(func, ast.Name) and func.id in ("int", "float", "max", "min", "abs"):
            kinds = [self.number(a) for a in node.args]
            if not kinds or None in kinds or not any(self._involves(a) for a in node.args):
                return None
            if func.id in ("int", "float"):
                return ("int" if func.id == "int" else "float") if len(kinds) == 1 else None
            return "float" if "float" in kinds else "int"
        if name.removeprefix("torch.") in _ROUNDED and name.startswith("torch.") and len(node.args) == 1:
            return "int" if self.number(node.args[0]) and self._involves(node.args[0]) else None
        if not isinstance(func, ast.Attribute) or not self._involves(func.value):
            return None
        inner = self.number(func.value)
        if inner is None:
            return None
        if func.attr == "item" and not node.args:
            return inner
        if func.attr in _ROUNDED and not node.args:
            return "int"
        return "int" if self._to_integer(node) else None

    def _to_integer(self, node: ast.Call) -> bool:
        func = node.func
        if not isinstance(func, ast.Attribute):
            return False
        if func.attr == "long":
            return not node.args
        to = [self.site.module.dotted(a) for a in node.args]
        return func.attr == "to" and to in (["torch.int64"], ["torch.long"])

    def _is_self(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.self_name

    def _is_constant(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and self._is_self(node.value) and node.attr in self.found

    def _involves(self, node: ast.expr) -> bool:
        """Whether a constant is part of what a number is computed from."""
        for inner in ast.walk(node):
            if self._is_constant(inner) or (isinstance(inner, ast.Name) and inner.id in self.tracked):
                return True
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                if self._is_self(inner.func.value) and inner.func.attr in self.returned:
                    return True
        return False

    # -- where it goes -------------------------------------------------------------------------------

    def _roots(self) -> list[ast.expr]:
        """The largest expressions that are numbers and come from a constant."""
        found: list[ast.expr] = []
        for node in own_nodes(self.made.method.node):
            if not isinstance(node, ast.expr) or self.number(node) is None or not self._involves(node):
                continue
            parent = self.parents.get(id(node))
            if not (isinstance(parent, ast.expr) and self.number(parent) is not None):
                found.append(node)
        return [n for n in found if not self._inside(n, found)]

    def _inside(self, node: ast.expr, others: list[ast.expr]) -> bool:
        outer = self.parents.get(id(node))
        while isinstance(outer, ast.expr):
            if any(outer is each for each in others):
                return True
            outer = self.parents.get(id(outer))
        return False

    def _consumed(self, node: ast.expr) -> bool:
        """Whether what takes a number takes a Python one as well; notes what changes."""
        parent = self.parents.get(id(node))
        kind = self.number(node)
        if self.facts.values.get(id(node), UNKNOWN).kind in (Kind.PYTHON, Kind.SCALAR):
            return True  # it was one before
        if self._is_constant(node) and not self._wanted(node, parent):
            self.types[id(node)] = "int"  # it stays what it is: a tensor
            return True
        if isinstance(parent, ast.keyword):
            outer = self.parents.get(id(parent))
            return isinstance(outer, ast.Call) and self._argument(outer, node, node, parent.arg)
        if isinstance(parent, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id in self.tracked
        if isinstance(parent, ast.Return):
            self.made.returns = "float" if "float" in (kind, self.made.returns) else "int"
            self._change(f"`{self.made.method.name}` returns a Python number instead of a tensor")
            return True
        if isinstance(parent, ast.Compare):
            return (
                all(isinstance(op, _COMPARES) for op in parent.ops)
                and all(self.number(side) is not None for side in (parent.left, *parent.comparators))
                and self._tested(parent)
            )
        if isinstance(parent, ast.Slice):
            return kind == "int"
        if isinstance(parent, (ast.Tuple, ast.List)):
            outer = self.parents.get(id(parent))
            return isinstance(outer, ast.Call) and kind == "int" and self._argument(outer, parent, node, None)
        if isinstance(parent, ast.Call):
            return parent.func is not node and self._argument(parent, node, node, None)
        return False

    def _wanted(self, node: ast.expr, parent: ast.AST | None) -> bool:
        """Whether a constant by itself is needed as a number where it stands."""
        if isinstance(parent, ast.Compare):
            sides = (parent.left, *parent.comparators)
            return all(self.number(side) is not None for side in sides) and self._tested(parent)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            return isinstance(target, ast.Name) and target.id in self.tracked
        if isinstance(parent, ast.Call):
            return parent.func is not node and self._argument(parent, node, node, None, noted=False)
        return isinstance(parent, (ast.Slice, ast.Tuple, ast.List, ast.AugAssign, ast.keyword))

    def _tested(self, node: ast.expr) -> bool:
        """A comparison decides something here, and its answer is not kept: it would be a bool instead of a tensor."""
        while True:
            parent = self.parents.get(id(node))
            if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
                return parent.test is node
            if not isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
                return False
            node = parent

    def _argument(
        self, call: ast.Call, given: ast.expr, node: ast.expr, keyword: str | None, *, noted: bool = True
    ) -> bool:
        func = call.func
        name = self.site.module.dotted(func) or ""
        if isinstance(func, ast.Name) and func.id == "range" and self.number(node) == "int":
            return True
        fact = None
        if name.startswith("torch."):
            fact = function_fact(name)
        elif isinstance(func, ast.Attribute):
            value = self.facts.values.get(id(func.value), UNKNOWN)
            if value.kind is Kind.TENSOR and not value.mixed:
                fact = method_fact(func.attr)
        if fact is not None:
            if self.number(node) != "int" or not fact.params:
                return False
            at = next((i for i, a in enumerate(call.args) if a is given), None)
            last = len(fact.params) - 1
            parameter = keyword if at is None else fact.params[min(at, last)]
            return parameter in fact.numbers
        callee = self.facts.values.get(id(func), UNKNOWN)
        if callee.kind is Kind.FUNCTION or (isinstance(func, ast.Attribute) and self._is_self(func.value)):
            if noted:
                self._change(f"`{one_line(self.site.chunk.source_of(func))}` gets Python numbers instead of tensors")
            return True
        return False

    def _change(self, text: str) -> None:
        if text not in self.made.changes:
            self.made.changes.append(text)

    # -- how it is written -----------------------------------------------------------------------------

    def _write(self, roots: list[ast.expr]) -> None:
        cuts: list[tuple[ast.expr, str]] = []
        for root in roots:
            if id(root) in self.types:
                continue
            text = self._rendered(root)
            self.made.rewritten.append(root)
            if text != self.site.chunk.source_of(root):
                cuts.append((root, text))
        self.made.replacements += replacements(self.site, self.parents, cuts)

    def _rendered(self, node: ast.expr) -> str:
        if self._is_constant(node) and isinstance(node, ast.Attribute):
            self.made.used.add(node.attr)
            return f"{self.self_name}.{self.found[node.attr].number}"
        if isinstance(node, ast.BinOp):
            if self._involves(node):
                self._operator(node)
            return self._with(node, [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            return self._with(node, [node.operand])
        if isinstance(node, ast.Call) and self._involves(node):
            func = node.func
            if isinstance(func, ast.Attribute) and self._is_self(func.value):
                return self._with(node, [])
            name = self.site.module.dotted(func) or ""
            if name.startswith("torch."):
                self.made.math = True
                return f"{self.math}.{name.rpartition('.')[2]}({self._rendered(node.args[0])})"
            if isinstance(func, ast.Attribute):
                inner = self._rendered(func.value)
                if func.attr in _ROUNDED:
                    self.made.math = True
                    return f"{self.math}.{func.attr}({inner})"
                if self._to_integer(node) and self.number(func.value) != "int":
                    return f"int({inner})"
                return operand(func.value, inner)
            if isinstance(func, ast.Name) and func.id == "int" and self.number(node.args[0]) == "int":
                return operand(node.args[0], self._rendered(node.args[0]))
            return self._with(node, node.args)
        return self.site.chunk.source_of(node)

    def _operator(self, node: ast.BinOp) -> None:
        if self.number(node) == "float":
            self._change("arithmetic is done in double precision instead of float32")
        divisor = node.right.value if isinstance(node.right, ast.Constant) else 0
        if isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)) and divisor == 0:
            self._change("a division by zero is a ZeroDivisionError")

    def _with(self, node: ast.expr, parts: list[ast.expr]) -> str:
        cuts: list[tuple[ast.expr, str]] = []
        for part in parts:
            text = self._rendered(part)
            if text != self.site.chunk.source_of(part):
                cuts.append((part, operand(part, text) if _changed_shape(part) else text))
        return replaced(self.site, node, cuts)


def _changed_shape(node: ast.expr) -> bool:
    """Whether a call may have become an expression that needs parentheses."""
    return isinstance(node, ast.Call)
