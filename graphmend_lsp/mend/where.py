"""[Where]: a branch on a tensor's value becomes a selection between two computed values.

Forms: assignments in one or both arms (``if``/``elif``/``else``, nested), ``return`` in both arms or as a guard
before a straight rest, conditional expressions, one in-place call.  Static parts of the test stay a Python
``if``.  Conditions: ``legality`` for what is computed on both paths, ``aliases`` for who could notice that the
result is a new tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null, Root, Value
from graphmend_lsp.mend import effects, names, scope
from graphmend_lsp.mend.aliases import alias_issue
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Replacement, Site
from graphmend_lsp.mend.conditions import Condition, Conditions
from graphmend_lsp.mend.layout import call, flat, indent_unit, line_width
from graphmend_lsp.mend.legality import Issue, Legality
from graphmend_lsp.mend.torchname import torch_name
from graphmend_lsp.rules.base import raises_only

ORDER = 30
_TITLES = {
    "where": "Compute both sides and select with torch.where",
    "select": "Compute both sides and select on the device",
    "cond": "Choose on the device with torch.cond",
    "copy": "Select on the device and write in place on every call",
}
_HOST_TESTS = {
    "sort": "the order of a Python list depends on the data",
    "filter": "which elements a Python container keeps depends on the data",
}


@dataclass
class Plan:
    """A rewritten branch, or the obstacles to it."""

    kind: str = "where"
    issues: list[Issue] = field(default_factory=list[Issue])
    replacements: list[Replacement | ExpressionReplacement] = field(
        default_factory=list["Replacement | ExpressionReplacement"]
    )
    runtime: bool = False
    torch: bool = False
    cost: str = ""
    names: tuple[str, ...] = ()

    def refuse(self, reason: Reason, message: str, node: ast.AST) -> None:
        self.issues.append(Issue(reason, message, node))

    @property
    def fatal(self) -> list[Issue]:
        return [i for i in self.issues if i.fatal]


def propose(site: Site) -> list[Offer | Refusal]:
    if not _applies(site):
        return []
    plan = _plan(site)
    if plan.fatal:
        return [*_cond_offer(plan), *_refusals(plan.issues)]
    title = _TITLES["select" if plan.runtime and plan.kind == "where" else plan.kind]
    if not plan.issues:
        return [Offer(plan.kind, title, "safe")]
    changes = "; ".join(dict.fromkeys(i.message for i in plan.issues))
    reasons = tuple(dict.fromkeys(i.reason for i in plan.issues))
    return [Offer(plan.kind, title, "unsafe", changes, reasons), *_refusals(plan.issues)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    plan = _plan(site)
    if plan.fatal and offer.kind != "cond":
        first = plan.fatal[0]
        return Refusal(offer.kind, first.reason, first.message)
    needs_torch = plan.torch and torch_name(site)[1]
    return Draft(tuple(plan.replacements), (), ("select",) if plan.runtime else (), needs_torch, plan.names)


def _applies(site: Site) -> bool:
    if site.code not in ("GM101", "GM102", "GM103"):
        return False
    node = site.event.node
    if isinstance(node, ast.If):
        return not effects.only_effects(node, effects.effect_calls(site.facts.events))
    return True


def _refusals(issues: list[Issue]) -> list[Offer | Refusal]:
    found: dict[tuple[str, str], Refusal] = {}
    for issue in issues:
        found.setdefault((issue.reason, issue.message), Refusal("where", issue.reason, issue.message))
    return list(found.values())


def _cond_offer(plan: Plan) -> list[Offer | Refusal]:
    if plan.kind != "cond":
        return []
    changes = "; ".join(dict.fromkeys(i.message for i in plan.issues if i.reason != "heavy")) or plan.cost
    reasons = tuple(dict.fromkeys(i.reason for i in plan.issues))
    return [Offer("cond", _TITLES["cond"], "unsafe", changes, reasons)]


def _plan(site: Site) -> Plan:
    node = site.event.node
    if isinstance(node, ast.IfExp):
        return _Expression(site, node).plan
    if isinstance(node, ast.If):
        writer = _Statement(site, node)
        plan = writer.run()
        plan.names = tuple(sorted(writer.taken - writer.known))
        return plan
    plan = Plan()
    if isinstance(node, ast.Match):
        plan.refuse("unsupported", "a `match` on a tensor has no form on the device", node)
    elif isinstance(node, ast.While):
        plan.refuse("control-flow", "how often the loop runs depends on the data", node)
    elif site.code == "GM103":
        plan.refuse("host-value", _HOST_TESTS.get(site.event.kind, "Python needs the answer as a bool"), node)
    else:
        plan.refuse("control-flow", "how often the loop runs depends on the data", node)
        plan.refuse("host-value", "the number of iterations is needed on the host", node)
    return plan


# -- shared ------------------------------------------------------------------------------------------------


class _Writer:
    """Condition, selection and layout for one site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.plan = Plan()
        self.torch, _ = torch_name(site)
        self.no_grad = site.event.context.no_grad
        self.text = site.module.parsed.text
        self.unit = indent_unit(self.text)
        self.known = names.identifiers(self.text) | site.reserved
        self.taken = set(self.known)

    def condition(self, node: ast.expr, data: tuple[object, ...]) -> Condition:
        made = Conditions(self.site, self.torch, data, no_grad=self.no_grad).rewrite(node)  # type: ignore[arg-type]
        self.plan.issues.extend(made.issues)
        self.plan.torch = self.plan.torch or made.torch
        return made

    def legality(self) -> Legality:
        return Legality(self.site.facts, self.site.function, no_grad=self.no_grad)

    def speculate(self, node: ast.expr) -> None:
        check = self.legality()
        check.check(node)
        self.plan.issues.extend(check.issues)

    def metadata(self, new: Value, old: Value, node: ast.AST, what: str) -> bool:
        """Whether two sides provably have equal dtype, shape and device; reports what provably differs."""
        for value in (new, old):
            if value.null is not Null.NEVER:
                self.plan.refuse("host-value", f"{what} may be None: torch.where cannot select None", node)
                return False
            if value.kind in (Kind.PYTHON, Kind.SCALAR) or value.mixed:
                message = f"{what} is a Python value on one path, which torch.where would turn into a tensor"
                self.plan.refuse("host-value", message, node)
                return False
            if value.array:
                self.plan.refuse("unsupported", f"{what} is a numpy array", node)
                return False
            if value.kind in (Kind.CONTAINER, Kind.MODULE, Kind.INSTANCE, Kind.FUNCTION, Kind.LOGGER, Kind.CLASS):
                self.plan.refuse("host-value", f"{what} is not a tensor", node)
                return False
        if new.kind is not Kind.TENSOR and old.kind is not Kind.TENSOR:
            self.plan.refuse("host-value", f"{what} is not known to be a tensor", node)
            return False
        if _differ_in_shape(new, old):
            message = f"{what} is a single number on one path and not on the other: torch.where would change its shape"
            self.plan.refuse("shape", message, node)
            return False
        if _differ_in_dtype(new, old):
            self.plan.refuse("dtype", f"{what} has another dtype on either path", node)
            return False
        same = new.dtype is not None and new.dtype == old.dtype
        same = same and new.shape is not None and new.shape == old.shape
        return same and new.device is not None and new.device == old.device

    def selection(self, condition: str, exact: bool, new: str, old: str, proved: bool) -> tuple[str, list[str]]:
        """Function and arguments of a selection."""
        if proved and exact:
            self.plan.torch = True
            return f"{self.torch}.where", [condition, new, old]
        self.plan.runtime = True
        return "select", [condition, new, old]

    def room(self, node: ast.stmt) -> int:
        raw = self.site.chunk.raw_text(node.lineno)
        indent = raw[: len(raw) - len(raw.lstrip())].expandtabs(4)
        return line_width(self.text) - len(indent)


