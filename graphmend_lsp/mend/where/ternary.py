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
    writer.speculate(node.body)
    writer.speculate(node.orelse)
    proved = writer.metadata(new, old, node, f"`{writer.short(node)}`")
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
    other = writer.flat(node.orelse)
    function, arguments = writer.selection(condition.text, condition.exact, writer.flat(node.body), other, proved)
    text = f"{function}({', '.join(arguments)})"
    if condition.static:
        text += f" if {' and '.join(condition.static)} else {other}"
    plan.replacements.append(ExpressionReplacement(node, text))
    return writer.finish()
