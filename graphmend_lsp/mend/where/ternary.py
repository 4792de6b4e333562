"""``a if test else b`` on a tensor."""

from __future__ import annotations

import ast

from graphmend_lsp.mend.aliases import alias_issue
from graphmend_lsp.mend.base import ExpressionReplacement, Site
from graphmend_lsp.mend.where.plan import Plan, Writer


def ternary_plan(site: Site, node: ast.IfExp) -> Plan:
    writer = Writer(site)
    plan = writer.plan
    test = site.event.test
    condition = writer.condition(node.test, test.data if test is not None else ())
    new, old = site.value(node.body), site.value(node.orelse)
    proved = writer.metadata(new, old, node, f"`{writer.short(node)}`")
    writer.speculate(node.body)
    writer.speculate(node.orelse)
    if "\n" in site.source(node):
        plan.refuse("unsupported", "the expression is spread over several lines", node)
    if condition.before:
        plan.refuse("unsupported", "the test binds a name inside the expression", node)
    issue = alias_issue(site, ("join", id(node), ""), [new, old], node, "the result")
    if issue is not None:
        plan.issues.append(issue)
    if condition.differs and not isinstance(node.orelse, ast.Name):
        plan.refuse("may-raise", "the other side may not fit where the shapes differ", node)
    if plan.fatal:
        return writer.finish()
    text, exact = condition.text, condition.exact
    if condition.static:
        text, exact = " and ".join([*condition.static, condition.conjunct]), False
    function, arguments = writer.selection(text, exact, writer.flat(node.body), writer.flat(node.orelse), proved)
    plan.replacements.append(ExpressionReplacement(node, f"{function}({', '.join(arguments)})"))
    return writer.finish()