def _differ_in_shape(new: Value, old: Value) -> bool:
    return (new.shape == ()) != (old.shape == ()) and new.shape is not None and old.shape is not None


def _differ_in_dtype(new: Value, old: Value) -> bool:
    a, b = new.dtype, old.dtype
    if isinstance(a, str) and isinstance(b, str):
        return a != b
    return "bool" in (a, b) and a is not None and b is not None and a != b


# -- conditional expressions -------------------------------------------------------------------------------


class _Expression(_Writer):
    """``a if test else b``."""

    def __init__(self, site: Site, node: ast.IfExp) -> None:
        super().__init__(site)
        test = site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        new, old = site.value(node.body), site.value(node.orelse)
        proved = self.metadata(new, old, node, f"`{_short(site.source(node))}`")
        self.speculate(node.body)
        self.speculate(node.orelse)
        if condition.before:
            self.plan.refuse("unsupported", "the test binds a name inside the expression", node)
        self._alias(node, new, old)
        if self.plan.fatal:
            return
        text = condition.text
        exact = condition.exact
        if condition.static:
            text = " and ".join([*condition.static, text])
            exact = False
        name, arguments = self.selection(text, exact, site.source(node.body), site.source(node.orelse), proved)
        flat = f"{name}({', '.join(' '.join(a.split()) for a in arguments)})"
        self.plan.replacements.append(ExpressionReplacement(node, flat))

    def _alias(self, node: ast.IfExp, new: Value, old: Value) -> None:
        issue = alias_issue(self.site, ("join", id(node), ""), [new, old], node, "the result")
        if issue is not None:
            self.plan.issues.append(issue)


