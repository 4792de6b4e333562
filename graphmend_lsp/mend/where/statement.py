"""``if`` statements: which form they have, and the one that only assigns."""

from __future__ import annotations

import ast

from graphmend_lsp.flow.values import UNKNOWN, Root, Value, all_roots
from graphmend_lsp.mend import names, scope
from graphmend_lsp.mend.aliases import alias_issue
from graphmend_lsp.mend.base import Replacement, Site
from graphmend_lsp.mend.conditions import Condition
from graphmend_lsp.mend.layout import call, reindent
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.mend.where.arms import Arm
from graphmend_lsp.mend.where.endings import Ending
from graphmend_lsp.mend.where.inplace import InPlace
from graphmend_lsp.mend.where.plan import Plan
from graphmend_lsp.mend.where.returns import ENDED, Returns
from graphmend_lsp.model.walk import walk
from graphmend_lsp.rules.base import raises_only


def statement_plan(site: Site, node: ast.If) -> Plan:
    return _Statement(site, node).run()


MAX_TESTS = 6
"""Beyond this nobody wants to read the nested selection, let alone run all its sides."""


def _has_many_tests(node: ast.If) -> bool:
    """Whether an ``if`` holds too many tests, selections made from earlier ones included."""
    count = 0
    todo: list[ast.AST] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.If):
            count += 1
        elif isinstance(item, ast.Call):
            count += names.called_name(item) in ("where", "select", "graphmend_select")
        if count > MAX_TESTS:
            return True
        todo.extend(ast.iter_child_nodes(item))
    return False


_MADE = "Prepare both sides in the first call, and select on the device"
_PREPARED = "Prepare both sides in every call, and select on the device"

Chosen = tuple[str, str, str, bool]
"""A name, its text on either side, and whether the sides' metadata is proved equal."""


