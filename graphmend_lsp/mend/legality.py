"""May an expression be computed although its branch was not taken?

A whitelist, never a blacklist: operations that are pure (no writes, no random numbers), total (raise on no
value) and have finite gradients for finite inputs.  What is not listed is refused, with the reason.  The
measurements behind the lists are those of ``torch.where``: the gradient of the side that is not selected is
multiplied by zero, so an infinite slope there becomes NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from graphmend_lsp.finding import Reason
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.host import is_runtime
from graphmend_lsp.flow.ops import OpFact, function_fact, method_fact, module_fact
from graphmend_lsp.flow.torch_calls import inplace
from graphmend_lsp.flow.values import MISSING, UNKNOWN, Bound, Closure, Kind, Null, Value
from graphmend_lsp.mend.bounds import Bounds
from graphmend_lsp.mend.computed import Computed
from graphmend_lsp.mend.names import called_name
from graphmend_lsp.mend.operators import (
    FINITE_SLOPE,
    HEAVY,
    LARGE,
    NO_OPERANDS,
    OPERANDS,
    PURE,
    STEEP,
    STEEP_BUT_BOUNDED,
)
from graphmend_lsp.model.module import ClassInfo, FunctionInfo

_PYTHON_CALLS = frozenset("float int bool str len abs isinstance tuple list range".split())
_MATH = frozenset("sqrt pow floor ceil exp log".split())
_CONVERSIONS = frozenset({"torch.tensor", "torch.as_tensor", "torch.scalar_tensor"})
_MAX_DEPTH = 6
_NO_OPERAND_KINDS = frozenset({Kind.CONTAINER, Kind.MODULE, Kind.FUNCTION, Kind.CLASS, Kind.LOGGER})
_HOST_KINDS = frozenset({Kind.PYTHON, Kind.SCALAR, Kind.CONTAINER})


@dataclass(frozen=True)
class Issue:
    """One obstacle: ``fatal`` ones refuse, others make the offer unsafe."""

    reason: Reason
    message: str
    node: ast.AST
    fatal: bool = True


class Legality:
    """Collects the obstacles to computing expressions of one function speculatively."""

    def __init__(
        self,
        engine: Engine,
        facts: Facts,
        source: FunctionInfo,
        *,
        no_grad: bool,
        depth: int = 0,
        computed: Computed | None = None,
    ) -> None:
        self.engine = engine
        self.facts = facts
        self.function = source
        self.no_grad = no_grad
        self.depth = depth
        self.computed = computed
        """What the test of the branch has computed: it raises there already, or nowhere."""
        self.issues: list[Issue] = []
        self._bounds = Bounds(source, self.value, self._written)

    def value(self, node: ast.expr) -> Value:
        return self.facts.values.get(id(node), UNKNOWN)

    def _written(self, value: Value) -> bool:
        """Whether something may write into a tensor in place."""
        flows = (flow for root in value.roots for flow in self.facts.flows.get(root, ()))
        return any(flow.kind in ("write", "call") for flow in flows)

    def text(self, node: ast.expr | ast.stmt) -> str:
        text = " ".join(self.function.chunk.source_of(node).split())
        return text if len(text) <= 60 else text[:59] + "…"

    def _issue(self, reason: Reason, message: str, node: ast.AST, *, fatal: bool = True) -> None:
        self.issues.append(Issue(reason, message, node, fatal))

    def check(self, node: ast.expr) -> None:
        """Collect the obstacles in one expression."""
        todo: list[ast.expr] = [node]
        while todo:
            item = todo.pop()
            if self.computed is not None and self.computed.holds(item):
                self._computed(item)
            else:
                todo.extend(self._parts(item))

    def _computed(self, node: ast.expr) -> None:
        inner = Legality(self.engine, self.facts, self.function, no_grad=self.no_grad, depth=self.depth)
        inner.check(node)
        self.issues += [issue for issue in inner.issues if issue.reason != "may-raise"]

    def _parts(self, node: ast.expr) -> Iterable[ast.expr]:
        """Check one node; returns the parts that remain to be checked."""
        if isinstance(node, ast.Constant):
            return ()
        if isinstance(node, ast.Name):
            if self.value(node).unbound:
                self._issue("unbound-name", f"`{node.id}` may have no value on the other path", node)
            return ()
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            return (node.operand,)
        if isinstance(node, ast.Compare):
            if any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops):
                self._operands(node, (node.left, *node.comparators))
            if len(node.ops) > 1 and any(self.value(n).kind is Kind.TENSOR for n in (node.left, *node.comparators)):
                self._issue("unsupported", f"`{self.text(node)}` tests a tensor inside the branch", node)
            return (node.left, *node.comparators)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return node.elts
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            inside = (node.test, node.body, node.orelse) if isinstance(node, ast.IfExp) else tuple(node.values)
            tests = (node.test,) if isinstance(node, ast.IfExp) else node.values[:-1]
            if any(self.value(t).kind in (Kind.TENSOR, Kind.SCALAR) for t in tests):
                self._issue("unsupported", f"`{self.text(node)}` tests a tensor inside the branch", node)
            return inside
        if isinstance(node, ast.JoinedStr):
            return ()
        self._issue("unsupported", f"`{self.text(node)}` is not known to be safe to compute on both paths", node)
        return ()

    # -- leaves ----------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Iterable[ast.expr]:
        owner = self.value(node.value)
        if owner.null is not Null.NEVER and owner.kind is not Kind.PYTHON:
            self._issue("may-raise", f"`{self.text(node.value)}` may be None on the other path", node)
        value = self.value(node)
        if value.kind is Kind.METHOD:
            return (node.value,)
        if owner.kind in (Kind.MODULE, Kind.INSTANCE) and isinstance(owner.ref, ClassInfo):
            method = self.engine.method(owner.ref, node.attr)
            if method is not None and any(n.rpartition(".")[2].endswith("property") for n in method.decorator_names()):
                self._function(node, method)
        return () if owner.kind in (Kind.NAMESPACE, Kind.MODULE, Kind.INSTANCE) else (node.value,)

    def _operands(self, node: ast.expr | ast.stmt, operands: Iterable[ast.expr]) -> None:
        """An operator of tensors raises for what is no tensor or number."""
        values = [(operand, self.value(operand)) for operand in operands]
        if any(value.kind is Kind.TENSOR for _, value in values):
            self._misfits(node, values)

    def _misfits(self, node: ast.AST, values: Iterable[tuple[ast.expr, Value]]) -> None:
        for operand, value in values:
            if value.kind in _NO_OPERAND_KINDS or (value.kind is Kind.PYTHON and value.dtype == "str"):
                self._issue("may-raise", f"`{self.text(operand)}` is no tensor or number: its path would raise", node)

    def _binary(self, node: ast.BinOp) -> Iterable[ast.expr]:
        self._operands(node, (node.left, node.right))
        self._operator(node, node.op, self.value(node.left), node.right, self.value(node.right))
        return (node.left, node.right)

    def operator(self, node: ast.AugAssign, left: Value, right: Value) -> None:
        """The operator of an augmented assignment; its operands are checked apart."""
        self._operator(node, node.op, left, node.value, right)

    def _operator(
        self, node: ast.BinOp | ast.AugAssign, op: ast.operator, left: Value, divisor: ast.expr, right: Value
    ) -> None:
        if left.kind in _HOST_KINDS and right.kind in _HOST_KINDS:
            if isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)) and not _nonzero(divisor, right):
                if right.kind is not Kind.PYTHON or right.dtype == "int" or right.const == 0:
                    self._issue("may-raise", f"`{self.text(node)}` raises if the divisor is zero", node)
            return
        if isinstance(op, ast.MatMult):
            self._issue("heavy", f"`{self.text(node)}` is a matrix product and would run on every call", node)
        elif isinstance(op, (ast.FloorDiv, ast.Mod)):
            if isinstance(op, ast.FloorDiv):
                self._flat(node, (left, right))
            if not self._divides_whole(divisor, right):
                message = f"`{self.text(node)}` raises for an integer divisor of zero, although its branch is not taken"
                self._issue("may-raise", message, node)
        elif isinstance(op, ast.Div):
            if not self._divides(divisor, right):
                self._large(node)
        elif isinstance(op, ast.Pow):
            self._power(node, right)
        elif isinstance(op, (ast.LShift, ast.RShift)):
            self._issue("unsupported", f"`{self.text(node)}` shifts bits", node)

    def _power(self, node: ast.BinOp | ast.AugAssign, exponent: Value) -> None:
        value: object = exponent.const
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return
        if isinstance(value, float) and value >= 1.0:
            if value.is_integer():
                return
            self._issue("gradient", f"`{self.text(node)}` is NaN for negative numbers", node, fatal=False)
            return
        self._steep(node)

    def _large(self, node: ast.expr | ast.stmt) -> None:
        if self.no_grad:
            return
        message = f"`{self.text(node)}` can be infinite or 0/0 where its branch is not taken: the gradient becomes NaN"
        self._issue("gradient", message, node, fatal=False)

    def _steep(self, node: ast.expr | ast.stmt) -> None:
        if self.no_grad:
            return
        message = (
            f"`{self.text(node)}` has an infinite slope at a finite argument: torch.where makes the gradient NaN there"
        )
        self._issue("gradient", message, node)

    def _subscript(self, node: ast.Subscript) -> Iterable[ast.expr]:
        owner = self.value(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if owner.kind is Kind.TENSOR:
            for part in parts:
                index = self.value(part) if not isinstance(part, ast.Slice) else None
                if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value in (None, Ellipsis)):
                    continue
                if index is not None and index.kind is Kind.TENSOR and index.dtype == "bool":
                    self._issue("shape", f"the shape of `{self.text(node)}` depends on data", node)
                else:
                    message = f"`{self.text(node)}` raises for an index out of range, although its branch is not taken"
                    self._issue("may-raise", message, node)
            return (node.value,)
        if owner.kind is Kind.PYTHON and owner.dtype == "size":
            return (node.value,)
        self._issue("may-raise", f"`{self.text(node)}` may raise on the other path", node)
        return (node.value,)

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Iterable[ast.expr]:
        callee = self.value(node.func)
        arguments = [
            *(a.value if isinstance(a, ast.Starred) else a for a in node.args),
            *(k.value for k in node.keywords),
        ]
        if callee.kind is Kind.NAMESPACE and isinstance(callee.ref, str):
            self._named(node, callee.ref)
            return arguments
        if isinstance(callee.ref, Bound):
            return self._method(node, callee.ref, arguments)
        if callee.kind is Kind.MODULE:
            self._module(node, callee)
            return arguments
        if callee.kind is Kind.FUNCTION and isinstance(callee.ref, Closure):
            self._project(node, callee.ref)
            return arguments
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "self"
        ):
            self._issue("heavy", f"what `{self.text(node)}` does and costs is not known", node)
        else:
            self._issue("unsupported", f"what `{self.text(node)}` does is not known", node)
        return arguments

    def _method(self, node: ast.Call, bound: Bound, arguments: list[ast.expr]) -> Iterable[ast.expr]:
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        receiver = self.value(owner[0]) if owner else bound.receiver
        if receiver.kind is Kind.TENSOR:
            fact = method_fact(bound.name)
            if receiver.null is not Null.NEVER:
                self._issue("may-raise", f"`{self.text(owner[0])}` may be None on the other path", node)
            if fact is not None and fact.metadata:
                return [*owner, *arguments]
            if fact is not None:
                fact = self._decided(fact, node)
            self._op(
                node, bound.name, fact is not None and fact.random, bool(fact is None or fact.mutates), method=True
            )
            return [*owner, *arguments]
        if receiver.kind is Kind.PYTHON and bound.name in ("format", "get", "size", "numel"):
            return [*owner, *arguments]
        if receiver.kind is Kind.CONTAINER and bound.name in ("append", "extend", "add", "update", "pop", "insert"):
            self._issue("container-mutation", f"`{self.text(node)}` changes a container", node)
        else:
            self._issue("unsupported", f"what `{self.text(node)}` does is not known", node)
        return [*owner, *arguments]

    def _named(self, node: ast.Call, name: str) -> None:
        head, _, last = name.rpartition(".")
        if name.startswith("builtins."):
            if last in ("print",):
                self._issue("side-effect", "a print would run on every call", node)
            elif last in ("max", "min", "sum"):
                if any(self.value(a).kind is Kind.TENSOR for a in node.args):
                    self._issue("unsupported", f"`{self.text(node)}` compares tensors in Python", node)
            elif last not in _PYTHON_CALLS:
                self._issue("unsupported", f"what `{self.text(node)}` does is not known", node)
            elif last in ("float", "int", "bool") and any(self.value(a).kind is Kind.TENSOR for a in node.args):
                self._issue("host-value", f"`{self.text(node)}` reads a value to the host", node)
            return
        if head == "math":
            if last not in _MATH or any(self.value(a).kind is not Kind.PYTHON for a in node.args):
                self._issue("may-raise", f"`{self.text(node)}` may raise on the other path", node)
            return
        if name.startswith("torch."):
            fact = function_fact(name)
            if name.startswith("torch.nn.") and module_fact(name) is not None:
                self._issue("state-write", f"`{self.text(node)}` builds a module", node)
                return
            if name in _CONVERSIONS and not all(_converts(self.value(a)) for a in node.args[:1]):
                self._issue("may-raise", f"`{self.text(node)}` raises for what is no number or tensor", node)
            if fact is not None:
                fact = self._decided(fact, node)
            writes = fact is None or bool(fact.mutates) or any(k.arg == "out" for k in node.keywords)
            self._op(node, last, fact is not None and fact.random, writes, method=False)
            return
        if name.startswith(("logging.", "warnings.")):
            self._issue("side-effect", f"`{self.text(node)}` would run on every call", node)
            return
        if is_runtime(name, "select"):
            return
        self._issue("unsupported", f"what `{self.text(node)}` does is not known", node)

    def _decided(self, fact: OpFact, node: ast.Call) -> OpFact:
        values = [self.value(a) for a in node.args]
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        return tensors.decided(fact, values, keywords)

    def _op(self, node: ast.Call, name: str, random: bool, writes: bool, *, method: bool) -> None:
        count = 0 if name in NO_OPERANDS else OPERANDS.get(name, 1)
        operands = [self._operand(node, method, index) for index in range(count)]
        operands += [keyword.value for keyword in node.keywords if keyword.arg in ("input", "other") and count]
        self._misfits(node, [(each, self.value(each)) for each in operands if each is not None])
        if name in _UNDERIVED:
            self._flat(node, [self.value(each) for each in operands if each is not None])
        if random:
            message = f"`{self.text(node)}` draws random numbers: computing it on every call shifts all later ones"
            self._issue("random", message, node)
        elif name in HEAVY:
            self._issue("heavy", f"`{self.text(node)}` would run on every call", node)
        elif name in ("div", "divide", "true_divide", "floor_divide", "fmod", "remainder") and self._divides_safely(
            node, method
        ):
            return
        elif name == "pow" and self._power_call(node, method):
            return
        elif name in STEEP:
            if not (name in STEEP_BUT_BOUNDED and self._bounded(node, method)):
                self._steep(node)
        elif name in LARGE:
            self._large(node)
        elif name in PURE and not writes:
            return
        elif writes:
            self._issue("state-write", f"`{self.text(node)}` writes in place", node)
        elif name in ("item", "tolist", "equal", "allclose"):
            self._issue("host-value", f"`{self.text(node)}` reads a value to the host", node)
        else:
            self._issue("may-raise", f"`{self.text(node)}` is not known to be free of errors on the other path", node)

    def _operand(self, node: ast.Call, method: bool, index: int) -> ast.expr | None:
        """Argument ``index`` of an operator, the receiver of a method counted as 0."""
        if method:
            if index == 0:
                return node.func.value if isinstance(node.func, ast.Attribute) else None
            index -= 1
        return node.args[index] if index < len(node.args) else None

    def _divides_safely(self, node: ast.Call, method: bool) -> bool:
        divisor = self._operand(node, method, 1)
        whole = called_name(node) in ("floor_divide", "fmod", "remainder")
        divides = self._divides_whole if whole else self._divides
        return divisor is not None and divides(divisor, self.value(divisor))

    def _divides(self, divisor: ast.expr, value: Value) -> bool:
        return _nonzero(divisor, value) or self._bounds.divides(divisor)

    def _divides_whole(self, divisor: ast.expr, value: Value) -> bool:
        """The same for a division that raises for an integer of zero: what is added to a small one may be that."""
        known = tensors.is_floating(value.dtype) or value.dtype == "int64"
        clamped = isinstance(divisor, ast.Call) and called_name(divisor) in ("clamp", "clamp_min", "clip")
        return _nonzero(divisor, value) or ((known or clamped) and self._bounds.divides(divisor))

    def _flat(self, node: ast.expr | ast.stmt, operands: Iterable[Value]) -> None:
        """A division that rounds down has no derivative: the backward pass raises."""
        tensor = [value for value in operands if value.kind is Kind.TENSOR]
        if not self.no_grad and not all(value.dtype in _WHOLE for value in tensor):
            message = f"`{self.text(node)}` has no derivative: the backward pass raises"
            self._issue("gradient", message, node, fatal=False)

    def _power_call(self, node: ast.Call, method: bool) -> bool:
        exponent = self._operand(node, method, 1)
        value = self.value(exponent).const if exponent is not None else MISSING
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1 and value == int(value):
            return True
        self._steep(node)
        return True

    def _bounded(self, node: ast.Call, method: bool) -> bool:
        """Whether the argument is clamped by constants to where the function's slope is finite."""
        argument = self._operand(node, method, 0)
        if not isinstance(argument, ast.Call):
            return False
        func = argument.func
        if called_name(argument) not in ("clamp", "clip", "clamp_min"):
            return False
        owner = self.value(func.value).kind if isinstance(func, ast.Attribute) else Kind.NAMESPACE
        positional = argument.args if owner is Kind.TENSOR else argument.args[1:]
        given = dict(zip(("min", "max"), positional, strict=False)) | {
            k.arg: k.value for k in argument.keywords if k.arg
        }
        low, high = (_number(given[k]) if k in given else None for k in ("min", "max"))
        least, most = FINITE_SLOPE.get(called_name(node), (0.0, None))
        if low is None or low <= least:
            return False
        return most is None or (high is not None and high < most)

    def _module(self, node: ast.Call, callee: Value) -> None:
        fact = module_fact(callee.ref) if isinstance(callee.ref, str) else None
        if fact is not None and fact.random:
            self._issue("random", f"`{self.text(node)}` draws random numbers in training", node)
        if fact is not None and fact.state:
            self._issue("state-write", f"`{self.text(node)}` updates its statistics in training", node)
        if fact is not None and isinstance(callee.ref, str) and inplace(callee.ref, callee) is not False:
            self._issue("state-write", f"`{self.text(node)}` writes in place", node)
        name = callee.ref.rpartition(".")[2].lower() if isinstance(callee.ref, str) else ""
        if fact is not None and not (fact.heavy or fact.random or fact.state or fact.container) and name in PURE:
            return
        self._issue("heavy", f"`{self.text(node)}` runs a module, and would run it on every call", node)

    def _project(self, node: ast.Call, closure: Closure) -> None:
        """A function of the project."""
        function = closure.function
        if isinstance(closure.bound, Value) and isinstance(closure.bound.ref, ClassInfo) and function.name == "forward":
            self._issue("heavy", f"`{self.text(node)}` runs a module, and would run it on every call", node)
            return
        self._function(node, function)

    def _function(self, node: ast.expr, function: FunctionInfo) -> None:
        """A body that may be computed on both paths: a chain of pure assignments and a return."""
        facts = self.facts.calls.get(id(node))
        if facts is None or facts.function.node is not function.node or self.depth >= _MAX_DEPTH:
            self._issue("unsupported", f"what `{self.text(node)}` does is not known", node)
            return
        if facts.writes is not None:
            self._issue("state-write", f"`{self.text(node)}` writes state", node)
        if facts.effects:
            self._issue("side-effect", f"`{self.text(node)}` prints or logs", node)
        if facts.random:
            self._issue("random", f"`{self.text(node)}` draws random numbers", node)
        inner = Legality(self.engine, facts, function, no_grad=self.no_grad, depth=self.depth + 1)
        for stmt in function.body:
            if isinstance(stmt, ast.Return) and stmt.value is not None:
                inner.check(stmt.value)
            elif isinstance(stmt, ast.Assign) and all(isinstance(t, ast.Name) for t in stmt.targets):
                inner.check(stmt.value)
            elif not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)):
                self._issue("unsupported", f"`{self.text(node)}` does more than compute a value", node)
                return
        self.issues.extend(Issue(i.reason, f"in `{function.name}`: {i.message}", node, i.fatal) for i in inner.issues)


