"""[Bins]: ``torch.bincount(x, minlength=n)`` becomes an addition into ``n`` zeros, whose length is known.

``bincount`` looks at the data for larger values, which make the result longer.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.mend.spelling import torch_name

ORDER = 36
KIND = "bins"


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None:
        return []
    count = made[1]
    changes = f"the result always has `{count}` elements, and what is not below it raises"
    title = f"Add into `{count}` zeros with `scatter_add_`"
    return [Offer(KIND, title, "unsafe", changes, ("shape", "may-raise")), Refusal(KIND, "shape", changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or not isinstance(site.event.node, ast.expr):
        return Refusal(offer.kind, "unsupported", "the number of bins is not known")
    return Draft((ExpressionReplacement(site.event.node, made[0]),), needs_torch=torch_name(site)[1])


def _made(site: Site) -> tuple[str, str] | None:
    """The new call, and the number of bins."""
    node = site.event.node
    if site.code != "GM501" or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "bincount":
        return None
    function = site.module.dotted(node.func) == "torch.bincount"
    arguments = list(node.args) if function else [node.func.value, *node.args]
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(arguments) != 1 or set(given) != {"minlength"} or not isinstance(arguments[0], (ast.Name, ast.Attribute)):
        return None
    count = given["minlength"]
    for facts in (site.facts, *site.others):
        value = facts.values.get(id(arguments[0]), UNKNOWN)
        if value.kind is not Kind.TENSOR or value.array or value.mixed:
            return None
        if facts.values.get(id(count), UNKNOWN).kind is Kind.TENSOR:
            return None
    values, size, torch = site.source(arguments[0]), one_line(site.source(count)), torch_name(site)[0]
    if "\n" in size:
        return None
    zeros = f"{torch}.zeros({size}, dtype={torch}.int64, device={values}.device)"
    return f"{zeros}.scatter_add_(0, {values}.long(), {torch}.ones_like({values}, dtype={torch}.int64))", size
