"""[Masked]: ``x[mask] += 1`` becomes a selection written back into ``x`` (dynamo-facts, section E).

``x.copy_(torch.where(mask, x + 1, x))`` reads and writes the same storage, in the same dtype, and leaves what is not
masked bit for bit as it was.  The mask has to have the shape of ``x``, and what is added or multiplied is a number
with which the rest of ``x`` has finite gradients, too.  ``x[mask] = y[mask]`` likewise becomes
``x.copy_(torch.where(mask, y, x))``, where ``x`` and ``y`` are alike, and so does ``x[mask] = y[mask] * 2 + 1``.
"""

from __future__ import annotations

import ast
import math

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.base import visible
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, Replacement, Site
from graphmend_lsp.mend.sources import one_line, replaced
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.model.walk import walk

ORDER = 6
KIND = "masked"
_INTEGERS = frozenset("uint8 int8 int16 int32 int64".split())
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def propose(site: Site) -> list[Offer | Refusal]:
    made = _update(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    title = "Select with `torch.where`, and write it back"
    owner = _owner(site)
    changes: list[tuple[Reason, str]] = []
    if any(visible(facts.values.get(id(owner), UNKNOWN).roots) for facts in (site.facts, *site.others)):
        text = (
            f"`{site.source(owner)}` comes from outside: if it is expanded, so that elements share a place, it raises"
        )
        changes.append(("alias", text))
    stmt = site.event.stmt
    if isinstance(stmt, ast.Assign) and any(
        _may_round(facts, owner, stmt.value) for facts in (site.facts, *site.others)
    ):
        text = f"if `{site.source(owner)}` holds integers, what is written is cut off, instead of an exception"
        changes.append(("may-raise", text))
    if not changes:
        return [Offer(KIND, title, "safe")]
    offer = Offer(KIND, title, "unsafe", "; ".join(text for _, text in changes), tuple(reason for reason, _ in changes))
    return [offer, *(Refusal(KIND, *change) for change in changes)]


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
    if site.code == "GM501" and isinstance(stmt, ast.Assign) and any(n is site.event.node for n in walk(stmt.value)):
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
    """``x[mask] = y[mask]``, or what is computed of such elements, as a selection."""
    target = stmt.targets[0]
    if len(stmt.targets) > 1 or not isinstance(target, ast.Subscript):
        return None
    owner, mask = target.value, target.slice
    reads = _reads(stmt.value, ast.dump(mask))
    if reads is None or not reads:
        return None
    names = [n.id for n in (owner, *(read.value for read in reads)) if isinstance(n, ast.Name)]
    if not isinstance(owner, ast.Name) or len(names) <= len(reads) or not any(_plain(mask, name) for name in names):
        return Refusal(KIND, "unsupported", "what is written, or its mask, is not written plainly")
    for facts in (site.facts, *site.others):
        refusal = _fits(facts, owner, mask)
        for read in reads:
            refusal = refusal or _alike(facts, owner, read.value)
        value = facts.values.get(id(owner), UNKNOWN)
        if stmt.value is not reads[0] and (
            value.dtype == "bool" or (value.dtype in _INTEGERS and _may_round(facts, owner, stmt.value))
        ):
            refusal = refusal or Refusal(KIND, "dtype", f"`{owner.id}` holds other numbers than what is written")
        if refusal is not None:
            return refusal
    new = one_line(replaced(site, stmt.value, [(read, site.source(read.value)) for read in reads]))
    if "\n" in new:
        return Refusal(KIND, "unsupported", "a comment stands inside what is written")
    return f"{owner.id}.copy_({torch_name(site)[0]}.where({site.source(mask)}, {new}, {owner.id}))"


def _reads(node: ast.expr, mask: str) -> list[ast.Subscript] | None:
    """The elements that a mask chooses, in sums and multiples of them.

    These are exact for each element, and keep nothing of it for the backward pass: what is written after that may be
    the tensor that was read.
    """
    if isinstance(node, ast.Subscript):
        return [node] if ast.dump(node.slice) == mask else None
    if _number(node) is not None:
        return []
    if isinstance(node, ast.UnaryOp):
        return _reads(node.operand, mask) if isinstance(node.op, ast.USub) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _reads(node.left, mask), _reads(node.right, mask)
        if left is None or right is None or (isinstance(node.op, ast.Mult) and left and right):
            return None
        return left + right
    return None


def _may_round(facts: Facts, owner: ast.expr, new: ast.expr) -> bool:
    """Whether a float is written in what is computed, beside tensors that are not known to hold floats."""
    written = any(isinstance(_number(n), float) for n in walk(new) if isinstance(n, ast.Constant))
    return written and not tensors.is_floating(facts.values.get(id(owner), UNKNOWN).dtype)


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
