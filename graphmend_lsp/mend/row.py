"""[Row]: ``x[i]`` with a computed index becomes ``x[i.reshape(1)].squeeze(0)``, which is not read to the host.

An index tensor with one dimension stays on the device.  ``x[i]`` is a view of ``x``, the other a copy: so it must only
be computed with, and ``x`` never be written.  Strides, and the exception for an index that is out of range, are the
same; inductor's is another one, so it is safe for what ``argmax`` and ``argmin`` give only.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.ops import function_fact, method_fact
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line, operand
from graphmend_lsp.model.walk import children, own_nodes

ORDER = 8
KIND = "row"
_CHANGES = "an index that is out of range raises another exception under inductor"


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return [] if made is None else [made]
    title = f"Index with a tensor of one dimension: `{made}`"
    if _in_range(site):
        return [Offer(KIND, title, "safe")]
    return [Offer(KIND, title, "unsafe", _CHANGES, ("may-raise",)), Refusal(KIND, "may-raise", _CHANGES)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such index")
    assert isinstance(site.event.node, ast.expr)
    return Draft((ExpressionReplacement(site.event.node, made),))


def _made(site: Site) -> str | Refusal | None:
    """The new expression."""
    node = site.event.node
    if site.code != "GM402" or site.event.name != "index" or not isinstance(node, ast.Subscript):
        return None
    if isinstance(node.slice, (ast.Tuple, ast.Slice)) or not isinstance(node.ctx, ast.Load):
        return None
    for facts in (site.facts, *site.others):
        owner, index = facts.values.get(id(node.value), UNKNOWN), facts.values.get(id(node.slice), UNKNOWN)
        if owner.kind is not Kind.TENSOR or owner.array or owner.mixed or index.kind is not Kind.TENSOR or index.mixed:
            return Refusal(KIND, "unsupported", f"`{site.source(node)}` is not known to be a row of a tensor")
        if owner.device is None or owner.device != index.device:
            return Refusal(KIND, "unsupported", f"`{site.source(node.slice)}` may lie on another device")
        if index.shape != () or index.dtype != "int64":
            return Refusal(KIND, "dtype", f"`{site.source(node.slice)}` is not known to be one integer")
        if any(flow.kind in ("write", "call") for root in owner.roots for flow in facts.flows.get(root, ())):
            return Refusal(KIND, "alias", f"`{site.source(node.value)}` may be written, and the row is a view of it")
        if not _Uses(site, facts).computes(node):
            return Refusal(KIND, "alias", "the row is a view, and is not only computed with")
    index = one_line(site.source(node.slice))
    return f"{site.source(node.value)}[{operand(node.slice, index)}.reshape(1)].squeeze(0)"


def _in_range(site: Site) -> bool:
    """Whether the index is where something is largest or smallest."""
    node = site.event.node
    index = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(index, ast.Name):
        given = [
            stmt.value
            for stmt in own_nodes(site.function.node)
            if isinstance(stmt, ast.Assign) and any(isinstance(t, ast.Name) and t.id == index.id for t in stmt.targets)
        ]
        stores = [
            n
            for n in own_nodes(site.function.node)
            if isinstance(n, ast.Name) and n.id == index.id and not isinstance(n.ctx, ast.Load)
        ]
        index = given[0] if len(given) == len(stores) == 1 else None
    if not isinstance(index, ast.Call) or not isinstance(index.func, ast.Attribute):
        return False
    return index.func.attr in ("argmax", "argmin")


class _Uses:
    """What becomes of a view."""

    def __init__(self, site: Site, facts: Facts) -> None:
        self._site = site
        self._facts = facts
        nodes = [site.function.node, *own_nodes(site.function.node)]
        self._names = [node for node in nodes if isinstance(node, ast.Name)]
        self._parents = {id(child): node for node in nodes for child in children(node)}

    def computes(self, node: ast.expr) -> bool:
        """Whether it is only an operand of what gives new tensors."""
        parent = self._parents.get(id(node))
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
            if len(parent.targets) > 1 or not isinstance(target, ast.Name) or parent.value is not node:
                return False
            same = [name for name in self._names if name.id == target.id]
            used = [name for name in same if isinstance(name.ctx, ast.Load)]
            parameters = self._facts.params
            once = len(same) - len(used) == 1 and target.id not in parameters
            return once and all(not self._is_assigned(name) and self.computes(name) for name in used)
        if isinstance(parent, (ast.BinOp, ast.Compare)):
            return True
        if isinstance(parent, ast.UnaryOp):
            return isinstance(parent.op, (ast.USub, ast.Invert))
        if isinstance(parent, ast.AugAssign):
            return parent.value is node
        if isinstance(parent, ast.Attribute):
            outer = self._parents.get(id(parent))
            fact = method_fact(parent.attr)
            called = isinstance(outer, ast.Call) and outer.func is parent
            return called and fact is not None and fact.alias == "no" and not fact.mutates and not fact.inplace_view
        if isinstance(parent, ast.Call):
            name = self._site.module.dotted(parent.func) or ""
            fact = function_fact(name) if name.startswith("torch.") else None
            return fact is not None and fact.alias == "no" and not fact.mutates and not parent.keywords
        return False

    def _is_assigned(self, name: ast.Name) -> bool:
        return isinstance(self._parents.get(id(name)), ast.Assign)
