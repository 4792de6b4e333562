"""[Block]: ``cache[start : start + n] = k`` becomes ``cache.index_copy_(0, start + torch.arange(n, ...), k)``.

The bounds of a slice are Python numbers, an index is not.  The block has to fit: a slice is cut to what is there, and
what is written may be broadcast or converted, where ``index_copy_`` raises.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, Replacement, Site
from graphmend_lsp.mend.layout import call, indent_unit, line_width
from graphmend_lsp.mend.sources import one_line, operand
from graphmend_lsp.mend.spelling import torch_name

ORDER = 36
KIND = "block"


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None:
        return []
    owner, value = made[0], made[4]
    changes = (
        f"`{value}` must have the dtype of `{owner}` and just the shape of the block, and the block must lie inside "
        f"`{owner}`: else it raises, where a slice is cut and what is written is converted or broadcast"
    )
    title = f"Write the block with `{owner}.index_copy_`"
    return [Offer(KIND, title, "unsafe", changes, ("may-raise", "dtype", "exception-type"))]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None:
        return Refusal(offer.kind, "unsupported", "there is no such block")
    owner, dimension, start, count, value = made
    torch, needed = torch_name(site)
    stmt = site.event.stmt
    raw = site.chunk.raw_text(stmt.lineno)
    indent = raw[: len(raw) - len(raw.lstrip())].expandtabs(4)
    text = site.module.parsed.text
    places = f"{start} + {torch}.arange({count}, device={owner}.device)"
    room = line_width(text) - len(indent)
    lines = call("", f"{owner}.index_copy_", [str(dimension), places, value], room=room, indent=indent_unit(text))
    return Draft((Replacement(stmt, stmt, tuple(lines)),), needs_torch=needed)


def _made(site: Site) -> tuple[str, int, str, str, str] | None:
    """What is written, along which dimension, from where, how many, and what."""
    stmt = site.event.stmt
    if site.code != "GM402" or site.event.name != "slice" or not isinstance(stmt, ast.Assign) or len(stmt.targets) > 1:
        return None
    target = stmt.targets[0]
    if not isinstance(target, ast.Subscript) or not _plain(target.value) or not _plain(stmt.value):
        return None
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    found = [at for at, part in enumerate(parts) if not _is_all(part)]
    if len(found) != 1 or not isinstance(parts[found[0]], ast.Slice):
        return None
    part = parts[found[0]]
    assert isinstance(part, ast.Slice)
    start, count = part.lower, _count(part)
    if start is None or count is None or part.step is not None or not _plain(start):
        return None
    for facts in (site.facts, *site.others):
        owner, value = facts.values.get(id(target.value), UNKNOWN), facts.values.get(id(stmt.value), UNKNOWN)
        first, number = facts.values.get(id(start), UNKNOWN), facts.values.get(id(count), UNKNOWN)
        if not all(v.kind is Kind.TENSOR and not v.mixed and not v.array for v in (owner, value, first)):
            return None
        if number.kind is not Kind.PYTHON or number.dtype != "int":
            return None
    texts = [one_line(site.source(node)) for node in (target.value, start, count, stmt.value)]
    return texts[0], found[0], operand(start, texts[1]), texts[2], texts[3]


def _count(part: ast.Slice) -> ast.expr | None:
    """``n`` of ``start : start + n``."""
    upper, lower = part.upper, part.lower
    if not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or lower is None:
        return None
    if ast.dump(upper.left) == ast.dump(lower):
        return upper.right
    return upper.left if ast.dump(upper.right) == ast.dump(lower) else None


def _is_all(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is None and part.upper is None and part.step is None


def _plain(node: ast.expr) -> bool:
    """A name, an attribute, or an element of one at a constant: what may be read twice and in another order."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and _plain(node.value)
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
