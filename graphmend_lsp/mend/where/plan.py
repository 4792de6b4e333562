"""A rewritten branch, or the obstacles to it; what all forms share."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property

from graphmend_lsp.finding import Reason
from graphmend_lsp.flow.events import Datum
from graphmend_lsp.flow.values import Kind, Null, Value
from graphmend_lsp.mend import names
from graphmend_lsp.mend.base import ExpressionReplacement, Replacement, Site
from graphmend_lsp.mend.computed import Computed
from graphmend_lsp.mend.conditions import Condition, Conditions
from graphmend_lsp.mend.layout import indent_unit, line_width
from graphmend_lsp.mend.legality import Issue, Legality
from graphmend_lsp.mend.optional import Optional, dereferenced, is_loose, optional_parameters
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.mend.spelling import runtime_name, torch_name
from graphmend_lsp.mend.where.history import History
from graphmend_lsp.model.walk import walk


@dataclass
class Plan:
    """The change (``replacements``) and the obstacles to it (``issues``)."""

    kind: str = "where"
    title: str = ""
    """In place of the usual title of its kind."""
    issues: list[Issue] = field(default_factory=list[Issue])
    replacements: list[Replacement | ExpressionReplacement] = field(
        default_factory=list["Replacement | ExpressionReplacement"]
    )
    runtime: bool = False
    torch: bool = False
    cost: str = "a call without torch.compile gets about a millisecond slower (torch.cond compiles itself)"
    names: tuple[str, ...] = ()

    def refuse(self, reason: Reason, message: str, node: ast.AST) -> None:
        self.issues.append(Issue(reason, message, node))

    @property
    def fatal(self) -> list[Issue]:
        return [i for i in self.issues if i.fatal]

    @property
    def only_heavy(self) -> bool:
        """Whether cost is all that stands against computing both sides."""
        return bool(self.fatal) and all(i.reason == "heavy" for i in self.fatal)


class Writer:
    """Condition, selection and layout for one site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.plan = Plan()
        self.function = site.function
        self.torch, _ = torch_name(site)
        self.select = runtime_name(site.module, "select")
        self.no_grad = site.event.context.no_grad
        self.history = History(site)
        self.text = site.module.parsed.text
        self.unit = indent_unit(self.text)
        self.loose = False
        """Whether a side may be no tensor: ``select`` takes what ``torch.where`` does not."""
        self.known = names.identifiers(self.text) | site.reserved
        self.taken = set(self.known)

    @cached_property
    def optional(self) -> Optional:
        """What is known of parameters that may hold no tensor."""
        node = self.site.event.node
        return optional_parameters(self.site, node.test) if isinstance(node, (ast.If, ast.IfExp)) else Optional()

    @cached_property
    def on_both_sides(self) -> set[str]:
        return _on_both_sides(self.site.event.node)

    def finish(self) -> Plan:
        self.plan.names = tuple(sorted(self.taken - self.known))
        return self.plan

    def fresh(self, name: str) -> str:
        """A name nobody has yet; it is taken from now on."""
        made = names.unique(name, self.taken)
        self.taken.add(made)
        return made

    def condition(self, node: ast.expr, data: tuple[Datum, ...]) -> Condition:
        loose = [d.node for d in data if is_loose(d.node, self.optional.loose, self.site.facts)]
        made = Conditions(self.site, self.torch, data).rewrite(node)
        if loose and made.torch:
            message = f"`{self.short(loose[0])}` is no tensor in every call, and is then tested in Python"
            self.plan.refuse("host-value", message, loose[0])
        elif loose:
            made.exact = False
        if isinstance(node, ast.BoolOp):
            holding = [v for v in node.values if any(d.node is n for n in walk(v) for d in data)]
            for part in holding[1:]:
                self._may_be_none(part)
        self.plan.issues.extend(made.issues)
        self.plan.torch = self.plan.torch or made.torch
        return made

    def legality(self) -> Legality:
        site = self.site
        return Legality(site.engine, site.facts, site.function, no_grad=self.no_grad, computed=self.computed)

    @cached_property
    def computed(self) -> Computed:
        return Computed(self.site.event.node)

    def speculate(self, node: ast.expr) -> None:
        """``node`` will be computed on both paths."""
        self.loose = self.loose or is_loose(node, self.optional.loose, self.site.facts)
        self._may_be_none(node)
        check = self.legality()
        check.check(node)
        self.plan.issues.extend(check.issues)

    def _may_be_none(self, node: ast.expr) -> None:
        """Optional parameters that only this expression needs."""
        for name in sorted(dereferenced([node]) & self.optional.nullable - self.on_both_sides):
            self.plan.refuse("may-raise", f"`{name}` may be None on the other path", node)

    def short(self, node: ast.expr | ast.stmt) -> str:
        flat = " ".join(self.site.source(node).split())
        return flat if len(flat) <= 60 else flat[:59] + "…"

    def flat(self, node: ast.expr) -> str:
        return self.on_one_line(one_line(self.site.source(node)), node)

    def on_one_line(self, text: str, node: ast.expr) -> str:
        if "\n" in text:
            self.plan.refuse("unsupported", f"`{self.short(node)}` has a comment or a long string inside", node)
        return text

    def metadata(self, new: Value, old: Value, node: ast.AST, what: str) -> bool:
        """Whether two sides provably have equal dtype, shape and device; reports what provably differs."""
        for value in (new, old):
            problem = _not_selectable(value, what)
            if problem is not None:
                self.plan.refuse(problem[0], problem[1], node)
                return False
        steep = self.history.steep(new, old)
        if steep is not None:
            message = f"`{self.short(steep)}` can have an infinite slope: where {what} comes from the other side, "
            message += "its gradient becomes NaN"
            self.plan.issues.append(Issue("gradient", message, node, fatal=False))
        tensors = (new.kind is Kind.TENSOR) + (old.kind is Kind.TENSOR)
        if not tensors or (tensors == 1 and self.loose):
            self.plan.refuse("host-value", f"{what} is not known to be a tensor", node)
            return False
        if _differ_in_shape(new, old):
            message = f"{what} has another shape on either path, which torch.where would change"
            self.plan.refuse("shape", message, node)
            return False
        if _differ_in_dtype(new, old):
            self.plan.refuse("dtype", f"{what} has another dtype on either path", node)
            return False
        if any(map(self.history.is_cut, (new, old))):
            message = f"without gradients being recorded here, the selection would cut {what} off its gradient history"
            self.plan.issues.append(Issue("gradient", message, node, fatal=False))
        same = new.dtype is not None and new.dtype == old.dtype
        same = same and new.shape is not None and new.shape == old.shape
        return same and new.device is not None and new.device == old.device

    def selection(self, condition: str, exact: bool, new: str, old: str, proved: bool) -> tuple[str, list[str]]:
        """Function and arguments of a selection."""
        if proved and exact and not self.loose:
            self.plan.torch = True
            return f"{self.torch}.where", [condition, new, old]
        self.plan.runtime = True
        return self.select, [condition, new, old]

    def indent_of(self, node: ast.stmt) -> str:
        raw = self.site.chunk.raw_text(node.lineno)
        return raw[: len(raw) - len(raw.lstrip())]

    def room(self, node: ast.stmt) -> int:
        """Width left for a statement at this place."""
        return line_width(self.text) - len(self.indent_of(node).expandtabs(4))