def _converts(value: Value) -> bool:
    """Whether a value surely becomes a tensor: a tensor, a number, or a container of such."""
    if value.null is not Null.NEVER or value.unbound:
        return False
    if value.kind is Kind.CONTAINER:
        inside = value.elements if value.elements is not None else (value.element,)
        return all(item is not None and item.kind is not Kind.CONTAINER and _converts(item) for item in inside)
    return value.kind in (Kind.TENSOR, Kind.SCALAR) or (value.kind is Kind.PYTHON and value.dtype in _NUMBERS)


_UNDERIVED = frozenset({"floor_divide", "heaviside"})
"""Operators without a derivative: the backward pass raises."""
_WHOLE = frozenset("bool uint8 int8 int16 int32 int64".split())
_NUMBERS = frozenset({"int", "float", "bool", "complex"})


def _number(node: ast.expr) -> float | None:
    """Value of a constant arithmetic expression (``1 - 1e-6``)."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else left - right
    return None


def _nonzero(node: ast.expr, value: Value) -> bool:
    """Whether a divisor is a Python number known not to be zero."""
    if isinstance(value.const, (int, float)) and not isinstance(value.const, bool):
        return value.const != 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add,)):
        return False
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "sqrt"
        and value.kind is Kind.PYTHON
    )
