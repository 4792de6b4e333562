"""Who could notice that a selected value is a new tensor and not one of the two it was selected from?"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.base import visible
from graphmend_lsp.flow.values import Root, Value, all_roots
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.model.walk import walk


def alias_issue(site: Site, joined: Root | None, sides: list[Value], node: ast.AST, what: str) -> Issue | None:
    """The obstacle, if one side is (a view of) something others hold and the result escapes or is written.

    ``joined`` is the root that marks the values flowing out of the branch; None where they are returned at once.
    """
    roots = frozenset[Root]().union(*(side.roots for side in sides))
    roots = frozenset(r for r in roots if r[0] != "join")
    flows = site.facts.flows
    kinds = {"return"} if joined is None else {flow.kind for flow in flows.get(joined, ())}
    if not kinds:
        return _written_elsewhere(site, roots, joined, node, what)
    if visible(roots):
        return Issue(
            "alias",
            f"{what} would be a new tensor where it was (a view of) an argument or attribute before",
            node,
            fatal=False,
        )
    if _held_elsewhere(site, roots, node) and kinds & {"return", "store", "write", "identity"}:
        return Issue(
            "alias",
            f"{what} would no longer share memory with another name that has the same tensor",
            node,
            fatal=False,
        )
    if kinds & {"write"} and len(roots) > 1 and _both_used(site, roots, node):
        return Issue(
            "alias", f"{what} is written in place later, and shares memory with another name", node, fatal=False
        )
    return None


def _held_elsewhere(site: Site, roots: frozenset[Root], node: ast.AST) -> bool:
    """Whether another name has the same storage when the branch begins."""
    branch = site.facts.branches.get(id(node))
    if branch is None:
        return False
    targets = {n.id for n in walk(branch.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for name, value in branch.before.items():
        if name not in targets and all_roots(value) & roots:
            return True
    return _stored_before(site, roots, node)


def _stored_before(site: Site, roots: frozenset[Root], node: ast.AST) -> bool:
    return escapes_before(site, roots, node, frozenset({"store"}))


def escapes_before(site: Site, roots: frozenset[Root], node: ast.AST, kinds: frozenset[str]) -> bool:
    """Whether an attribute, or something else that outlives the call, has the same storage when the branch begins."""
    begin = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    looped = bool(site.event.context.loops)
    return any(
        flow.kind in kinds and (looped or (flow.place.span.line, flow.place.span.column) < begin)
        for root in roots
        for flow in site.facts.flows.get(root, ())
    )


def _both_used(site: Site, roots: frozenset[Root], node: ast.AST) -> bool:
    return _held_elsewhere(site, roots, node)


def _written_elsewhere(
    site: Site, roots: frozenset[Root], joined: Root | None, node: ast.AST, what: str
) -> Issue | None:
    """The result is only computed with, but a storage it may have shared is written after the branch."""
    del joined
    end = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
    for root in roots:
        for flow in site.facts.flows.get(root, ()):
            if flow.kind != "write":
                continue
            span = flow.place.span
            if site.event.context.loops or (span.line, span.column) >= end:
                message = f"{what} may share memory with a tensor that is written in place later"
                return Issue("alias", message, node, fatal=False)
    return None
