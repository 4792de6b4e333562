"""[Masked]: ``x[mask] += 1`` becomes a selection written back into ``x`` (dynamo-facts, section E).

``x.copy_(torch.where(mask, x + 1, x))`` reads and writes the same storage, in the same dtype, and leaves what is not
masked bit for bit as it was.  The mask has to have the shape of ``x``, and what is added or multiplied is a number
with which the rest of ``x`` has finite gradients, too.
"""

from __future__ import annotations

import ast
import math

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, Replacement, Site
from graphmend_lsp.mend.spelling import torch_name

ORDER = 6
KIND = "masked"
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def propose(site: Site) -> list[Offer | Refusal]:
    made = _update(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    return [Offer(KIND, "Select with `torch.where`, and write it back", "safe")]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _update(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such update")
    return Draft((Replacement(site.event.stmt, site.event.stmt, (made,)),), needs_torch=torch_name(site)[1])


def _update(site: Site) -> str | Refusal | None:
    """The new line, or why there is none."""
    stmt = site.event.stmt
    if site.code != "GM501" or not isinstance(stmt, ast.AugAssign) or not isinstance(stmt.target, ast.Subscript):
        return None
    operator = _OPERATORS.get(type(stmt.op))
    if operator is None or site.event.node is not stmt.target:
        return Refusal(KIND, "unsupported", "only `+=`, `-=` and `*=` are selected")
    owner, mask = stmt.target.value, stmt.target.slice
    if not isinstance(owner, ast.Name) or not _plain(mask, owner.id):
        return Refusal(KIND, "unsupported", "what is updated, or its mask, is not written plainly")
    number = _number(stmt.value)
    if number is None:
        return Refusal(KIND, "gradient", f"`{site.source(stmt.value)}` is not a number that is written here")
    for facts in (site.facts, *site.others):
        refusal = _legal(facts, owner, mask, number)
        if refusal is not None:
            return refusal
    name, text = owner.id, site.source(mask)
    spelled = f"({site.source(stmt.value)})" if number < 0 else site.source(stmt.value)
    return f"{name}.copy_({torch_name(site)[0]}.where({text}, {name} {operator} {spelled}, {name}))"


def _plain(mask: ast.expr, owner: str) -> bool:
    """A name, or a comparison of the tensor itself: nothing that is computed from what else is written here."""
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        mask = mask.operand
    if isinstance(mask, ast.Name):
        return True
    return (
        isinstance(mask, ast.Compare)
        and len(mask.ops) == 1
        and isinstance(mask.left, ast.Name)
        and mask.left.id == owner
        and isinstance(mask.comparators[0], (ast.Constant, ast.Name))
    )


def _number(node: ast.expr) -> float | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return None
    return sign * node.value if math.isfinite(node.value) else None


def _legal(facts: Facts, owner: ast.Name, mask: ast.expr, number: float) -> Refusal | None:
    value, chosen = facts.values.get(id(owner), UNKNOWN), facts.values.get(id(mask), UNKNOWN)
    if value.kind is not Kind.TENSOR or value.array or chosen.kind is not Kind.TENSOR or chosen.dtype != "bool":
        return Refusal(KIND, "unsupported", f"`{owner.id}` and its mask are not known to be tensors")
    if value.shape is None or value.shape != chosen.shape:
        return Refusal(KIND, "shape", "the mask is not known to have the shape of what it selects from")
    if tensors.may_overlap(value.shape):
        return Refusal(KIND, "alias", f"elements of `{owner.id}` may share their place in memory")
    if value.dtype == "bool":
        return Refusal(KIND, "dtype", f"`{owner.id}` holds truth values")
    if isinstance(number, float) and not tensors.is_floating(value.dtype):
        return Refusal(KIND, "dtype", f"`{owner.id}` is not known to hold floating-point numbers")
    return None
