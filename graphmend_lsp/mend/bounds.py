"""How small a divisor can be: a lower bound of what an expression computes, from the expression alone."""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphmend_lsp.flow.values import Kind, Value
from graphmend_lsp.mend.names import called_name
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.walk import is_name, own_nodes, walk

LEAST = 1e-8
"""A divisor from here on has a finite slope: its square divides any ordinary number."""
LEAST_HALF = 0.1
"""The same where it may be a half, which holds nothing above 65504, and takes 1e-8 for 0."""
_WIDE = frozenset({"float32", "float64", "bfloat16"})
_NEVER_NEGATIVE = frozenset({"abs", "absolute", "square", "relu", "sigmoid", "softmax", "count_nonzero", "exp"})
_KEEPS = frozenset(
    "detach clone contiguous float double view reshape flatten unsqueeze squeeze expand expand_as mean amax amin max "
    "min".split()
)
_MAX_DEPTH = 12


class Bounds:
    """Lower bounds of expressions of one function."""

    def __init__(
        self, function: FunctionInfo, value: Callable[[ast.expr], Value], written: Callable[[Value], bool]
    ) -> None:
        self._function = function
        self._value = value
        self._written = written

    def divides(self, node: ast.expr) -> bool:
        """Whether an expression is known to be a divisor that nothing becomes infinite by."""
        low = self.low(node)
        return low is not None and low >= (LEAST if self._value(node).dtype in _WIDE else LEAST_HALF)

    def low(self, node: ast.expr, depth: int = 0) -> float | None:
        """What the expression is at least, where that is known."""
        if depth > _MAX_DEPTH:
            return None
        const = self._value(node).const
        if isinstance(const, (int, float)) and not isinstance(const, bool):
            return float(const)
        if isinstance(node, ast.Constant):
            number = node.value
            return float(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None
        if isinstance(node, ast.Name):
            made = self._only_definition(node.id)
            return None if made is None else self.low(made, depth + 1)
        if isinstance(node, ast.BinOp):
            return self._combined(node, depth)
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        return None

    def _combined(self, node: ast.BinOp, depth: int) -> float | None:
        if isinstance(node.op, ast.Pow):
            even = isinstance(node.right, ast.Constant) and type(node.right.value) is int and node.right.value % 2 == 0
            return 0.0 if even and self._value(node.left).kind is Kind.TENSOR else None
        if not isinstance(node.op, (ast.Add, ast.Mult)):
            return None
        left, right = self.low(node.left, depth + 1), self.low(node.right, depth + 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        return left * right if left >= 0 and right >= 0 else None

    def _called(self, node: ast.Call, depth: int) -> float | None:
        name = called_name(node)
        if self._value(node).kind is not Kind.TENSOR:
            return None
        if name in ("clamp", "clip", "clamp_min"):
            return self._clamped(node, depth)
        if name in _NEVER_NEGATIVE:
            return 0.0
        operand = self._operand(node)
        if operand is None or (name != "sum" and name not in _KEEPS):
            return None
        others = [a for a in node.args if a is not operand and self._value(a).kind is Kind.TENSOR]
        low = self.low(operand, depth + 1)
        if low is None or low < 0 or others:
            return None
        return 0.0 if name == "sum" else low

    def _operand(self, node: ast.Call) -> ast.expr | None:
        """The tensor that a method is called on, or that a function of torch takes first."""
        if isinstance(node.func, ast.Attribute) and self._value(node.func.value).kind is Kind.TENSOR:
            return node.func.value
        return node.args[0] if node.args else None

    def _clamped(self, node: ast.Call, depth: int) -> float | None:
        operand = self._operand(node)
        positional = node.args[1:] if node.args and operand is node.args[0] else node.args
        given = dict(zip(("min", "max"), positional, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
        if "min" not in given or "max" in given:
            return None
        return self.low(given["min"], depth + 1)

    def _only_definition(self, name: str) -> ast.expr | None:
        """What a name is bound to, where the function binds it once."""
        args = self._function.node.args
        if any(a.arg == name for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)):
            return None
        found: list[ast.expr | None] = []
        for node in own_nodes(self._function.node):
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
                found.append(None)
            elif _is_written(node, name):
                return None
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                if node.targets[0].id == name:
                    found.append(node.value)
        made = next((value for value in found if value is not None), None) if len(found) == 2 else None
        return None if made is None or self._written(self._value(made)) or self._is_nonlocal(name) else made

    def _is_nonlocal(self, name: str) -> bool:
        """Whether a function inside may bind it, too."""
        return any(isinstance(node, ast.Nonlocal) and name in node.names for node in walk(self._function.node))


def _is_written(node: ast.AST, name: str) -> bool:
    """Whether a name's tensor is written in place."""
    if isinstance(node, ast.keyword):
        return node.arg == "out" and is_name(node.value, name)
    if isinstance(node, ast.Attribute):
        method = node.attr.endswith("_") and not node.attr.endswith("__")
        return (method or not isinstance(node.ctx, ast.Load)) and is_name(node.value, name)
    return isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and is_name(node.value, name)
