"""``if test: x.mul_(v)`` -> ``x.copy_(torch.where(test, x * v, x))``: the same values, written on every call."""

from __future__ import annotations

import ast

from graphmend_lsp.flow.ops import method_fact
from graphmend_lsp.flow.values import Kind
from graphmend_lsp.mend.base import Replacement
from graphmend_lsp.mend.layout import call
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.mend.where.arms import Arms, renamed_bound


class InPlace(Arms):
    """One in-place call on an argument or local."""

    def in_place(self) -> bool:
        """Plan it if the branch has this form."""
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
        fact = method_fact(plain)
        if fact is None or fact.shape != "same" or fact.alias != "no":
            self.plan.refuse("shape", f"`{self.short(item)}` changes more than values", node)
            return True
        func = ast.copy_location(ast.Attribute(target, plain, ast.Load()), item.func)
        made = ast.copy_location(ast.Call(func, item.args, item.keywords), item)
        self.site.facts.values[id(func)] = renamed_bound(self.site.value(item.func), plain)
        self.speculate(made)
        test = self.site.event.test
        condition = self.condition(node.test, test.data if test is not None else ())
        name = target.id
        message = f"`{name}` is written on every call, with the same values: a leaf that requires grad is rejected"
        self.plan.issues.append(Issue("state-write", message, node, fatal=False))
        self.plan.issues.append(Issue("may-raise", message, node, fatal=False))
        if condition.static or condition.before or condition.python:
            self.plan.refuse("unsupported", "the test has a static part", node)
        if self.plan.fatal:
            return True
        self.plan.kind = "copy"
        arguments = [self.flat(a) for a in item.args] + [
            f"{k.arg}={self.flat(k.value)}" for k in item.keywords if k.arg
        ]
        new = f"{name}.{plain}({', '.join(arguments)})"
        function, parts = self.selection(condition.text, condition.exact, new, name, True)
        copied = f"{function}({', '.join(parts)})"
        line = call("", f"{name}.copy_", [copied], room=self.room(node), indent=self.unit)
        self.plan.replacements.append(Replacement(node, node, tuple(line)))
        return True
