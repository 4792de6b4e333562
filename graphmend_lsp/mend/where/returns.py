"""``return`` in both arms, or a guard's ``return`` before a straight rest that returns."""

from __future__ import annotations

import ast

from graphmend_lsp.flow.values import Kind, Null
from graphmend_lsp.mend import names, scope
from graphmend_lsp.mend.aliases import alias_issue
from graphmend_lsp.mend.base import Replacement
from graphmend_lsp.mend.conditions import Condition
from graphmend_lsp.mend.layout import call
from graphmend_lsp.mend.where.arms import Arm
from graphmend_lsp.mend.where.endings import Ending, Endings

Pair = tuple[ast.expr, ast.expr]
ENDED = "Select what both sides pass on, on the device, and pass it on once"


class Returns(Endings):
    """Forms that return; ``else_source`` comes from the statement form."""

    def else_source(self) -> list[str]:
        raise NotImplementedError

    def returns(self) -> None:
        node = self.node
        block = scope.block_of(self.function, node) or []
        elif_ = scope.is_elif(self.function, node, self.site.source(node))
        rest = [] if elif_ else scope.following(block, node)
        first = node.body[-1]
        last: ast.stmt | None = None
        between: list[ast.stmt] = []
        if node.orelse and isinstance(node.orelse[-1], ast.Return):
            last = node.orelse[-1]
            if len(node.orelse) > 1 or len(node.body) > 1:
                self.plan.refuse("unsupported", "the branches compute more than they return", node)
        elif not node.orelse and rest and isinstance(rest[-1], ast.Return):
            last, between = rest[-1], rest[:-1]
            if len(node.body) > 1:
                self.plan.refuse("unsupported", "the branch computes more than it returns", node)
        if not isinstance(first, ast.Return) or not isinstance(last, ast.Return):
            self.plan.refuse("control-flow", "one path returns and the other goes on", node)
            if not rest or any(
                isinstance(s, ast.Return) and self._nothing(s) for s in (*node.body, *node.orelse, *rest)
            ):
                self.plan.refuse("host-value", "one path returns None, which torch.where cannot select", node)
            return
        if first.value is None or last.value is None or self._nothing(first) or self._nothing(last):
            self.plan.refuse("host-value", "one path returns None, which torch.where cannot select", node)
            return
        self._pair(first, first.value, between, last, last.value)

    def _nothing(self, stmt: ast.Return) -> bool:
        return stmt.value is None or self.site.value(stmt.value).null is Null.ALWAYS

    def _pair(self, first: ast.Return, new: ast.expr, between: list[ast.stmt], last: ast.Return, old: ast.expr) -> None:
        node = self.node
        test = self.site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        for stmt in between:
            self._between(stmt)
        pairs = self._pairs(new, old)
        proved: list[bool] = []
        merged: dict[int, Ending] = {}
        for one, two in pairs:
            ending = self.same_call(one, two, (first, last)) if not between else None
            if ending is not None:
                self.prove(ending, Arm(), Arm(), inline=False)
                merged[id(one)] = ending
                proved.append(True)
                continue
            self.speculate(one)
            self.speculate(two)
            proved.append(self.metadata(self.site.value(one), self.site.value(two), node, "the returned value"))
            sides = [self.site.value(one), self.site.value(two)]
            issue = alias_issue(self.site, None, sides, node, "the returned value")
            if issue is not None:
                self.plan.issues.append(issue)
        if condition.differs and not all(isinstance(two, (ast.Name, ast.Constant)) for _, two in pairs):
            self.plan.refuse("may-raise", "the other side may not fit where the shapes differ", node)
        if condition.static and between:
            if all(isinstance(one, ast.Name) for one, _ in pairs):
                # Nothing is computed for the static part's sake: the selection takes it as a Python bool.
                condition.text = " and ".join([*condition.static, condition.conjunct])
                condition.static, condition.exact, condition.python = [], False, True
            else:
                self.plan.refuse("unsupported", "the test has a static part, and more follows before the return", node)
        if merged:
            self.plan.title = ENDED
        plain = not between and not condition.static and not condition.python and not merged
        if self.plan.only_heavy and plain and len(pairs) == 1:
            self._cond_return(condition, pairs[0], last)
        elif not self.plan.fatal:
            self._write(condition, pairs, proved, between, last, merged)

    def _between(self, stmt: ast.stmt) -> None:
        """A statement between the guard and the final return is computed on both paths from now on."""
        if isinstance(stmt, ast.Assign) and all(_plain_target(t) for t in stmt.targets):
            self.speculate(stmt.value)
            return
        if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
            if stmt.value is not None:
                self.speculate(stmt.value)
            return
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
            return
        if isinstance(stmt, ast.AugAssign) and self.site.value(stmt.value).kind is Kind.PYTHON:
            known = self.site.facts.values.get(id(stmt.target))
            if known is not None and known.kind is Kind.PYTHON:
                self.speculate(stmt.value)
                return
        text = self.short(stmt)
        if isinstance(stmt, ast.AugAssign):
            self.plan.refuse("state-write", f"`{text}` writes in place before the other return", stmt)
        elif isinstance(stmt, ast.Expr):
            self._call(stmt)
        else:
            self.plan.refuse("control-flow", f"`{text}` comes between the test and the other return", stmt)
            for inner in ast.walk(stmt):
                if isinstance(inner, ast.Call):
                    check = self.legality()
                    check.check(inner)
                    kept = ("heavy", "random", "state-write", "may-raise")
                    self.plan.issues.extend(i for i in check.issues if i.reason in kept)

    def _pairs(self, new: ast.expr, old: ast.expr) -> list[Pair]:
        if isinstance(new, ast.Tuple) and isinstance(old, ast.Tuple):
            starred = any(isinstance(e, ast.Starred) for e in (*new.elts, *old.elts))
            if len(new.elts) == len(old.elts) and not starred:
                return list(zip(new.elts, old.elts, strict=True))
            self.plan.refuse("host-value", "the paths return different numbers of values", self.node)
        elif isinstance(new, ast.Tuple) or isinstance(old, ast.Tuple):
            self.plan.refuse("host-value", "one path returns several values and the other one", self.node)
        return [(new, old)]

    def _write(
        self,
        condition: Condition,
        pairs: list[Pair],
        proved: list[bool],
        between: list[ast.stmt],
        last: ast.Return,
        merged: dict[int, Ending],
    ) -> None:
        node = self.node
        lines = list(condition.before)
        text = condition.text
        rebound = {n for s in between for n in scope.writes(s)}
        several = len(pairs) > 1 or sum(len(e.pairs) for e in merged.values()) > 1
        if several or (between and (not text.isidentifier() or text in rebound)):
            name = self.fresh(names.from_expression(node.test))
            lines.append(f"{name} = {text}")
            text = name
        parts: list[tuple[str, list[str]]] = []
        for (new, old), same in zip(pairs, proved, strict=True):
            if id(new) in merged:
                parts.append(self.merged(new, merged[id(new)], text, condition.exact))
                continue
            source = self.flat(new)
            if scope.reads(new) & rebound:
                early = self.fresh("early_result")
                lines.append(f"{early} = {source}")
                source = early
            parts.append(self.selection(text, condition.exact, source, self.flat(old), same))
        room = self.room(last if between else node)
        room -= len(self.unit.expandtabs(4)) if condition.static else 0
        result = self._return_lines(parts, room)
        if condition.static:
            body = [self.unit + line for line in [*lines, *result]]
            static = [f"if {' and '.join(condition.static)}:", *body]
            if node.orelse:
                static += ["else:", *self.else_source()]
            self.plan.replacements.append(Replacement(node, node, tuple(static)))
        elif between:
            self.plan.replacements.append(Replacement(node, node, tuple(lines)))
            self.plan.replacements.append(Replacement(last, last, tuple(result)))
        else:
            end = node if node.orelse else last
            self.plan.replacements.append(Replacement(node, end, (*lines, *result)))

    def _return_lines(self, parts: list[tuple[str, list[str]]], room: int) -> list[str]:
        if len(parts) == 1:
            function, arguments = parts[0]
            return call("return ", function, arguments, room=room, indent=self.unit)
        texts = [f"{function}({', '.join(arguments)})" for function, arguments in parts]
        flat = f"return {', '.join(texts)}"
        return [flat] if len(flat) <= room else ["return (", *(f"{self.unit}{t}," for t in texts), ")"]

    # -- torch.cond --------------------------------------------------------------------------------

    def _cond_return(self, condition: Condition, pair: Pair, last: ast.Return) -> None:
        self.plan.kind = "cond"
        self.plan.torch = True
        new, old = (self._side(part) for part in pair)
        lines = self.cond_call("return ", condition, new, old, self.node)
        end = self.node if self.node.orelse else last
        self.plan.replacements.append(Replacement(self.node, end, tuple(lines)))

    def _side(self, node: ast.expr) -> str:
        return self.flat(node)

    def cond_call(self, head: str, condition: Condition, new: str, old: str, node: ast.stmt) -> list[str]:
        """Lines of a ``torch.cond``, which refuses a side that returns its input itself: that one is copied."""
        text = condition.text if condition.exact else f"({condition.text}).reshape(())"
        sides = [f"lambda: {side}.clone()" if _is_name(side) else f"lambda: {side}" for side in (new, old)]
        lines = call(head, f"{self.torch}.cond", [text, *sides], room=self.room(node), indent=self.unit)
        return [*condition.before, *lines]


def _is_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _plain_target(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_plain_target(e) for e in node.elts)
    return isinstance(node, ast.Name)