def _on_both_sides(node: ast.AST) -> set[str]:
    """Names that either side needs: one of them would have failed anyway."""
    if isinstance(node, ast.IfExp):
        return dereferenced([node.body]) & dereferenced([node.orelse])
    if isinstance(node, ast.If):
        return dereferenced(node.body) & dereferenced(node.orelse)
    return set()


def _not_selectable(value: Value, what: str) -> tuple[Reason, str] | None:
    if value.null is not Null.NEVER:
        return "host-value", f"{what} may be None: torch.where cannot select None"
    if value.kind in (Kind.PYTHON, Kind.SCALAR) or any(o.kind is not Kind.UNKNOWN for o in value.options):
        return "host-value", f"{what} is a Python value on one path, which torch.where would turn into a tensor"
    if value.array:
        return "unsupported", f"{what} is a numpy array"
    if value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return "host-value", f"{what} is not a tensor"
    return None


def _differ_in_shape(new: Value, old: Value) -> bool:
    for one, other in ((new.shape, old.shape), (old.shape, new.shape)):
        if isinstance(one, tuple) and one[:1] == ("reduced",) and one[1] is not None and one[1] == other:
            return True
    return (new.shape == ()) != (old.shape == ()) and new.shape is not None and old.shape is not None


def _differ_in_dtype(new: Value, old: Value) -> bool:
    a, b = new.dtype, old.dtype
    if isinstance(a, str) and isinstance(b, str):
        return a != b
    return "bool" in (a, b) and a is not None and b is not None and a != b
