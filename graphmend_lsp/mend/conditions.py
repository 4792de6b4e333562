"""Tests on tensors as expressions that stay on the device."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field

from graphmend_lsp.finding import Reason
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.events import Datum
from graphmend_lsp.flow.values import Kind, Value
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.legality import Issue, Legality
from graphmend_lsp.mend.sources import conjunct, one_line, operand
from graphmend_lsp.model.walk import walk


@dataclass
class Condition:
    """A test rewritten.

    ``static`` are leading parts that stay a Python ``if``; ``before`` are assignments that must come first
    (a walrus in the test); ``exact`` says that ``text`` is a 0-d bool tensor, so that ``torch.where`` takes it;
    ``python`` that it may be a Python bool instead of a tensor.
    """

    text: str = ""
    static: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    exact: bool = True
    python: bool = False
    differs: bool = False
    """Holds as well where two shapes differ (``not torch.equal``): the other side was never computed then."""
    loose: bool = False
    """Whether ``text`` needs parentheses as a part of an ``and``."""
    issues: list[Issue] = field(default_factory=list[Issue])
    torch: bool = False
    """Whether ``text`` says ``torch.``."""

    @property
    def conjunct(self) -> str:
        return f"({self.text})" if self.loose else self.text


class Conditions:
    """Rewrites one test."""

    def __init__(self, site: Site, torch_name: str, data: tuple[Datum, ...]) -> None:
        self.site = site
        self.torch_name = torch_name
        self.data = {id(d.node): d for d in data}
        self.result = Condition()
        self.first = True
        self.nested = False

    def rewrite(self, node: ast.expr) -> Condition:
        result = self.result
        operands = list(node.values) if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]
        while len(operands) > 1 and not self._holds_data(operands[0]):
            static = operands.pop(0)
            result.static.append(conjunct(static, self._source(static)))
        self.first = not result.static
        if len(operands) == 1:
            result.text = self._last(operands[0])
        else:
            result.text = self._all(operands, "logical_and")
        return result

    def _last(self, node: ast.expr) -> str:
        """The whole test behind its static parts: here ``torch.equal`` may add a static part of its own."""
        negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        inner = node.operand if isinstance(node, ast.UnaryOp) and negated else node
        sides = self._equal_sides(inner)
        if sides is None:
            return self._text(node)
        left, right = sides
        if not negated:
            self.result.static.append(f"{left}.shape == {right}.shape")
            return f"({left} == {right}).all()"
        self.result.python, self.result.exact, self.result.loose = True, False, True
        self.result.differs = True
        return f"{left}.shape != {right}.shape or ({left} != {right}).any()"

    def _issue(self, reason: Reason, message: str, node: ast.AST, *, fatal: bool = True) -> None:
        self.result.issues.append(Issue(reason, message, node, fatal))

    def _holds_data(self, node: ast.expr) -> bool:
        return any(id(n) in self.data for n in walk(node))

    def _source(self, node: ast.expr) -> str:
        return one_line(self.site.source(node))

    def _value(self, node: ast.expr) -> Value:
        return self.site.value(node)

    def _torch(self, name: str, *arguments: str) -> str:
        self.result.torch = True
        return f"{self.torch_name}.{name}({', '.join(arguments)})"

    def _all(self, operands: list[ast.expr], function: str) -> str:
        """``logical_and`` (or ``_or``) of several tests; all but the first are speculated."""
        if not all(self._holds_data(o) for o in operands):
            static = [o for o in operands if not self._holds_data(o)]
            self._issue("unsupported", f"`{self._source(static[0])}` is tested after a tensor", static[0])
            return self._source(operands[0])
        text = self._part(operands[0])
        for later in operands[1:]:
            self._speculated(self._unread(_without_walrus(later)))
            self.first = False
            text = self._torch(function, text, self._part(later))
        return text

    def _speculated(self, node: ast.expr, *, again: bool = False) -> None:
        """An expression is computed where it may not have been before; or ``again``: what raises has raised then."""
        check = Legality(self.site.engine, self.site.facts, self.site.function, no_grad=True)
        check.check(node)
        for issue in check.issues:
            if not (again and issue.reason == "may-raise" and self._is_extremum(issue.node)):
                self._issue(issue.reason, issue.message, issue.node, fatal=issue.fatal)

    def _is_extremum(self, node: ast.AST) -> bool:
        """``x.min()``: pure, but raises where there are no elements."""
        if not isinstance(node, ast.Call):
            return False
        callee = self._value(node.func)
        if callee.kind is Kind.METHOD and isinstance(node.func, ast.Attribute):
            return node.func.attr in _EXTREMA and self._value(node.func.value).kind is Kind.TENSOR
        return isinstance(callee.ref, str) and callee.ref in {f"torch.{name}" for name in _EXTREMA}

    def _part(self, node: ast.expr) -> str:
        """A test inside another one: it must be a tensor."""
        outer, self.nested = self.nested, True
        text = self._text(node)
        self.nested = outer
        return text

    def _text(self, node: ast.expr) -> str:
        """Source of a tensor that is true where the test is."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._part(node.operand)
            return self._torch("logical_not", inner)
        if isinstance(node, ast.BoolOp):
            if isinstance(node.op, ast.Or):
                return self._or(node)
            return self._all(list(node.values), "logical_and")
        if isinstance(node, ast.NamedExpr):
            return self._walrus(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.Call):
            rewritten = self._call(node)
            if rewritten is not None:
                return rewritten
        return self._plain(node)

    def _or(self, node: ast.BoolOp) -> str:
        operands = list(node.values)
        static: list[str] = []
        while len(operands) > 1 and not self._holds_data(operands[0]):
            part = operands.pop(0)
            loose = isinstance(part, (ast.IfExp, ast.Lambda, ast.NamedExpr))
            static.append(f"({self._source(part)})" if loose else self._source(part))
        if static and (self.nested or self.result.static):
            self._issue("unsupported", f"`{self._source(node)}` mixes a static test into one on tensors", node)
        text = self._all(operands, "logical_or") if len(operands) > 1 else self._part(operands[0])
        if not static:
            return text
        # ``flag or tensor``: Python gives the flag if it is true, else the tensor, without testing it.
        self.result.python, self.result.exact, self.result.loose = True, False, True
        return f"{' or '.join(static)} or {text}"

    def _walrus(self, node: ast.NamedExpr) -> str:
        if not self.first:
            self._issue("control-flow", f"`{self._source(node)}` is bound only if the tests before it hold", node)
        self.result.before.append(f"{node.target.id} = {self._source(node.value)}")
        value = self._value(node.value)
        return self._truth(node.target.id, value, node)

    def _compare(self, node: ast.Compare) -> str:
        walrus = [n for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
        text = self._source(node)
        for item in walrus:
            if item is not node.left or not self.first:
                self._issue("unsupported", f"`{self._source(item)}` binds a name inside the test", item)
                return text
            self.result.before.append(f"{item.target.id} = {self._source(item.value)}")
            start = self._source(node.left)
            rest = text[text.index(start) + len(start) :].lstrip()
            text = f"{item.target.id} {rest.removeprefix(')').lstrip()}"
        if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            self._issue("unsupported", f"`{text}` looks a value up", node)
            return text
        read = self._read_number(node)
        if read is not None:
            return f"{operand(read, self._source(read))} {text[text.rindex(self._symbol(node)) :]}"
        if any(d.kind == "read" for n in walk(node) if (d := self.data.get(id(n))) is not None):
            message = f"`{text}` compares a number read to the host, in double precision"
            self._issue("host-value", message, node)
            return text
        operands = [node.left, *node.comparators]
        if len(node.ops) > 1:
            return self._chain(node, operands)
        value = self._value(node)
        if value.shape != ():
            self.result.exact = False
        return text

    @staticmethod
    def _symbol(node: ast.Compare) -> str:
        return _OPERATORS[type(node.ops[0])]

    def _read_number(self, node: ast.Compare) -> ast.expr | None:
        """The tensor in ``t.sum().item() > 0``, where it compares with the number as what is read does.

        That is so for a number that every dtype holds: the comparison rounds none, and the tensor has one element.
        """
        left, right = node.left, node.comparators[0]
        if len(node.ops) > 1 or type(node.ops[0]) not in _OPERATORS or not isinstance(left, ast.Call):
            return None
        inner = self._read_by(left)
        if inner is None or self._holds_data(inner):
            return None
        value = self._value(inner)
        signed = tensors.is_floating(value.dtype)
        return inner if value.shape == () and not value.array and _in_every_dtype(right, signed=signed) else None

    def _read_by(self, node: ast.Call) -> ast.expr | None:
        """What ``t.item()`` or ``float(t)`` reads."""
        callee = self._value(node.func)
        inner: ast.expr | None = None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and callee.kind is Kind.METHOD:
            inner = node.func.value if not node.args and not node.keywords else None
        elif callee.kind is Kind.NAMESPACE and callee.ref == "builtins.float" and len(node.args) == 1:
            inner = node.args[0]
        if inner is None or self._value(inner).kind is not Kind.TENSOR or self._value(inner).mixed:
            return None
        return inner

    def _unread(self, node: ast.expr) -> ast.expr:
        """What of a test is still computed when it is not read to the host."""
        if isinstance(node, ast.Compare):
            return self._read_number(node) or node
        if isinstance(node, ast.Call):
            callee = self._value(node.func)
            if callee.kind is Kind.NAMESPACE and callee.ref == "builtins.bool" and len(node.args) == 1:
                return self._unread(node.args[0])
            return self._read_by(node) or node
        return node

    def _chain(self, node: ast.Compare, operands: list[ast.expr]) -> str:
        pairs: list[str] = []
        for index, op in enumerate(node.ops):
            left, right = operands[index], operands[index + 1]
            pairs.append(f"{self._source(left)} {_OPERATORS[type(op)]} {self._source(right)}")
        # the second is computed twice, the others whether or not what stands before them holds
        self._speculated(operands[1], again=True)
        for later in operands[2:]:
            self._speculated(later)
        if any(self._value(o).shape != () for o in operands if self._value(o).kind is Kind.TENSOR):
            self.result.exact = False
        text = pairs[0]
        for pair in pairs[1:]:
            text = self._torch("logical_and", text, pair)
        return text

    def _call(self, node: ast.Call) -> str | None:
        callee = self._value(node.func)
        name = callee.ref if callee.kind is Kind.NAMESPACE and isinstance(callee.ref, str) else ""
        method = node.func.attr if isinstance(node.func, ast.Attribute) and callee.kind is Kind.METHOD else ""
        arguments = [self._source(a) for a in node.args]
        if self._equal_sides(node) is not None:
            self._issue("unsupported", f"`{self._source(node)}` is one of several tests", node)
            return self._source(node)
        if name == "torch.allclose":
            keywords = [f"{k.arg}={self._source(k.value)}" for k in node.keywords if k.arg]
            return self._torch("isclose", *arguments, *keywords) + ".all()"
        if name in ("builtins.bool", "torch.is_nonzero") and len(node.args) == 1:
            return self._text(node.args[0])
        if method in ("item", "is_nonzero") and not node.args and isinstance(node.func, ast.Attribute):
            return self._text(node.func.value)
        if name in ("builtins.any", "builtins.all"):
            self._issue("unsupported", f"`{self._source(node)}` runs a Python loop over tensors", node)
            return self._source(node)
        datum = self.data.get(id(node))
        if datum is not None and datum.kind == "read":
            self._issue("host-value", f"`{self._source(node)}` reads a value to the host", node)
        return None

    def _equal_sides(self, node: ast.expr) -> tuple[str, str] | None:
        """Operands of ``torch.equal``, which is False for different shapes, where ``==`` would broadcast."""
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        callee = self._value(node.func)
        if callee.kind is Kind.NAMESPACE and callee.ref == "torch.equal" and len(node.args) == 2:
            sides = node.args
        elif callee.kind is Kind.METHOD and isinstance(node.func, ast.Attribute) and node.func.attr == "equal":
            sides = [node.func.value, *node.args]
        else:
            return None
        if len(sides) != 2 or any(isinstance(s, ast.Starred) for s in sides):
            return None
        left, right = (operand(s, self._source(s)) for s in sides)
        if not all(isinstance(s, (ast.Name, ast.Attribute)) for s in sides):
            self._issue("unsupported", f"`{self._source(node)}` would compute its operands twice", node)
        return left, right

    def _plain(self, node: ast.expr) -> str:
        value = self._value(node)
        one = value.kind is Kind.TENSOR and not value.mixed and value.shape == ()  # inside `.item()` or `bool()`
        if not one and not self._holds_data(node):
            self._issue("unsupported", f"`{self._source(node)}` is no test on a tensor", node)
            return self._source(node)
        if any(d.kind == "read" for n in walk(node) if (d := self.data.get(id(n))) is not None):
            self._issue("host-value", f"`{self._source(node)}` reads a value to the host", node)
        if self._value(node).array:
            self._issue("unsupported", f"`{self._source(node)}` is a numpy array", node)
        if isinstance(node, (ast.IfExp, ast.Await, ast.Lambda)):
            self._issue("unsupported", f"`{self._source(node)}` is no plain test", node)
        return self._truth(self._source(node), self._value(node), node)

    def _truth(self, text: str, value: Value, node: ast.expr) -> str:
        if isinstance(node, ast.NamedExpr):
            node = node.target
        if value.shape != () or value.dtype is None:
            self.result.exact = False
            return text
        if value.dtype == "bool":
            return text
        if isinstance(value.dtype, str) or value.dtype[:1] == ("floating",):
            return f"{operand(node, text)} != 0"
        self.result.exact = False
        return text


_EXTREMA = frozenset({"min", "max", "amin", "amax"})
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def _in_every_dtype(node: ast.expr, *, signed: bool) -> bool:
    """Whether a number has at most seven bits, which even a bfloat16 and an int8 hold; below zero if ``signed``."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    constant = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    value = constant.value if isinstance(constant, ast.Constant) else None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or (negative and not signed):
        return False
    number = float(value)
    return number == 0 or (2.0**-6 <= number <= 127 and (math.frexp(number)[0] * 128).is_integer())


def _without_walrus(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.NamedExpr) else node
