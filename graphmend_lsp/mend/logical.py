"""[Logical]: ``a and b`` of truths on the device, whose result is kept, becomes ``torch.logical_and(a, b)``.

Python gives one of the operands; where all are new tensors of one truth each, a new one with the same truth is no
other thing.  The later operands are computed on every call then, so they have to be pure and total.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.legality import Legality
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.mend.spelling import torch_name

ORDER = 9
KIND = "logical"


def applies(site: Site) -> bool:
    """Whether a finding is one of ``and`` or ``or`` between tensors whose result is one of them."""
    node = site.event.node
    return site.code == "GM103" and isinstance(node, ast.BoolOp) and site.value(node).kind is Kind.TENSOR


def propose(site: Site) -> list[Offer | Refusal]:
    node = site.event.node
    if not applies(site) or not isinstance(node, ast.BoolOp):
        return []
    refusal = _refused(site, node)
    if refusal is not None:
        return [refusal]
    return [Offer(KIND, f"Combine with `{torch_name(site)[0]}.{_function(node)}`", "safe")]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    node = site.event.node
    if not isinstance(node, ast.BoolOp):
        return Refusal(offer.kind, "unsupported", "there is no such test")
    torch, needed = torch_name(site)
    text = one_line(site.source(node.values[0]))
    for later in node.values[1:]:
        text = f"{torch}.{_function(node)}({text}, {one_line(site.source(later))})"
    return Draft((ExpressionReplacement(node, text),), needs_torch=needed)


def _function(node: ast.BoolOp) -> str:
    return "logical_and" if isinstance(node.op, ast.And) else "logical_or"


def _refused(site: Site, node: ast.BoolOp) -> Refusal | None:
    for part in node.values:
        text = one_line(site.source(part))
        for facts in (site.facts, *site.others):
            value = facts.values.get(id(part), UNKNOWN)
            if value.kind is not Kind.TENSOR or value.mixed or value.array or value.null is not Null.NEVER:
                return Refusal(KIND, "unsupported", f"`{text}` is not known to be a tensor")
            if value.dtype != "bool" or value.shape != ():
                return Refusal(KIND, "dtype", f"`{text}` is not known to be one truth: Python gives the tensor itself")
            if not isinstance(part, (ast.Compare, ast.Call)) or any(root[0] != "op" for root in value.roots):
                return Refusal(KIND, "alias", f"`{text}` is another name's tensor, which the result may be")
        if "\n" in text:
            return Refusal(KIND, "unsupported", "a comment stands inside the test")
    for later in node.values[1:]:
        check = Legality(site.engine, site.facts, site.function, no_grad=True)
        check.check(later)
        if check.issues:
            return Refusal(KIND, check.issues[0].reason, check.issues[0].message)
    return None