# -- statements --------------------------------------------------------------------------------------------


@dataclass
class _Arm:
    """What one side assigns: the expression of each name, in order, and its value."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    proved: dict[str, bool] = field(default_factory=dict[str, bool])
    nodes: dict[str, ast.AST] = field(default_factory=dict[str, ast.AST])


class _Statement(_Writer):
    """``if`` statements."""

    def __init__(self, site: Site, node: ast.If) -> None:
        super().__init__(site)
        self.node = node
        self.function = site.function
        self.hoisted: list[str] = []
        self.renames: dict[str, str] = {}

    def run(self) -> Plan:
        node = self.node
        if raises_only(node):
            self.plan.refuse("unsupported", "a guard is no selection", node)
            return self.plan
        self._loops()
        returns = [s for s in (*node.body, *node.orelse) if isinstance(s, ast.Return)]
        if returns and not self.plan.fatal:
            return self._returns()
        if self._in_place():
            return self.plan
        self._assignments()
        return self.plan

    def _loops(self) -> None:
        """Control flow that a selection cannot express."""
        for stmt in self._inside():
            if isinstance(stmt, (ast.Break, ast.Continue)):
                word = "break" if isinstance(stmt, ast.Break) else "continue"
                self.plan.refuse("control-flow", f"`{word}` decides how often the loop runs", stmt)
            elif isinstance(stmt, (ast.For, ast.While, ast.AsyncFor)):
                self.plan.refuse("control-flow", "a loop inside the branch", stmt)
            elif isinstance(stmt, ast.Raise):
                self.plan.refuse("control-flow", "the branch raises after other work", stmt)
            elif isinstance(stmt, (ast.With, ast.Try, ast.AsyncWith, ast.Match)):
                self.plan.refuse("unsupported", "the branch holds a `with`, `try` or `match`", stmt)
            elif isinstance(stmt, (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)):
                self.plan.refuse("state-write", "the branch changes what names mean", stmt)
            elif isinstance(stmt, (ast.Assign, ast.AugAssign)) and scope.writes(stmt) & _outer_names(self.function):
                self.plan.refuse("state-write", f"`{_short(self.site.source(stmt))}` changes a name of an outer scope", stmt)
            elif isinstance(stmt, ast.Return) and self.site.event.context.loops:
                self.plan.refuse("control-flow", "the branch returns from inside a loop", stmt)
            elif isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
                self.plan.refuse("unsupported", "the branch defines a function or class", stmt)
            elif isinstance(stmt, ast.Delete):
                self.plan.refuse("unbound-name", f"`{self.site.source(stmt)}` unbinds a name on one path", stmt)
            elif isinstance(stmt, ast.Expr) and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(stmt)):
                self.plan.refuse("control-flow", "the branch decides what is yielded", stmt)
                self.plan.refuse("shape", "the number of yielded values depends on the data", stmt)

    def _inside(self) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        todo: list[ast.stmt] = [*self.node.body, *self.node.orelse]
        while todo:
            stmt = todo.pop(0)
            found.append(stmt)
            if isinstance(stmt, ast.If):
                todo[:0] = [*stmt.body, *stmt.orelse]
        return found

    # -- assignments -------------------------------------------------------------------------------

    def _assignments(self) -> None:
        node = self.node
        test = self.site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        then = self._arm(node.body)
        other = self._arm(node.orelse)
        self._heavy()
        targets = list(dict.fromkeys([*then.texts, *other.texts]))
        before: Mapping[str, Value] = self.site.branch.before if self.site.branch is not None else {}
        chosen: list[tuple[str, str, str, bool]] = []
        for name in targets:
            made = self._target(name, then, other, before)
            if made is not None:
                chosen.append(made)
        if not chosen and not self.plan.fatal:
            self.plan.refuse("unsupported", "the branch assigns nothing that is read later", node)
        if self.plan.fatal:
            return
        lines = self._lines(condition, chosen)
        self.plan.replacements.append(Replacement(node, node, tuple(lines)))

    def _target(
        self, name: str, then: _Arm, other: _Arm, before: Mapping[str, Value]
    ) -> tuple[str, str, str, bool] | None:
        """One name that both sides agree on: its text on either side and whether metadata is proved."""
        node = self.node
        old = before.get(name)
        one_sided = name not in then.texts or name not in other.texts
        read_later = scope.read_after(self.function, node, name)
        nonlocal_name = name in _outer_names(self.function)
        if nonlocal_name:
            self.plan.refuse("state-write", f"`{name}` belongs to an outer scope", node)
            return None
        if one_sided and (old is None or old.unbound):
            if read_later:
                message = f"`{name}` has no value where the branch is not taken"
                self.plan.refuse("unbound-name", message, node)
                return None
            arm = then if name in then.texts else other
            self._temporary(name, arm)
            return None
        if not read_later:
            if one_sided and old is not None and not self._used_in_arms(name):
                self._temporary(name, then if name in then.texts else other)
                return None
            return None
        new_value = then.values.get(name, old or UNKNOWN)
        old_value = other.values.get(name, old or UNKNOWN)
        proved = self.metadata(new_value, old_value, node, f"`{name}`")
        proved = proved and then.proved.get(name, True) and other.proved.get(name, True)
        root: Root = ("join", id(node), name)
        issue = alias_issue(self.site, root, [new_value, old_value], node, f"`{name}`")
        if issue is not None:
            self.plan.issues.append(issue)
        return name, then.texts.get(name, name), other.texts.get(name, name), proved

    def _used_in_arms(self, name: str) -> bool:
        return any(name in scope.reads(s) for s in (*self.node.body, *self.node.orelse))

    def _temporary(self, name: str, arm: _Arm) -> None:
        """A name used inside the branch only is computed before the selection."""
        line = f"{name} = {arm.texts[name]}"
        if line not in self.hoisted:
            self.hoisted.append(line)

    def _arm(self, body: list[ast.stmt]) -> _Arm:
        """Final expressions of one side; obstacles go to the plan."""
        arm = _Arm()
        for stmt in body:
            self._statement(stmt, arm)
        return arm

    def _statement(self, stmt: ast.stmt, arm: _Arm) -> None:
        if isinstance(stmt, ast.Pass) or _is_docstring(stmt):
            return
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            self._assign(stmt.targets[0], stmt.value, arm, stmt)
        elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            self._assign(stmt.target, stmt.value, arm, stmt)
        elif isinstance(stmt, ast.AugAssign):
            self._augment(stmt, arm)
        elif isinstance(stmt, ast.If):
            self._nested(stmt, arm)
        elif isinstance(stmt, ast.Expr):
            self._effect(stmt)
        elif isinstance(stmt, ast.Assign):
            self.plan.refuse("unsupported", f"`{_short(self.site.source(stmt))}` assigns several targets", stmt)

    def _assign(self, target: ast.expr, value: ast.expr, arm: _Arm, stmt: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self.speculate(value)
            self._bind(arm, target.id, self._substituted(value, arm), self.site.value(value), stmt)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs: list[tuple[str, str, Value]] = []
            for item, part in zip(target.elts, value.elts, strict=True):
                if not isinstance(item, ast.Name):
                    self.plan.refuse("unsupported", f"`{_short(self.site.source(stmt))}` unpacks into targets", stmt)
                    return
                self.speculate(part)
                pairs.append((item.id, self._substituted(part, arm), self.site.value(part)))
            for name, text, found in pairs:
                self._bind(arm, name, text, found, stmt)
        elif isinstance(target, ast.Attribute):
            self.speculate(value)
            self.plan.refuse("state-write", f"`{_short(self.site.source(stmt))}` changes state only if the branch is taken", stmt)
            if self.site.value(value).kind is Kind.SCALAR:
                self.plan.refuse("host-value", f"`{_short(self.site.source(value))}` is needed on the host", stmt)
        elif isinstance(target, ast.Subscript):
            owner = self.site.value(target.value)
            reason: Reason = "container-mutation" if owner.kind is not Kind.TENSOR else "state-write"
            self.plan.refuse(reason, f"`{_short(self.site.source(stmt))}` writes only if the branch is taken", stmt)
        else:
            self.speculate(value)
            self.plan.refuse("unsupported", f"`{_short(self.site.source(stmt))}` unpacks a value", stmt)

    def _bind(self, arm: _Arm, name: str, text: str, value: Value, stmt: ast.AST) -> None:
        arm.texts[name] = text
        arm.values[name] = value
        arm.nodes[name] = stmt
        arm.proved[name] = arm.proved.get(name, True)

    def _augment(self, stmt: ast.AugAssign, arm: _Arm) -> None:
        """``y *= 0.5`` on a tensor nobody else holds is ``y = y * 0.5``."""
        text = _short(self.site.source(stmt))
        if not isinstance(stmt.target, ast.Name):
            owner = stmt.target.value if isinstance(stmt.target, (ast.Attribute, ast.Subscript)) else None
            reason: Reason = "state-write"
            if isinstance(stmt.target, ast.Subscript) and owner is not None:
                reason = "state-write" if self.site.value(owner).kind is Kind.TENSOR else "container-mutation"
            self.plan.refuse(reason, f"`{text}` writes only if the branch is taken", stmt)
            return
        name = stmt.target.id
        before = self.site.branch.before.get(name) if self.site.branch is not None else None
        known = arm.values.get(name, before or UNKNOWN)
        self.speculate(stmt.value)
        operator = self.site.source(stmt)[len(name) :].strip()
        symbol = operator[: operator.index("=")]
        check = self.legality()
        binary = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(name, ast.Load()), stmt.target), stmt.op, stmt.value), stmt)
        self.site.facts.values[id(binary.left)] = known
        check._parts(binary)  # noqa: SLF001 - the operator alone; its operands are checked above
        self.plan.issues.extend(check.issues)
        if known.kind is Kind.TENSOR:
            from graphmend_lsp.flow.base import visible

            if visible(known.roots) or len({r for r in known.roots if r[0] != "join"}) > 1:
                self.plan.refuse("state-write", f"`{text}` writes in place into a tensor that others may hold", stmt)
            value = replace(known, roots=frozenset({("op", id(stmt))}))
        else:
            value = self.site.value(stmt.value) if known.kind is Kind.UNKNOWN else known
        operand = self._substituted(stmt.value, arm)
        if not isinstance(stmt.value, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)):
            operand = f"({operand})"
        self._bind(arm, name, f"{arm.texts.get(name, name)} {symbol} {operand}", value, stmt)

    def _nested(self, stmt: ast.If, arm: _Arm) -> None:
        """A branch inside the branch: only one on data that can be selected itself."""
        inner = self.site.facts.branches.get(id(stmt))
        if inner is None:
            self.plan.refuse("unsupported", f"`if {_short(self.site.source(stmt.test))}` inside the branch", stmt)
            return
        condition = self.condition(stmt.test, inner.test.data)
        check = self.legality()
        check.check(stmt.test)
        self.plan.issues.extend(i for i in check.issues if i.reason not in ("gradient",))
        if condition.static or condition.before:
            self.plan.refuse("unsupported", "the inner test has a static part", stmt)
        then, other = self._arm(stmt.body), self._arm(stmt.orelse)
        for name in dict.fromkeys([*then.texts, *other.texts]):
            old = arm.values.get(name, inner.before.get(name))
            new_value, old_value = then.values.get(name, old), other.values.get(name, old)
            if new_value is None or old_value is None:
                self.plan.refuse("unbound-name", f"`{name}` has no value where the inner branch is not taken", stmt)
                continue
            proved = self.metadata(new_value, old_value, stmt, f"`{name}`")
            first = then.texts.get(name, arm.texts.get(name, name))
            second = other.texts.get(name, arm.texts.get(name, name))
            function, arguments = self.selection(condition.text, condition.exact, first, second, proved)
            value = new_value if proved else replace(new_value, dtype=None, shape=None, roots=new_value.roots | old_value.roots)
            self._bind(arm, name, f"{function}({', '.join(arguments)})", value, stmt)
            arm.proved[name] = proved

    def _effect(self, stmt: ast.Expr) -> None:
        node = stmt.value
        text = _short(self.site.source(stmt))
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return
        if not isinstance(node, ast.Call):
            self.plan.refuse("unsupported", f"`{text}` does nothing that can be selected", stmt)
            return
        events = effects.effect_calls(self.site.facts.events)
        if id(node) in events:
            self.plan.refuse("side-effect", f"`{text}` may run only if the branch is taken", stmt)
            return
        for part in (*node.args, *(k.value for k in node.keywords)):
            if self.site.value(part).kind is Kind.SCALAR:
                self.plan.refuse("host-value", f"`{_short(self.site.source(part))}` is needed on the host", stmt)
        check = self.legality()
        check.check(node)
        found = [i for i in check.issues if i.reason in ("container-mutation", "state-write", "random")]
        self.plan.issues.extend(found)
        if not found:
            self.plan.refuse("state-write", f"`{text}` is called for its effect, which may come only if the branch is taken", stmt)

    def _substituted(self, node: ast.expr, arm: _Arm) -> str:
        """Source of an expression with the names this side assigned before put in place."""
        text = _flat(self.site, node)
        used = [n for n in scope.reads(node) if n in arm.texts]
        for name in used:
            if self._stays(name):
                continue
            fresh = self.renames.get(name)
            if fresh is None:
                fresh = names.unique(f"new_{name}", self.taken)
                self.taken.add(fresh)
                self.renames[name] = fresh
                self.hoisted.append(f"{fresh} = {arm.texts[name]}")
                arm.texts[name] = fresh
            text = re.sub(rf"(?<![.\w]){re.escape(name)}(?!\w)", fresh, text)
        return text

    def _stays(self, name: str) -> bool:
        """A temporary of the branch keeps its name."""
        before = self.site.branch.before if self.site.branch is not None else {}
        old = before.get(name)
        return (old is None or old.unbound) and not scope.read_after(self.function, self.node, name)

    def _heavy(self) -> None:
        """Heavy sides are not computed on every call: torch.cond instead, if that is all that stands against it."""
        heavy = [i for i in self.plan.issues if i.reason == "heavy"]
        if heavy:
            self.plan.cost = heavy[0].message

    # -- writing -----------------------------------------------------------------------------------

    def _lines(self, condition: Condition, chosen: list[tuple[str, str, str, bool]]) -> list[str]:
        node = self.node
        depth = self.unit if condition.static else ""
        room = self.room(node) - len(depth.expandtabs(4))
        body: list[str] = []
        body += condition.before
        body += self._hoisted_lines()
        text, exact = condition.text, condition.exact
        assigned = {name for name, *_ in chosen}
        reused = len(chosen) > 1
        if reused and not text.isidentifier():
            name = names.unique(names.from_expression(node.test), self.taken)
            self.taken.add(name)
            body.append(f"{name} = {text}")
            text = name
        conflict = reused and any(
            other != name and _mentions(part, other) for name, new, old, _ in chosen for part in (new, old) for other in assigned
        )
        rows = [(name, *self.selection(text, exact, new, old, proved)) for name, new, old, proved in chosen]
        if conflict:
            left = ", ".join(name for name, *_ in rows)
            parts = [f"{function}({', '.join(arguments)})" for _, function, arguments in rows]
            flat = f"{left} = {', '.join(parts)}"
            if len(flat) <= room:
                body.append(flat)
            else:
                body += [f"{left} = (", *(f"{self.unit}{part}," for part in parts), ")"]
        else:
            for name, function, arguments in rows:
                body += call(f"{name} = ", function, arguments, room=room, indent=self.unit)
        if not condition.static:
            return body
        lines = [f"if {' and '.join(condition.static)}:", *(self.unit + line if line else line for line in body)]
        if node.orelse:
            lines += ["else:", *self._else_source()]
        return lines

    def _hoisted_lines(self) -> list[str]:
        return [line for item in self.hoisted for line in item.split("\n")]

    def _else_source(self) -> list[str]:
        from graphmend_lsp.mend.layout import reindent

        lines: list[str] = []
        for stmt in self.node.orelse:
            raw = self.site.chunk.raw_text(stmt.lineno)
            indent = raw[: len(raw) - len(raw.lstrip())]
            lines += reindent(self.site.source(stmt), indent, self.unit)
        return lines

    # -- returns -----------------------------------------------------------------------------------

    def _returns(self) -> Plan:
        """``return`` in both arms, or a guard before a straight rest that returns."""
        node = self.node
        block = scope.block_of(self.function, node) or []
        rest = scope.following(block, node)
        if scope.is_elif(self.function, node, self.site.source(node)):
            rest = []
        first, last = node.body[-1], None
        between: list[ast.stmt] = []
        if node.orelse and isinstance(node.orelse[-1], ast.Return) and isinstance(first, ast.Return):
            last = node.orelse[-1]
            if len(node.orelse) > 1 or len(node.body) > 1:
                self.plan.refuse("unsupported", "the branches compute more than they return", node)
        elif not node.orelse and isinstance(first, ast.Return) and rest and isinstance(rest[-1], ast.Return):
            last, between = rest[-1], rest[:-1]
            if len(node.body) > 1:
                self.plan.refuse("unsupported", "the branch computes more than it returns", node)
        if not isinstance(first, ast.Return) or not isinstance(last, ast.Return):
            self.plan.refuse("control-flow", "one path returns and the other goes on", node)
            if any(isinstance(s, ast.Return) and self._returns_nothing(s) for s in (*node.body, *node.orelse)):
                self.plan.refuse("host-value", "one path returns None", node)
            self._falls_through(rest)
            return self.plan
        return self._return_pair(first, between, last)

    def _returns_nothing(self, stmt: ast.Return) -> bool:
        return stmt.value is None or self.site.value(stmt.value).null is Null.ALWAYS

    def _falls_through(self, rest: list[ast.stmt]) -> None:
        returned = [s for s in (*self.node.body, *rest) if isinstance(s, ast.Return)]
        if any(self._returns_nothing(s) for s in returned) or not rest:
            self.plan.refuse("host-value", "one path returns None, which torch.where cannot select", self.node)

    def _return_pair(self, first: ast.Return, between: list[ast.stmt], last: ast.Return) -> Plan:
        node = self.node
        if first.value is None or last.value is None or self._returns_nothing(first) or self._returns_nothing(last):
            self.plan.refuse("host-value", "one path returns None, which torch.where cannot select", node)
            return self.plan
        test = self.site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        pairs = self._pairs(first.value, last.value)
        for stmt in between:
            self._between(stmt)
        for new, old in pairs:
            self.speculate(new)
            self.speculate(old)
        proved = [
            self.metadata(self.site.value(new), self.site.value(old), node, "the returned value") for new, old in pairs
        ]
        for new, old in pairs:
            issue = alias_issue(self.site, None, [self.site.value(new), self.site.value(old)], node, "the returned value")
            if issue is not None:
                self.plan.issues.append(issue)
        if condition.static and between:
            self.plan.refuse("unsupported", "the test has a static part, and more follows before the return", node)
        heavy = [i for i in self.plan.fatal if i.reason == "heavy"]
        if heavy and len(heavy) == len(self.plan.fatal) and not between and not condition.static and len(pairs) == 1:
            return self._cond(condition, first.value, last.value, last)
        if self.plan.fatal:
            return self.plan
        self._write_return(condition, pairs, proved, between, first, last)
        return self.plan

    def _between(self, stmt: ast.stmt) -> None:
        """A statement between the guard and the final return is computed on both paths from now on."""
        arm = _Arm()
        if isinstance(stmt, ast.Assign) and all(_plain_target(t) for t in stmt.targets):
            self.speculate(stmt.value)
            return
        if isinstance(stmt, (ast.AnnAssign, ast.AugAssign)):
            self._statement(stmt, arm)
            return
        if isinstance(stmt, ast.Expr):
            self._effect(stmt)
            return
        text = _short(self.site.source(stmt).split("\n")[0])
        self.plan.refuse("control-flow", f"`{text}` comes between the test and the other return", stmt)
        for inner in ast.walk(stmt):
            if isinstance(inner, ast.expr) and isinstance(inner, ast.Call):
                check = self.legality()
                check.check(inner)
                self.plan.issues.extend(i for i in check.issues if i.reason in ("heavy", "random", "state-write"))

    def _pairs(self, new: ast.expr, old: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        if isinstance(new, ast.Tuple) and isinstance(old, ast.Tuple):
            if len(new.elts) == len(old.elts):
                return list(zip(new.elts, old.elts, strict=True))
            self.plan.refuse("host-value", "the paths return different numbers of values", self.node)
        elif isinstance(new, ast.Tuple) or isinstance(old, ast.Tuple):
            self.plan.refuse("host-value", "one path returns several values and the other one", self.node)
        return [(new, old)]

    def _write_return(
        self,
        condition: Condition,
        pairs: list[tuple[ast.expr, ast.expr]],
        proved: list[bool],
        between: list[ast.stmt],
        first: ast.Return,
        last: ast.Return,
    ) -> None:
        node = self.node
        text = condition.text
        lines: list[str] = list(condition.before)
        reuse = len(pairs) > 1 or (between and not text.isidentifier())
        if between and text.isidentifier():
            reuse = text in {n for s in between for n in scope.writes(s)}
        if reuse:
            name = names.unique(names.from_expression(node.test), self.taken)
            self.taken.add(name)
            lines.append(f"{name} = {text}")
            text = name
        rebound = {n for s in between for n in scope.writes(s)}
        parts: list[tuple[str, list[str]]] = []
        for (new, old), same in zip(pairs, proved, strict=True):
            source = _flat(self.site, new)
            if scope.reads(new) & rebound:
                early = names.unique("early_result", self.taken)
                self.taken.add(early)
                lines.append(f"{early} = {source}")
                source = early
            parts.append(self.selection(text, condition.exact, source, _flat(self.site, old), same))
        room = self.room(node if not condition.static else last)
        if len(parts) == 1:
            function, arguments = parts[0]
            result = call("return ", function, arguments, room=room, indent=self.unit)
        else:
            texts = [f"{function}({', '.join(arguments)})" for function, arguments in parts]
            flat = f"return {', '.join(texts)}"
            result = [flat] if len(flat) <= room else ["return (", *(f"{self.unit}{t}," for t in texts), ")"]
        del first
        if condition.static:
            static = [f"if {' and '.join(condition.static)}:", *(self.unit + line for line in [*lines, *result])]
            if node.orelse:
                static += ["else:", *self._else_source()]
            self.plan.replacements.append(Replacement(node, node, tuple(static)))
            return
        if between:
            self.plan.replacements.append(Replacement(node, node, tuple(lines)))
            self.plan.replacements.append(Replacement(last, last, tuple(result)))
        elif node.orelse:
            self.plan.replacements.append(Replacement(node, node, tuple([*lines, *result])))
        else:
            self.plan.replacements.append(Replacement(node, last, tuple([*lines, *result])))

    def _cond(self, condition: Condition, new: ast.expr, old: ast.expr, last: ast.Return) -> Plan:
        """Heavy sides: ``torch.cond`` computes only the chosen one; eager calls get slower, so never by default."""
        self.plan.kind = "cond"
        self.plan.torch = True
        self.plan.cost = "a call without torch.compile gets about a millisecond slower (torch.cond compiles itself)"
        sides = [self._side(new), self._side(old)]
        text = condition.text if condition.exact else f"({condition.text}).reshape(())"
        lines = call("return ", f"{self.torch}.cond", [text, *sides], room=self.room(self.node), indent=self.unit)
        end = self.node if self.node.orelse else last
        self.plan.replacements.append(Replacement(self.node, end, tuple([*condition.before, *lines])))
        return self.plan

    def _side(self, node: ast.expr) -> str:
        text = _flat(self.site, node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return f"lambda: {text}.clone()"  # torch.cond refuses a side that returns its input itself
        return f"lambda: {text}"

    # -- in place ----------------------------------------------------------------------------------

    def _in_place(self) -> bool:
        """``if test: x.mul_(v)`` -> ``x.copy_(torch.where(test, x * v, x))``: writes on every call."""
        node = self.node
        if node.orelse or len(node.body) != 1 or not isinstance(node.body[0], ast.Expr):
            return False
        item = node.body[0].value
        if not isinstance(item, ast.Call) or not isinstance(item.func, ast.Attribute):
            return False
        target, method = item.func.value, item.func.attr
        value = self.site.value(target)
        if value.kind is not Kind.TENSOR or not method.endswith("_") or method.startswith("_"):
            return False
        if not isinstance(target, ast.Name) or any(r[0] == "attr" for r in value.roots):
            return False
        plain = method[:-1]
        check = self.legality()
        made = ast.copy_location(ast.Call(ast.copy_location(ast.Attribute(target, plain, ast.Load()), item.func), item.args, item.keywords), item)
        self.site.facts.values[id(made.func)] = replace(self.site.value(item.func), ref=_renamed_bound(self.site.value(item.func), plain))
        check.check(made)
        self.plan.issues.extend(i for i in check.issues if i.reason != "gradient" or i.fatal)
        test = self.site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        name = self.site.source(target)
        message = f"`{name}` is written on every call, with the same values: a leaf that requires grad is rejected"
        self.plan.issues.append(Issue("state-write", message, node, fatal=False))
        self.plan.issues.append(Issue("may-raise", message, node, fatal=False))
        if condition.static or condition.before:
            self.plan.refuse("unsupported", "the test has a static part", node)
        if self.plan.fatal:
            return True
        self.plan.kind = "copy"
        arguments = ", ".join(self.site.source(a) for a in item.args)
        new = f"{name}.{plain}({arguments})"
        function, parts = self.selection(condition.text, condition.exact, new, name, True)
        line = call("", f"{name}.copy_", [f"{function}({', '.join(parts)})"], room=self.room(node), indent=self.unit)
        self.plan.replacements.append(Replacement(node, node, tuple(line)))
        return True


def _renamed_bound(value: Value, name: str) -> object:
    from graphmend_lsp.flow.values import Bound

    ref = value.ref
    return Bound(ref.receiver, name, ref.node) if isinstance(ref, Bound) else ref


def _plain_target(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_plain_target(e) for e in node.elts)
    return isinstance(node, ast.Name)


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _outer_names(function: object) -> set[str]:
    from graphmend_lsp.model.module import FunctionInfo, own_nodes

    assert isinstance(function, FunctionInfo)
    found: set[str] = set()
    for node in own_nodes(function.node):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
    return found


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![.\w]){re.escape(name)}(?!\w)", text) is not None


def _flat(site: Site, node: ast.expr) -> str:
    """Source of an expression on one line, if no comment and no string over several lines is inside."""
    text = site.source(node)
    if "#" in text or '"""' in text or "'''" in text or "\n" not in text:
        return text
    return flat(text)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"
