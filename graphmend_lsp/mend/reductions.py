"""[Masked reduction]: ``x[mask].sum()`` becomes ``torch.where(mask, x, 0).sum()`` (dynamo-facts, section E).

What the mask leaves out is replaced by what does not count: 0 in a sum, False in ``any``, True in ``all``.  A mean is
the sum over the count.  The truth of ``any`` and ``all``, and sums of integers, are the same in any order; sums of
floating-point numbers round by it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend import quiet
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line, operand
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.model.walk import walk

ORDER = 7
KIND = "reduction"
_NEUTRAL = {"sum": "0", "mean": "0", "any": "False", "all": "True"}
_WHOLE = frozenset("bool uint8 int8 int16 int32 int64".split())


@dataclass(frozen=True)
class _Made:
    node: ast.Call
    text: str
    changes: tuple[tuple[Reason, str], ...]


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None:
        return []
    title = f"Select with torch.where: `{made.text}`"
    if not made.changes:
        return [Offer(KIND, title, "safe")]
    reasons: tuple[Reason, ...] = tuple(dict.fromkeys(reason for reason, _ in made.changes))
    changes = "; ".join(text for _, text in made.changes)
    return [Offer(KIND, title, "unsafe", changes, reasons), *(Refusal(KIND, *change) for change in made.changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None:
        return Refusal(offer.kind, "unsupported", "there is no such reduction")
    return Draft((ExpressionReplacement(made.node, made.text),), needs_torch=torch_name(site)[1])


def _made(site: Site) -> _Made | None:
    node = site.event.node
    if site.code != "GM501" or not isinstance(node, ast.Subscript):
        return None
    call = _reduction(site, node)
    if call is None or not _plain(node.slice):
        return None
    if any(isinstance(n, ast.Call) and quiet.changes(site, n) is not None for n in walk(node.value)):
        return None  # the mask is computed first now
    chosen = [facts.values.get(id(node.value), UNKNOWN) for facts in (site.facts, *site.others)]
    masks = [facts.values.get(id(node.slice), UNKNOWN) for facts in (site.facts, *site.others)]
    for value, mask in zip(chosen, masks, strict=True):
        if value.kind is not Kind.TENSOR or value.array or value.mixed or mask.kind is not Kind.TENSOR or mask.mixed:
            return None
        if mask.dtype != "bool":
            return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    text, mask_text = one_line(site.source(node.value)), one_line(site.source(node.slice))
    if "\n" in text or "\n" in mask_text:
        return None
    whole = f"{torch_name(site)[0]}.where({mask_text}, {text}, {_NEUTRAL[name]})"
    made = f"{whole}.sum() / {operand(node.slice, mask_text)}.sum()" if name == "mean" else f"{whole}.{name}()"
    changes: list[tuple[Reason, str]] = []
    pairs = list(zip(chosen, masks, strict=True))
    if not all(v.shape is not None and v.shape == m.shape and v.device == m.device for v, m in pairs):
        changes.append(("shape", f"`{mask_text}` must have the shape of `{text}` and lie beside it"))
    if name == "mean":
        changes.append(("dtype", "the sum rounds otherwise, and may overflow in half precision"))
        if not all(tensors.is_floating(value.dtype) for value in chosen):
            changes.append(("may-raise", "integers have a mean, instead of an exception"))
    elif name == "sum" and not all(value.dtype in _WHOLE for value in chosen):
        changes.append(("dtype", "the sum rounds otherwise"))
    return _Made(call, f"({made})" if name == "mean" and _is_operand(site, call) else made, tuple(changes))


def _reduction(site: Site, node: ast.Subscript) -> ast.Call | None:
    """The call that reduces what is chosen, to one number."""
    for item in walk(site.event.stmt):
        if not isinstance(item, ast.Call) or item.keywords or not isinstance(item.func, ast.Attribute):
            continue
        if item.func.attr not in _NEUTRAL:
            continue
        if item.func.value is node and not item.args:
            return item
        if item.args == [node] and site.module.dotted(item.func) == f"torch.{item.func.attr}":
            return item
    return None


def _plain(mask: ast.expr) -> bool:
    """What may be computed twice, and a little earlier: names, and comparisons of names and numbers."""
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, (ast.Invert, ast.USub)):
        return _plain(mask.operand)
    if isinstance(mask, ast.Compare):
        return len(mask.ops) == 1 and _plain(mask.left) and _plain(mask.comparators[0])
    return isinstance(mask, (ast.Name, ast.Constant))


def _is_operand(site: Site, call: ast.Call) -> bool:
    """Whether the call is a part of an expression that binds closer than a division."""
    for item in walk(site.event.stmt):
        if isinstance(item, (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Await, ast.Starred)):
            if any(child is call for child in ast.iter_child_nodes(item)):
                return True
    return False
