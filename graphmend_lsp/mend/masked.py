"""[Masked]: ``x[mask] += 1`` becomes a selection written back into ``x`` (dynamo-facts, section E).

``x.copy_(torch.where(mask, x + 1, x))`` reads and writes the same storage, in the same dtype, and leaves what is not
masked bit for bit as it was.  The mask has to have the shape of ``x``, and what is added or multiplied is a number
with which the rest of ``x`` has finite gradients, too.  ``x[mask] = y[mask]`` likewise becomes
``x.copy_(torch.where(mask, y, x))``, where ``x`` and ``y`` are alike.
"""

from __future__ import annotations

import ast
import math

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.base import visible
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
    title = "Select with `torch.where`, and write it back"
    owner = _owner(site)
    if not any(visible(facts.values.get(id(owner), UNKNOWN).roots) for facts in (site.facts, *site.others)):
        return [Offer(KIND, title, "safe")]
    changes = f"`{site.source(owner)}` comes from outside: if it is expanded, so that elements share a place, it raises"
    return [Offer(KIND, title, "unsafe", changes, ("alias",)), Refusal(KIND, "alias", changes)]


def _owner(site: Site) -> ast.expr:
    """What is written into."""
    stmt = site.event.stmt
    target = (
        stmt.target if isinstance(stmt, ast.AugAssign) else stmt.targets[0] if isinstance(stmt, ast.Assign) else None
    )
    assert isinstance(target, ast.Subscript)
    return target.value


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _update(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such update")
    return Draft((Replacement(site.event.stmt, site.event.stmt, (made,)),), needs_torch=torch_name(site)[1])


def _update(site: Site) -> str | Refusal | None:
    """The new line, or why there is none."""
    stmt = site.event.stmt
    if site.code == "GM501" and isinstance(stmt, ast.Assign) and stmt.value is site.event.node:
        return _moved(site, stmt)
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


def _moved(site: Site, stmt: ast.Assign) -> str | Refusal | None:
    """``x[mask] = y[mask]`` as a selection."""
    target, value = stmt.targets[0], stmt.value
    if len(stmt.targets) > 1 or not isinstance(target, ast.Subscript) or not isinstance(value, ast.Subscript):
        return None
    owner, source, mask = target.value, value.value, target.slice
    if ast.dump(mask) != ast.dump(value.slice):
        return None
    names = [n.id for n in (owner, source) if isinstance(n, ast.Name)]
    if not isinstance(owner, ast.Name) or len(names) < 2 or not any(_plain(mask, name) for name in names):
        return Refusal(KIND, "unsupported", "what is written, or its mask, is not written plainly")
    for facts in (site.facts, *site.others):
        refusal = _fits(facts, owner, mask) or _alike(facts, owner, source)
        if refusal is not None:
            return refusal
    text = site.source(mask)
    return f"{owner.id}.copy_({torch_name(site)[0]}.where({text}, {names[1]}, {owner.id}))"


def _alike(facts: Facts, owner: ast.Name, source: ast.expr) -> Refusal | None:
    """Whether each element of one may be taken from the other, without another type or a broadcast."""
    value, other = facts.values.get(id(owner), UNKNOWN), facts.values.get(id(source), UNKNOWN)
    if other.kind is not Kind.TENSOR or other.array or other.mixed or value.mixed:
        return Refusal(KIND, "unsupported", f"`{owner.id}` and what is written into it are not known to be tensors")
    if value.shape != other.shape:
        return Refusal(KIND, "shape", "what is written is not known to have the shape of what it is written into")
    if value.dtype is None or value.dtype != other.dtype:
        return Refusal(KIND, "dtype", "what is written is not known to have the dtype of what it is written into")
    if value.device is None or value.device != other.device:
        return Refusal(KIND, "unsupported", "what is written may lie on another device")
    return None


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


def _fits(facts: Facts, owner: ast.Name, mask: ast.expr) -> Refusal | None:
    value, chosen = facts.values.get(id(owner), UNKNOWN), facts.values.get(id(mask), UNKNOWN)
    if value.kind is not Kind.TENSOR or value.array or chosen.kind is not Kind.TENSOR or chosen.dtype != "bool":
        return Refusal(KIND, "unsupported", f"`{owner.id}` and its mask are not known to be tensors")
    if value.shape is None or value.shape != chosen.shape:
        return Refusal(KIND, "shape", "the mask is not known to have the shape of what it selects from")
    if chosen.device is None or value.device != chosen.device:
        return Refusal(KIND, "unsupported", "the mask may lie on another device, where only indexing can use it")
    if tensors.may_overlap(value.shape):
        return Refusal(KIND, "alias", f"elements of `{owner.id}` may share their place in memory")
    return None


def _legal(facts: Facts, owner: ast.Name, mask: ast.expr, number: float) -> Refusal | None:
    refusal = _fits(facts, owner, mask)
    value = facts.values.get(id(owner), UNKNOWN)
    if refusal is not None:
        return refusal
    if value.dtype == "bool":
        return Refusal(KIND, "dtype", f"`{owner.id}` holds truth values")
    if isinstance(number, float) and not tensors.is_floating(value.dtype):
        return Refusal(KIND, "dtype", f"`{owner.id}` is not known to hold floating-point numbers")
    return None
