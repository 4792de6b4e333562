"""[Classes]: ``one_hot`` is told how many classes there are, where another call in the function tells (section E).

Without ``num_classes`` it is one more than the largest label, which only the device knows.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.values import Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.model.walk import own_nodes

ORDER = 35
KIND = "classes"
_ONE_HOT = frozenset({"torch.nn.functional.one_hot", "torch._C._nn.one_hot"})


def propose(site: Site) -> list[Offer | Refusal]:
    call = _call(site)
    if call is None:
        return []
    count = _count(site, call)
    if count is None:
        return [Refusal(KIND, "shape", "how many classes there are is not written in the function: pass `num_classes`")]
    changes = f"the result always has `{count}` columns, and a label that is not below it raises"
    title = f"Pass `num_classes={count}`, as another call here does"
    return [Offer(KIND, title, "unsafe", changes, ("shape", "may-raise"))]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    call = _call(site)
    count = _count(site, call) if call is not None else None
    if call is None or count is None:
        return Refusal(offer.kind, "unsupported", "there is no number of classes")
    parts = [one_line(site.source(part)) for part in (call.func, call.args[0])]
    return Draft((ExpressionReplacement(call, f"{parts[0]}({parts[1]}, num_classes={count})"),))


def _call(site: Site) -> ast.Call | None:
    node = site.event.node
    if site.code != "GM501" or not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    return node if site.module.dotted(node.func) in _ONE_HOT else None


def _count(site: Site, call: ast.Call) -> str | None:
    """The number of classes that all other calls in the function are given: a name, an attribute or a number."""
    found: set[str] = set()
    for node in own_nodes(site.function.node):
        if not isinstance(node, ast.Call) or node is call or site.module.dotted(node.func) not in _ONE_HOT:
            continue
        given = {k.arg: k.value for k in node.keywords}.get("num_classes")
        given = node.args[1] if given is None and len(node.args) > 1 else given
        if given is None:
            continue
        root = given
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, (ast.Name, ast.Constant)) or site.value(given).kind is Kind.TENSOR:
            return None
        if isinstance(root, ast.Name) and root.id in site.function.stores:
            return None  # it may be another number, or none yet, at this call
        found.add(site.source(given))
    return found.pop() if len(found) == 1 else None
