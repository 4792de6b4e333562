"""One side of a branch as straight-line code: every assignment gets a name of its own.

An assigned value stays an expression as long as nothing reads it; then the selection holds it.  Once a later
statement reads it, it becomes a statement with a fresh name.  So nothing the branch would have changed is
changed before the selection, whatever the order of its statements.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphmend_lsp.finding import Reason
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.base import visible
from graphmend_lsp.flow.values import UNKNOWN, Bound, Kind, Value, all_roots
from graphmend_lsp.mend import effects, scope
from graphmend_lsp.mend.aliases import escapes_before
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.mend.sources import operand, renamed
from graphmend_lsp.mend.where.plan import Writer
from graphmend_lsp.model.walk import walk

_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_HELD = frozenset({"store", "call"})
"""What may leave a tensor with somebody else."""


@dataclass
class Arm:
    """Versions of the names one side assigns; those in ``pending`` are expressions, the others names."""

    versions: dict[str, str] = field(default_factory=dict[str, str])
    pending: dict[str, ast.expr | None] = field(default_factory=dict[str, "ast.expr | None"])
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    proved: dict[str, bool] = field(default_factory=dict[str, bool])

    def copy(self) -> Arm:
        return Arm(dict(self.versions), dict(self.pending), dict(self.values), dict(self.proved))


class Arms(Writer):
    """Turns the statements of the two sides into arms; obstacles go to the plan."""

    node: ast.If
    lines: list[str]
    before: Mapping[str, Value]
    counts: dict[str, int]

    def prepare(self, node: ast.If, before: Mapping[str, Value]) -> None:
        self.node = node
        self.lines = []
        self.before = before
        self.counts = {}
        for stmt in (*node.body, *node.orelse):
            for item in walk(stmt):
                if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                    self.counts[item.id] = self.counts.get(item.id, 0) + 1

    def arm(self, body: list[ast.stmt], prefix: str, start: Arm | None = None) -> Arm:
        arm = start.copy() if start is not None else Arm()
        for stmt in body:
            self.statement(stmt, arm, prefix)
        return arm

    # -- names -------------------------------------------------------------------------------------

    def temporary(self, name: str) -> bool:
        """A name of the branch alone, assigned once: it keeps its name."""
        old = self.before.get(name)
        bound = old is not None
        return not bound and self.counts.get(name, 0) == 1 and not scope.read_after(self.function, self.node, name)

    def read(self, node: ast.expr, arm: Arm, prefix: str) -> str:
        """Source of an expression in terms of the versions; what it reads becomes statements first."""
        used = {n for n in scope.reads(node) if n in arm.versions}
        for name in sorted(used & arm.pending.keys()):
            self._settle(name, arm, prefix)
        text = renamed(self.site, node, {name: arm.versions[name] for name in used})
        if text is None:
            self.plan.refuse("unsupported", f"`{self.short(node)}` formats a value of the branch", node)
            return self.flat(node)
        return self.on_one_line(text, node)

    def _settle(self, name: str, arm: Arm, prefix: str) -> None:
        made = self.fresh(f"{prefix}_{name}")
        self.lines.append(f"{made} = {arm.versions[name]}")
        arm.versions[name] = made
        del arm.pending[name]

    def bind(self, name: str, text: str, node: ast.expr | None, value: Value, arm: Arm, *, proved: bool = True) -> None:
        arm.values[name] = value
        arm.proved[name] = proved
        if self.temporary(name):
            self.lines.append(f"{name} = {text}")
            arm.versions[name] = name
            arm.pending.pop(name, None)
            return
        arm.versions[name] = text
        arm.pending[name] = node

    # -- statements --------------------------------------------------------------------------------

    def statement(self, stmt: ast.stmt, arm: Arm, prefix: str) -> None:
        if isinstance(stmt, ast.Pass) or (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)):
            return
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            self._assign(stmt.targets[0], stmt.value, arm, stmt, prefix)
        elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            self._assign(stmt.target, stmt.value, arm, stmt, prefix)
        elif isinstance(stmt, ast.AugAssign):
            self._augment(stmt, arm, prefix)
        elif isinstance(stmt, ast.If):
            self._nested(stmt, arm, prefix)
        elif isinstance(stmt, ast.Expr):
            self._call(stmt)
        elif isinstance(stmt, ast.Assign):
            self.plan.refuse("unsupported", f"`{self.short(stmt)}` assigns several targets", stmt)

    def _assign(self, target: ast.expr, value: ast.expr, arm: Arm, stmt: ast.stmt, prefix: str) -> None:
        self.speculate(value)
        if isinstance(target, ast.Name):
            self.bind(target.id, self.read(value, arm, prefix), value, self.site.value(value), arm)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            if not all(isinstance(item, ast.Name) for item in target.elts):
                self.plan.refuse("unsupported", f"`{self.short(stmt)}` unpacks into targets", stmt)
                return
            parts = [(self.read(part, arm, prefix), part) for part in value.elts]
            for item, (text, part) in zip(target.elts, parts, strict=True):
                if isinstance(item, ast.Name):
                    self.bind(item.id, text, part, self.site.value(part), arm)
        elif isinstance(target, ast.Attribute):
            self.plan.refuse("state-write", f"`{self.short(stmt)}` changes state only if the branch is taken", stmt)
            if self.site.value(value).kind is Kind.SCALAR:
                self.plan.refuse("host-value", f"`{self.short(value)}` is needed on the host", stmt)
        elif isinstance(target, ast.Subscript) and self._fills(target, value, arm):
            self._fill(target, value, arm, stmt, prefix)
        elif isinstance(target, ast.Subscript):
            owner = self.site.value(target.value)
            reason: Reason = "state-write" if owner.kind is Kind.TENSOR else "container-mutation"
            self.plan.refuse(reason, f"`{self.short(stmt)}` writes only if the branch is taken", stmt)
        else:
            self.plan.refuse("unsupported", f"`{self.short(stmt)}` unpacks a value", stmt)

    def _fills(self, target: ast.Subscript, value: ast.expr, arm: Arm) -> bool:
        """Whether ``y[mask] = 0`` fills a tensor that nobody else holds, which has the shape of the mask."""
        name, mask = target.value, target.slice
        if not isinstance(name, ast.Name) or not isinstance(mask, ast.Name) or mask.id in arm.versions:
            return False
        known, where = arm.values.get(name.id, self.before.get(name.id, UNKNOWN)), self.site.value(mask)
        if known.kind is not Kind.TENSOR or known.mixed or known.array or visible(known.roots):
            return False
        if where.kind is not Kind.TENSOR or where.dtype != "bool" or where.shape is None or where.shape != known.shape:
            return False
        if self._held_by_another(name.id, known, arm) or tensors.may_overlap(known.shape):
            return False
        if escapes_before(self.site, known.roots, self.node, _HELD):
            return False
        number = value.value if isinstance(value, ast.Constant) else None
        if type(number) not in (int, float) or not isinstance(number, (int, float)):
            return False
        return 0 <= number <= 127 and (float(number).is_integer() or tensors.is_floating(known.dtype))

    def _fill(self, target: ast.Subscript, value: ast.expr, arm: Arm, stmt: ast.stmt, prefix: str) -> None:
        """``y[mask] = 0`` is ``y = y.clone().masked_fill_(mask, 0)``."""
        name = target.value.id if isinstance(target.value, ast.Name) else ""
        known = arm.values.get(name, self.before.get(name, UNKNOWN))
        if name in arm.pending:
            self._settle(name, arm, prefix)
        old = arm.versions.get(name, name)
        text = f"{old}.clone().masked_fill_({self.flat(target.slice)}, {self.flat(value)})"  # masked_fill loses strides
        self.bind(name, text, None, replace(known, roots=frozenset({("op", id(stmt))})), arm)

    def _augment(self, stmt: ast.AugAssign, arm: Arm, prefix: str) -> None:
        """``y *= 0.5`` on a tensor that nobody else holds is ``y = y * 0.5``."""
        text = self.short(stmt)
        if not isinstance(stmt.target, ast.Name):
            owner = stmt.target.value
            in_tensor = isinstance(stmt.target, ast.Attribute) or self.site.value(owner).kind is Kind.TENSOR
            reason: Reason = "state-write" if in_tensor else "container-mutation"
            self.plan.refuse(reason, f"`{text}` writes only if the branch is taken", stmt)
            return
        name = stmt.target.id
        known = arm.values.get(name, self.before.get(name, UNKNOWN))
        self.speculate(stmt.value)
        check = self.legality()
        check.operator(stmt, known, self.site.value(stmt.value))
        self.plan.issues.extend(check.issues)
        value = known
        if known.kind is Kind.TENSOR:
            if visible(known.roots) or self._held_by_another(name, known, arm):
                self.plan.refuse("state-write", f"`{text}` writes in place into a tensor that others may hold", stmt)
            if not _keeps_metadata(known, self.site.value(stmt.value)):
                message = f"`{text}` keeps dtype and shape, which the operation out of place may not"
                self.plan.refuse("dtype", message, stmt)
            if tensors.may_overlap(known.shape):
                self.plan.refuse("may-raise", f"`{text}` raises where elements share their place in memory", stmt)
            dtype = _augmented_dtype(stmt.op, known, self.site.value(stmt.value))
            if not tensors.is_floating(known.dtype) and _makes_floats(stmt.op, self.site.value(stmt.value)):
                message = f"`{text}` raises for a tensor of integers, and its result would be one of floats"
                self.plan.issues.append(Issue("may-raise", message, stmt, fatal=False))
            roots = frozenset({("op", id(stmt))})
            value = replace(known, dtype=dtype, shape=tensors.computed(known.shape), roots=roots)
        elif known.kind is not Kind.PYTHON:
            self.plan.refuse("unsupported", f"what `{text}` changes is not known", stmt)
        if name in arm.pending:
            self._settle(name, arm, prefix)
        right = operand(stmt.value, self.read(stmt.value, arm, prefix))
        self.bind(name, f"{arm.versions.get(name, name)} {_SYMBOLS[type(stmt.op)]} {right}", None, value, arm)

    def _held_by_another(self, name: str, value: Value, arm: Arm) -> bool:
        roots = frozenset(r for r in value.roots if r[0] != "join")
        if len(roots) > 1:
            return True
        others = {**self.before, **arm.values}
        held = (_bound_to(other) for key, other in others.items() if key != name)
        return any(all_roots(other) & roots for other in held)

    def _nested(self, stmt: ast.If, arm: Arm, prefix: str) -> None:
        """A branch inside the branch: only one on data that can be selected itself."""
        inner = self.site.facts.branches.get(id(stmt))
        if inner is None:
            self.plan.refuse("unsupported", f"`if {self.short(stmt.test)}` inside the branch is no test on data", stmt)
            return
        if scope.reads(stmt.test) & arm.versions.keys():
            self.plan.refuse("unsupported", f"`{self.short(stmt.test)}` tests a value of the branch", stmt)
        for name in sorted(scope.reads(stmt) & arm.pending.keys()):
            self._settle(name, arm, prefix)
        condition = self.condition(stmt.test, inner.test.data)
        check = self.legality()
        check.check(stmt.test)
        self.plan.issues.extend(i for i in check.issues if i.reason != "gradient")
        if condition.static or condition.before or condition.python:
            self.plan.refuse("unsupported", "the inner test has a static part", stmt)
        then = self.arm(stmt.body, f"{prefix}_inner", arm)
        other = self.arm(stmt.orelse, f"{prefix}_else", arm)
        for name in dict.fromkeys([*then.versions, *other.versions]):
            if name in then.versions and then.versions[name] == other.versions.get(name):
                self._alike(name, then, arm)
                continue
            old = arm.values.get(name, inner.before.get(name))
            new_value, old_value = then.values.get(name, old), other.values.get(name, old)
            if new_value is None or old_value is None or new_value.unbound or old_value.unbound:
                if self.temporary(name):
                    continue
                self.plan.refuse("unbound-name", f"`{name}` has no value where the inner branch is not taken", stmt)
                continue
            proved = self.metadata(new_value, old_value, stmt, f"`{name}`")
            proved = proved and then.proved.get(name, True) and other.proved.get(name, True)
            first, second = then.versions.get(name, name), other.versions.get(name, name)
            function, arguments = self.selection(condition.text, condition.exact, first, second, proved)
            roots = all_roots(new_value) | all_roots(old_value)
            value = (
                replace(new_value, roots=roots) if proved else replace(new_value, dtype=None, shape=None, roots=roots)
            )
            self.bind(name, f"{function}({', '.join(arguments)})", None, value, arm, proved=proved)

    def _alike(self, name: str, inner: Arm, arm: Arm) -> None:
        """Both inner sides give a name the same value: it is that, with nothing to select."""
        arm.versions[name] = inner.versions[name]
        arm.pending.pop(name, None)
        if name in inner.pending:
            arm.pending[name] = inner.pending[name]
        if name in inner.values:
            arm.values[name] = inner.values[name]
        arm.proved[name] = inner.proved.get(name, True)

    def _call(self, stmt: ast.Expr) -> None:
        """A call for its effect."""
        node = stmt.value
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return
        if not isinstance(node, ast.Call):
            self.plan.refuse("unsupported", f"`{self.short(stmt)}` does nothing that can be selected", stmt)
            return
        if id(node) in effects.effect_calls(self.site.facts.events):
            self.plan.refuse("side-effect", f"`{self.short(stmt)}` may run only if the branch is taken", stmt)
            return
        for part in (*node.args, *(k.value for k in node.keywords)):
            if self.site.value(part).kind is Kind.SCALAR:
                self.plan.refuse("host-value", f"`{self.short(part)}` is needed on the host", stmt)
        check = self.legality()
        check.check(node)
        found = [i for i in check.issues if i.reason in ("container-mutation", "state-write", "random")]
        self.plan.issues.extend(found)
        if not found:
            message = f"`{self.short(stmt)}` is called for its effect, which may come only if the branch is taken"
            self.plan.refuse("state-write", message, stmt)


def _augmented_dtype(op: ast.operator, left: Value, right: Value) -> Any:
    """dtype token of ``left op right``; None if it may be another one than that of ``left op= right``."""
    token = tensors.promote((left, right))
    return None if isinstance(op, ast.Div) and not tensors.is_floating(token) else token


def _makes_floats(op: ast.operator, right: Value) -> bool:
    """Whether an operator with this on its right side gives floats for integers, which it cannot do in place."""
    return isinstance(op, ast.Div) or (right.kind is Kind.PYTHON and right.dtype not in ("int", "bool"))


def _keeps_metadata(left: Value, right: Value) -> bool:
    """Whether ``left op right`` has the shape of ``left``, and its dtype as far as a tensor on the right decides it."""
    if right.kind is Kind.PYTHON:
        return True
    if right.kind is not Kind.TENSOR or left.dtype is None or left.dtype != right.dtype:
        return False
    return right.shape == () or (left.shape is not None and left.shape == right.shape)


def _bound_to(value: Value) -> Value:
    """The object of a bound method, else the value itself."""
    return value.ref.receiver if isinstance(value.ref, Bound) else value


def renamed_bound(value: Value, name: str) -> Value:
    """A bound method's value under another method's name."""
    ref = value.ref
    return replace(value, ref=Bound(ref.receiver, name, ref.node)) if isinstance(ref, Bound) else value