class _Statement(InPlace, Returns):
    def __init__(self, site: Site, node: ast.If) -> None:
        super().__init__(site)
        self.node = node

    def run(self) -> Plan:
        node = self.node
        if raises_only(node):
            self.plan.refuse("unsupported", "a guard is no selection", node)
            return self.finish()
        if _has_many_tests(node):
            self.plan.refuse("control-flow", f"more than {MAX_TESTS} tests in one branch would all be computed", node)
            return self.finish()
        branch = self.site.branch
        self.prepare(node, branch.before if branch is not None else {})
        self._obstacles()
        if any(isinstance(s, ast.Return) for s in self._inside()):
            if not self.plan.fatal:
                self.returns()
            return self.finish()
        if not self.in_place():
            self._assignments()
        return self.finish()

    def _inside(self) -> list[ast.stmt]:
        """Statements of the branch, those of nested ``if``s included."""
        found: list[ast.stmt] = []
        todo: list[ast.stmt] = [*self.node.body, *self.node.orelse]
        while todo:
            stmt = todo.pop(0)
            found.append(stmt)
            if isinstance(stmt, ast.If):
                todo[:0] = [*stmt.body, *stmt.orelse]
        return found

    def _obstacles(self) -> None:
        """Control flow and bindings that a selection cannot express."""
        outer = scope.outer_names(self.function)
        refuse = self.plan.refuse
        for stmt in self._inside():
            if isinstance(stmt, (ast.Break, ast.Continue)):
                word = "break" if isinstance(stmt, ast.Break) else "continue"
                refuse("control-flow", f"`{word}` decides how often the loop runs", stmt)
            elif isinstance(stmt, (ast.For, ast.While, ast.AsyncFor)):
                refuse("control-flow", "a loop inside the branch", stmt)
            elif isinstance(stmt, ast.Raise):
                refuse("control-flow", "the branch raises after other work", stmt)
            elif isinstance(stmt, (ast.With, ast.Try, ast.AsyncWith, ast.Match)):
                refuse("unsupported", "the branch holds a `with`, `try` or `match`", stmt)
            elif isinstance(stmt, (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)):
                refuse("state-write", "the branch changes what names mean", stmt)
            elif isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and scope.writes(stmt) & outer:
                refuse("state-write", f"`{self.short(stmt)}` changes a name of an outer scope", stmt)
            elif isinstance(stmt, ast.Return) and self.site.event.context.loops:
                refuse("control-flow", "the branch returns from inside a loop", stmt)
            elif isinstance(stmt, ast.Return) and (self.site.event.context.tries or self.site.event.context.withs):
                refuse("control-flow", "the branch returns from inside a `try` or `with`", stmt)
            elif isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                refuse("unsupported", "the branch defines a function or class", stmt)
            elif isinstance(stmt, ast.Delete):
                refuse("unbound-name", f"`{self.short(stmt)}` unbinds a name on one path", stmt)
            elif isinstance(stmt, ast.Assert):
                refuse("may-raise", f"`{self.short(stmt)}` is checked only if the branch is taken", stmt)
            elif any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk(stmt)) and isinstance(stmt, ast.Expr):
                refuse("control-flow", "the branch decides what is yielded", stmt)
                refuse("shape", "the number of yielded values depends on the data", stmt)
            elif any(isinstance(n, ast.NamedExpr) for n in walk(stmt)) and not isinstance(stmt, ast.If):
                refuse("unsupported", f"`{self.short(stmt)}` binds a name inside an expression", stmt)

    # -- assignments -------------------------------------------------------------------------------

    def _assignments(self) -> None:
        node = self.node
        test = self.site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        endings = self.endings()
        self.prepares = bool(endings)
        then = self.arm(node.body[: len(node.body) - len(endings)], "new")
        other = self.arm(node.orelse[: len(node.orelse) - len(endings)], "other")
        wanted = {name for ending in endings for name in ending.shared}
        rebound = {ending.name for ending in endings}
        chosen = [
            made
            for name in dict.fromkeys([*then.versions, *other.versions])
            if (name in wanted or (name not in rebound and self._is_read_after(name)))
            and (made := self._target(name, then, other)) is not None
        ]
        self._shared_between(chosen, then, other)
        for ending in endings:
            self.prove(ending, then, other, inline=len(endings) == 1 and not chosen and not self.hoisted)
        if condition.differs and other.versions:
            self.plan.refuse("may-raise", "the other side may not fit where the shapes differ", node)
        if not chosen and not any(e.pairs for e in endings) and not self.plan.fatal:
            self.plan.refuse("unsupported", "the branch assigns nothing that is read later", node)
        if self.hoisted and condition.static:
            self.plan.refuse("unsupported", "the test has a static part, and the sides prepare something", node)
        if self.plan.only_heavy and len(chosen) == 1 and not self.lines and not condition.python and not endings:
            self._cond(condition, chosen[0])
        elif not self.plan.fatal:
            lines = self._lines(condition, chosen, endings)
            if not self.plan.fatal:
                self.plan.replacements.append(Replacement(node, node, tuple(lines)))
        if any(ending.pairs for ending in endings):
            lazy = any(isinstance(stmt, ast.If) for stmt in self.hoisted.values())
            self.plan.title = _MADE if lazy else _PREPARED if self.hoisted else ENDED

    def _shared_between(self, chosen: list[Chosen], then: Arm, other: Arm) -> None:
        """Two names of one tensor become two tensors."""
        for arm in (then, other):
            values = {name: arm.values.get(name, self.before.get(name)) for name, *_ in chosen}
            for index, name in enumerate(values):
                for second in list(values)[index + 1 :]:
                    shared = all_roots(values[name]) & all_roots(values[second])
                    flows = self.site.facts.flows
                    roots = [("join", id(self.node), n) for n in (name, second)]
                    if shared and any(flows.get(root) for root in roots):
                        message = f"`{name}` and `{second}` are one tensor on one path, and would be two"
                        self.plan.issues.append(Issue("alias", message, self.node, fatal=False))

    def _is_read_after(self, name: str) -> bool:
        return not self.temporary(name) and scope.read_after(self.function, self.node, name)

    def _target(self, name: str, then: Arm, other: Arm) -> Chosen | None:
        """One name both sides must agree on; None for one that has no value on either."""
        node = self.node
        old = self.before.get(name)
        one_sided = name not in then.versions or name not in other.versions
        if one_sided and (old is None or old.unbound):
            self.plan.refuse("unbound-name", f"`{name}` has no value where the branch is not taken", node)
            return None
        self.loose = self.loose or (one_sided and name in self.optional.loose)
        new_value: Value = then.values.get(name, old or UNKNOWN)
        old_value: Value = other.values.get(name, old or UNKNOWN)
        proved = self.metadata(new_value, old_value, node, f"`{name}`")
        proved = proved and then.proved.get(name, True) and other.proved.get(name, True)
        root: Root = ("join", id(node), name)
        issue = alias_issue(self.site, root, [new_value, old_value], node, f"`{name}`")
        if issue is not None:
            self.plan.issues.append(issue)
        return name, then.versions.get(name, name), other.versions.get(name, name), proved

    # -- writing -----------------------------------------------------------------------------------

    def _lines(self, condition: Condition, chosen: list[Chosen], endings: list[Ending]) -> list[str]:
        node = self.node
        room = self.room(node) - (len(self.unit.expandtabs(4)) if condition.static else 0)
        body = [part for line in self.lines for part in line.split("\n")]
        text, exact = condition.text, condition.exact
        assigned = {name for name, *_ in chosen} | {e.name for e in endings}
        several = len(chosen) + sum(len(e.pairs) for e in endings) > 1 or any(not e.pairs for e in endings[:-1])
        early = bool(self.hoisted) and self.reads_state(node.test)
        if (several and (not text.isidentifier() or text in assigned)) or early:
            name = self.fresh(names.from_expression(node.test))
            body.insert(0 if early else len(body), f"{name} = {text}")
            text = name
        body[:0] = condition.before
        rows = [(name, *self.selection(text, exact, new, old, proved)) for name, new, old, proved in chosen]
        if _must_be_simultaneous(chosen):
            left = ", ".join(name for name, *_ in rows)
            parts = [f"{function}({', '.join(arguments)})" for _, function, arguments in rows]
            flat = f"{left} = {', '.join(parts)}"
            body += [flat] if len(flat) <= room else [f"{left} = (", *(f"{self.unit}{part}," for part in parts), ")"]
        else:
            for name, function, arguments in rows:
                body += call(f"{name} = ", function, arguments, room=room, indent=self.unit)
        for ending in endings:
            body += self.ending_lines(ending, text, exact, room)
        return self._guarded(condition, body)

    def _guarded(self, condition: Condition, body: list[str]) -> list[str]:
        """The static part of the test stays a Python ``if`` around the selection."""
        if not condition.static:
            return body
        lines = [f"if {' and '.join(condition.static)}:", *(self.unit + line if line else line for line in body)]
        if self.node.orelse:
            lines += ["else:", *self.else_source()]
        return lines

    def else_source(self) -> list[str]:
        """The ``else`` block as it is, for where the static part does not hold."""
        lines: list[str] = []
        for stmt in self.node.orelse:
            source = self.site.source(stmt)
            source = source[2:] if source.startswith("elif") else source
            lines += reindent(source, self.indent_of(stmt), self.unit)
        return lines

    def _cond(self, condition: Condition, chosen: Chosen) -> None:
        """Heavy sides: ``torch.cond`` computes only the chosen one; slower in eager, so never by default."""
        name, new, old, _ = chosen
        self.plan.kind = "cond"
        self.plan.torch = True
        lines = self.cond_call(f"{name} = ", condition, new, old, self.node)
        self.plan.replacements.append(Replacement(self.node, self.node, tuple(self._guarded(condition, lines))))


def _must_be_simultaneous(chosen: list[Chosen]) -> bool:
    """Whether a selection reads a name that an earlier one has assigned."""
    assigned: list[str] = []
    for name, new, old, _ in chosen:
        if any(names.used_as_name(part, other) for part in (new, old) for other in assigned):
            return True
        assigned.append(name)
    return False
