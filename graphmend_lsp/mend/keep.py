"""[Keep]: a number that is taken out of a tensor only for arithmetic with tensors stays a tensor (dynamo-facts, E).

``x / y.max().item()`` becomes ``x / y.max().detach()``.  Never safe: a Python number is a double, which rounds
otherwise, and it never decides the result's type where a tensor may.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.mend.uses import only_beside_tensors

ORDER = 30
KIND = "keep"
_CHANGES = "the arithmetic is done in the tensor's own precision, which may also decide the type of the result"
_OUTSIDE = ", and a value that the function is not defined for gives NaN instead of an exception"
_FUNCTIONS = frozenset(
    f"math.{name}"
    for name in "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc lgamma".split()
)
"""Functions of one number that torch has under the same name."""


def propose(site: Site) -> list[Offer | Refusal]:
    made = _kept(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    changes = _CHANGES + (_OUTSIDE if site.event.name in _FUNCTIONS else "")
    title = f"Keep it a tensor: `{made}`"
    return [Offer(KIND, title, "unsafe", changes, ("dtype",)), Refusal(KIND, "dtype", changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _kept(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no number")
    assert isinstance(site.event.node, ast.expr)
    needs_torch = site.event.name in _FUNCTIONS and torch_name(site)[1]
    return Draft((ExpressionReplacement(site.event.node, made),), needs_torch=needs_torch)


def _kept(site: Site) -> str | Refusal | None:
    """What stands for the number, or why nothing can."""
    node = site.event.node
    if site.code != "GM401" or not isinstance(node, ast.Call):
        return None
    if site.event.name == "item" and isinstance(node.func, ast.Attribute):
        inner = node.func.value
    elif site.event.name in ("float", *_FUNCTIONS) and len(node.args) == 1 and not node.keywords:
        inner = node.args[0]
    else:
        return Refusal(KIND, "host-value", f"`{site.source(node)}` is needed as a value of Python")
    if not only_beside_tensors(site, node, through_numbers=True):
        return Refusal(KIND, "host-value", "the number is used for more than arithmetic with tensors")
    if not all(_one_number(facts, inner) for facts in (site.facts, *site.others)):
        return Refusal(KIND, "shape", f"`{site.source(inner)}` is not known to have no dimensions")
    text = site.source(inner)
    if site.event.name in _FUNCTIONS:
        return f"{torch_name(site)[0]}.{site.event.name.removeprefix('math.')}({text}).detach()"
    if not isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        text = f"({text})"
    return f"{text}.detach()"


def _one_number(facts: Facts, node: ast.expr) -> bool:
    value = facts.values.get(id(node), UNKNOWN)
    return value.kind is Kind.TENSOR and value.shape == () and not value.array
