"""What a test tells about names: the state on either side of it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.base import Base
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.values import (
    NONE,
    UNKNOWN,
    Kind,
    Null,
    Value,
    Why,
    alternatives,
    changed,
    join_all,
    tensor,
)

_TENSOR_CLASSES = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})


class Narrowing(Base):
    """Assumes that a test turned out true or false."""

    def assume(self, node: ast.expr, truth: bool, state: State | None = None) -> State:
        """The state if ``node`` turned out ``truth``."""
        state = state or self.state
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.assume(node.operand, not truth, state)
        if isinstance(node, ast.BoolOp):
            if isinstance(node.op, ast.And) is truth:
                for operand in node.values:
                    state = self.assume(operand, truth, state)
            return state
        if isinstance(node, ast.NamedExpr):
            state = self.assume(node.value, truth, state)
            return self._narrow(node.target, state, lambda v: _not_null(v) if truth else v)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._assume_compare(node, truth, state)
        if isinstance(node, ast.Call) and node.args:
            return self._assume_call(node, truth, state)
        if isinstance(node, (ast.Name, ast.Attribute)) and truth:
            return self._narrow(node, state, _not_null)
        return state

    def _assume_compare(self, node: ast.Compare, truth: bool, state: State) -> State:
        op, right = node.ops[0], node.comparators[0]
        positive = isinstance(op, (ast.Eq, ast.Is)) is truth
        if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            target = node.left.target if isinstance(node.left, ast.NamedExpr) else node.left
            return self._narrow(target, state, (lambda v: NONE) if positive else _not_null)
        if not isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
            return state
        if isinstance(node.left, ast.Attribute) and node.left.attr == "dtype":
            dotted = self.module.dotted(right)
            name = tensors.dtype_name(dotted) if dotted else None
            if name is not None:
                return self._narrow(node.left.value, state, self._of_dtype(node, name if positive else None))
        if isinstance(node.left, ast.Call) and self.module.dotted(node.left.func) == "builtins.type" and node.left.args:
            return self._assume_type(node.left.args[0], right, positive, node, state)
        return state

    def _of_dtype(self, node: ast.Compare, dtype: str | None) -> Callable[[Value], Value]:
        """What has a dtype of torch's is a tensor; ``dtype`` None: of another one."""
        why = self.why(node, f"`{self.source(node)}` compares the dtype of a tensor")

        def narrowed(value: Value) -> Value:
            if value.kind is Kind.TENSOR:
                return value if dtype is None else changed(value, dtype=dtype)
            if value.kind is Kind.UNKNOWN and not self.eager and not value.options:
                return tensor(why=why, dtype=dtype, shape=None, roots=value.roots or frozenset({("unknown", id(node))}))
            return value

        return narrowed

    def _assume_call(self, node: ast.Call, truth: bool, state: State) -> State:
        name = self.module.dotted(node.func)
        if name == "torch.is_tensor":
            return self._narrow(node.args[0], state, self._tensor_or_not(node, truth))
        if name == "builtins.callable" and truth:
            return self._narrow(node.args[0], state, _no_tensor)
        if name == "builtins.isinstance" and len(node.args) == 2:
            return self._assume_type(node.args[0], node.args[1], truth, node, state)
        return state

    def _assume_type(self, target: ast.expr, types: ast.expr, truth: bool, node: ast.expr, state: State) -> State:
        """``isinstance(target, types)`` turned out ``truth``."""
        if isinstance(target, ast.NamedExpr):
            target = target.target
        if not isinstance(target, ast.Name):
            return state
        names = type_nodes(types)
        tensor = [self.is_tensor_class(item) for item in names]
        if all(tensor) or (not truth and any(tensor)):
            return self._narrow(target, state, self._tensor_or_not(node, truth))
        if any(known is not False for known in tensor):
            return state
        values = [self.engine.annotation(item, self.module) for item in names]
        if not truth:
            return self._narrow(target, state, lambda v: _without(v, values))
        return self._narrow(target, state, lambda v: _only(v, values))

    def is_tensor_class(self, node: ast.expr) -> bool | None:
        """Whether a class of an ``isinstance`` test holds tensors; None if that is not known."""
        dotted = self.module.dotted(node)
        if dotted in _TENSOR_CLASSES:
            return True
        if dotted is not None and (dotted.startswith(("builtins.", "torch.", "collections.", "numbers.", "typing."))):
            return None if dotted.endswith("Tensor") or dotted == "builtins.object" else False
        value = self.engine.annotation(node, self.module) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if value is None:
            return None
        return None if value.kind is Kind.TENSOR else False

    def _tensor_or_not(self, node: ast.expr, truth: bool) -> Callable[[Value], Value]:
        if not truth:
            return _no_tensor
        place = self.why(node, f"`{self.source(node)}` holds here")
        return lambda v: _as_tensor(v, place)

    def _narrow(self, target: ast.expr, state: State, change: Callable[[Value], Value]) -> State:
        if not isinstance(target, ast.Name):
            return state
        value = state.env.get(target.id)
        if value is None:
            return state
        narrowed = change(value)
        if narrowed is value:
            return state
        result = state.copy()
        result.env[target.id] = narrowed
        return result


