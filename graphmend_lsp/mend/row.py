"""[Row]: ``x[i]`` with a computed index becomes ``x[i.reshape(1)].squeeze(0)``, which is not read to the host.

An index tensor with one dimension stays on the device.  ``x[i]`` is a view of ``x``, the other a copy: so it must only
be computed with, and ``x`` never be written.  Strides, and the exception for an index that is out of range, are the
same; inductor's is another one, so it is safe for what ``argmax`` and ``argmin`` give only.

``i = int(scores.argmax())`` that only picks such rows stays a tensor, and so does the ``i`` of ``x[:, i]``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.ops import function_fact, method_fact
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.mend.sources import one_line, operand, replacements
from graphmend_lsp.model.walk import children, own_nodes, walk

ORDER = 8
KIND = "row"
_CHANGES = "an index that is out of range raises another exception under inductor"


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return [] if made is None else [made]
    title = f"Index with a tensor of one dimension: `{made.shown}`"
    if made.in_range:
        return [Offer(KIND, title, "safe")]
    return [Offer(KIND, title, "unsafe", _CHANGES, ("may-raise",)), Refusal(KIND, "may-raise", _CHANGES)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such index")
    nodes = [site.function.node, *own_nodes(site.function.node)]
    parents = {id(child): node for node in nodes for child in children(node)}
    return Draft(tuple(replacements(site, parents, made.cuts)))


@dataclass(frozen=True)
class _Made:
    """What is replaced, the row that is shown, and whether the index is one of what it is used on."""

    cuts: tuple[tuple[ast.expr, str], ...]
    shown: str
    in_range: bool


def _made(site: Site) -> _Made | Refusal | None:
    node = site.event.node
    if site.code == "GM401":
        return _read(site, node) if isinstance(node, ast.Call) else None
    if site.code != "GM402" or site.event.name != "index" or not isinstance(node, ast.Subscript):
        return None
    index = _index(node)
    if index is None:
        return None
    row = _row(site, node, index, index)
    return _Made(((node, row),), row, _in_range(site, index)) if isinstance(row, str) else row


def _read(site: Site, call: ast.Call) -> _Made | None:
    """``int(i)`` or ``i.item()`` of which nothing but rows is made."""
    if site.event.name == "item" and isinstance(call.func, ast.Attribute):
        inner = call.func.value
    elif site.event.name == "int" and len(call.args) == 1 and not call.keywords:
        inner = call.args[0]
    else:
        return None
    nodes = [site.function.node, *own_nodes(site.function.node)]
    parents = {id(child): node for node in nodes for child in children(node)}
    parent = parents.get(id(call))
    cuts: list[tuple[ast.expr, str]] = []
    uses: list[ast.expr] = [call]
    if isinstance(parent, ast.Assign):
        name = parent.targets[0]
        if len(parent.targets) > 1 or not isinstance(name, ast.Name) or name.id in site.facts.params:
            return None
        same = [n for n in walk(site.function.node) if isinstance(n, ast.Name) and n.id == name.id]
        uses = [n for n in same if isinstance(n.ctx, ast.Load)]
        if len(same) - len(uses) > 1 or not uses:
            return None
        cuts.append((call, one_line(site.source(inner))))
    rows: list[str] = []
    for use in uses:
        outer = parents.get(id(use))
        outer = parents.get(id(outer)) if isinstance(outer, ast.Tuple) else outer
        if not isinstance(outer, ast.Subscript) or _index(outer) is not use:
            return None
        row = _row(site, outer, use, inner)
        if row is None or isinstance(row, Refusal):
            return None
        rows.append(row)
        cuts.append((outer, row))
    return _Made(tuple(cuts), rows[0], _in_range(site, inner))


def _index(node: ast.Subscript) -> ast.expr | None:
    """The one index of ``x[i]``, or of ``x[:, i]`` behind slices."""
    if not isinstance(node.ctx, ast.Load):
        return None
    *before, index = node.slice.elts if isinstance(node.slice, ast.Tuple) and node.slice.elts else [node.slice]
    if isinstance(index, (ast.Slice, ast.Tuple)) or not all(isinstance(part, ast.Slice) for part in before):
        return None
    return index


def _row(site: Site, node: ast.Subscript, index: ast.expr, tensor: ast.expr) -> str | Refusal | None:
    """The new expression of a row; ``tensor`` is the index on the device."""
    for facts in (site.facts, *site.others):
        owner, place = facts.values.get(id(node.value), UNKNOWN), facts.values.get(id(tensor), UNKNOWN)
        if owner.kind is not Kind.TENSOR or owner.array or owner.mixed or place.kind is not Kind.TENSOR or place.mixed:
            return Refusal(KIND, "unsupported", f"`{site.source(node)}` is not known to be a row of a tensor")
        if owner.device is None or owner.device != place.device:
            return Refusal(KIND, "unsupported", f"`{site.source(index)}` may lie on another device")
        if place.shape != () or place.dtype != "int64":
            return Refusal(KIND, "dtype", f"`{site.source(index)}` is not known to be one integer")
        if any(flow.kind in ("write", "call") for root in owner.roots for flow in facts.flows.get(root, ())):
            return Refusal(KIND, "alias", f"`{site.source(node.value)}` may be written, and the row is a view of it")
        if not _Uses(site, facts).computes(node):
            return Refusal(KIND, "alias", "the row is a view, and is not only computed with")
    shown = index if isinstance(index, ast.Name) else tensor
    text = f"{operand(shown, one_line(site.source(shown)))}.reshape(1)"
    before = node.slice.elts[:-1] if isinstance(node.slice, ast.Tuple) else []
    places = ", ".join([*(site.source(part) for part in before), text])
    return f"{site.source(node.value)}[{places}].squeeze({len(before)})"


def _in_range(site: Site, index: ast.expr) -> bool:
    """Whether the index is where something is largest or smallest."""
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
        if len(given) != 1 or len(stores) != 1:
            return False
        index = given[0]
    name = index.func.attr if isinstance(index, ast.Call) and isinstance(index.func, ast.Attribute) else ""
    return name in ("argmax", "argmin")


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
