"""[Mask]: ``x[torch.where(mask)] = 0`` becomes ``x[mask] = 0``, which does not count the elements that it writes.

``nonzero(as_tuple=True)`` is the same.  Where the mask is not known to have the shape of ``x`` it is unsafe: the places
of a mask of another shape may still lie in ``x``.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.base import visible
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.model.walk import children, own_nodes, walk

ORDER = 8
KIND = "mask"


def propose(site: Site) -> list[Offer | Refusal]:
    mask = _mask(site)
    if mask is None:
        return []
    text = one_line(site.source(mask))
    owners = _written(site)
    if not owners or "\n" in text or not _is_mask(site, mask):
        return []
    title = f"Index with the mask itself: `{text}`"
    contexts = (site.facts, *site.others)
    if all(_fits(facts, owner, mask) for facts in contexts for owner in owners):
        return [Offer(KIND, title, "safe")]
    changes = f"a mask of another shape than `{site.source(owners[0])}` raises, though its places may lie inside"
    return [Offer(KIND, title, "unsafe", changes, ("may-raise",)), Refusal(KIND, "may-raise", changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    mask, node = _mask(site), site.event.node
    if mask is None or not isinstance(node, ast.expr):
        return Refusal(offer.kind, "unsupported", "there is no such index")
    return Draft((ExpressionReplacement(node, one_line(site.source(mask))),))


def _mask(site: Site) -> ast.expr | None:
    """The mask whose places a call lists, one list for each dimension."""
    node = site.event.node
    if site.code != "GM501" or not isinstance(node, ast.Call):
        return None
    name = site.module.dotted(node.func) or ""
    as_tuple = [k.arg for k in node.keywords] == ["as_tuple"] and _is_true(node.keywords[0].value)
    if len(node.args) == 1 and (
        (name == "torch.where" and not node.keywords) or (name == "torch.nonzero" and as_tuple)
    ):
        return node.args[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "nonzero" and as_tuple and not node.args:
        return node.func.value
    return None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _written(site: Site) -> list[ast.expr]:
    """The tensors that written numbers are stored into at these places; none if the places are used otherwise."""
    nodes = [site.function.node, *own_nodes(site.function.node)]
    parents = {id(child): node for node in nodes for child in children(node)}
    parent = parents.get(id(site.event.node))
    uses: list[ast.AST] = [site.event.node]
    if isinstance(parent, ast.Assign):
        name = parent.targets[0]
        if len(parent.targets) > 1 or not isinstance(name, ast.Name) or name.id in site.facts.params:
            return []
        same = [n for n in walk(site.function.node) if isinstance(n, ast.Name) and n.id == name.id]
        uses = [n for n in same if isinstance(n.ctx, ast.Load)]
        if len(same) - len(uses) > 1:
            return []
    owners = [_store(parents, use) for use in uses]
    return [owner for owner in owners if owner is not None] if None not in owners else []


def _store(parents: dict[int, ast.AST], use: ast.AST) -> ast.expr | None:
    """The tensor of ``x[use] = number``."""
    place = parents.get(id(use))
    if not isinstance(place, ast.Subscript) or place.slice is not use or not isinstance(place.ctx, ast.Store):
        return None
    stmt = parents.get(id(place))
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) > 1:
        return None
    value = stmt.value.operand if isinstance(stmt.value, ast.UnaryOp) else stmt.value
    written = isinstance(value, ast.Constant) and isinstance(value.value, (int, float))
    return place.value if written and isinstance(place.value, (ast.Name, ast.Attribute)) else None


def _is_mask(site: Site, mask: ast.expr) -> bool:
    """Whether it is a tensor of truths, and stays what it is: a name would be the same tensor."""
    for facts in (site.facts, *site.others):
        value = facts.values.get(id(mask), UNKNOWN)
        if value.kind is not Kind.TENSOR or value.array or value.mixed or value.dtype != "bool":
            return False
        written = any(flow.kind in ("write", "call") for root in value.roots for flow in facts.flows.get(root, ()))
        if written and not isinstance(mask, ast.Compare):
            return False
    return True


def _fits(facts: Facts, owner: ast.expr, mask: ast.expr) -> bool:
    value, chosen = facts.values.get(id(owner), UNKNOWN), facts.values.get(id(mask), UNKNOWN)
    if value.kind is not Kind.TENSOR or value.shape is None or visible(value.roots):
        return False
    return value.shape == chosen.shape and value.device is not None and value.device == chosen.device