def type_nodes(node: ast.expr) -> list[ast.expr]:
    """The classes in the second argument of ``isinstance``."""
    if isinstance(node, ast.Tuple):
        return [inner for item in node.elts for inner in type_nodes(item)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*type_nodes(node.left), *type_nodes(node.right)]
    return [node]


def _not_null(value: Value) -> Value:
    return changed(value, null=Null.NEVER) if value.null is Null.MAYBE else value


def _as_tensor(value: Value, place: Why) -> Value:
    if value.kind is Kind.TENSOR:
        return changed(value, null=Null.NEVER, mixed=False, options=()) if value.null or value.mixed else value
    inside = next((v for v in value.options if v.kind is Kind.TENSOR), None)
    roots = value.roots or frozenset({("unknown",)})
    return changed(inside, roots=roots) if inside is not None else Value(Kind.TENSOR, roots=roots, why=place)


def _no_tensor(value: Value) -> Value:
    """The value, knowing that it is no tensor."""
    if value.kind is Kind.TENSOR:
        if value.options:
            rest = join_all(value.options) or UNKNOWN
            return changed(rest, null=value.null, unbound=value.unbound)
        if value.mixed or value.null is not Null.NEVER or value.array:
            return Value(Kind.UNKNOWN, null=value.null, unbound=value.unbound)
        return value
    rest = tuple(option for option in value.options if option.kind is not Kind.TENSOR)
    if value.kind is Kind.UNKNOWN and len(rest) < len(value.options):
        return changed(join_all(rest) or UNKNOWN, null=value.null, unbound=value.unbound)
    return value


def _only(value: Value, types: list[Value | None]) -> Value:
    """The value, knowing that it is an instance of one of these classes, none of them a tensor's."""
    possible = _possible(value, types)
    if possible is not None:
        return changed(possible, null=Null.NEVER, unbound=value.unbound)
    fits = any(t is not None and t.kind is value.kind for t in types)
    if (
        value.kind is not Kind.UNKNOWN
        and not (value.kind is Kind.TENSOR and not value.array)
        and (fits or value.kind is not Kind.PYTHON)
    ):
        return _not_null(value)
    known = [t for t in types if t is not None]
    made = join_all(tuple(known)) if len(known) == len(types) else None
    if made is None:
        return _not_null(_no_tensor(value))
    return changed(made, null=Null.NEVER, unbound=value.unbound, roots=value.roots)


def _possible(value: Value, types: list[Value | None]) -> Value | None:
    """Those of the value's alternatives that are of one of the types."""
    if not value.options or any(t is None for t in types):
        return None
    found = [o for o in alternatives(value) if any(t is not None and _fits(o, t) for t in types)]
    return join_all(tuple(found))


def _fits(value: Value, declared: Value) -> bool:
    if value.kind is not declared.kind:
        return False
    if declared.kind is Kind.PYTHON:
        return value.dtype is None or declared.dtype is None or value.dtype == declared.dtype
    if declared.kind is Kind.CONTAINER:
        return not value.dtype or not declared.dtype or value.dtype == declared.dtype
    return True


def _without(value: Value, types: list[Value | None]) -> Value:
    """The value, knowing that it is of none of these types."""
    if not value.options or value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return value
    gone = [
        o
        for o in value.options
        if o.kind in (Kind.PYTHON, Kind.CONTAINER) and any(t is not None and t.dtype and _exactly(o, t) for t in types)
    ]
    if not gone:
        return value
    rest = tuple(o for o in alternatives(value) if all(o is not g for g in gone))
    made = join_all(rest)
    return value if made is None else changed(made, null=value.null, unbound=value.unbound, why=made.why or value.why)


def _exactly(value: Value, declared: Value) -> bool:
    return value.kind is declared.kind and value.dtype == declared.dtype
