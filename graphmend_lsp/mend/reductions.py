"""[Masked reduction]: ``x[mask].sum()`` becomes ``torch.where(mask, x, 0).sum()`` (dynamo-facts, section E).

What the mask leaves out is replaced by what does not count: 0 in a sum, False in ``any``, True in ``all``.  A mean is
the sum over the count.  The truth of ``any`` and ``all``, and sums of integers, are the same in any order; sums of
floating-point numbers round by it.

What is computed of the elements before (``(x[mask] - y[mask]).abs().mean()``) may be what is 0 for 0.  The selection
stands before whatever has a slope of its own: a NaN that the mask leaves out has no part in the gradient then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind, Value
from graphmend_lsp.mend import quiet
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.mend.sources import one_line, operand, replaced, replacements
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.model.walk import children, own_nodes, walk

ORDER = 7
KIND = "reduction"
_NEUTRAL = {"sum": "0", "mean": "0", "any": "False", "all": "True"}
_WHOLE = frozenset("bool uint8 int8 int16 int32 int64".split())
_ZERO_AT_ZERO = frozenset("abs square sqrt pow relu tanh sin sign neg expm1 log1p float double".split())
"""Methods and functions of torch, of each element alone, that give 0 for 0."""
_CASTS = frozenset({"float", "double"})
_LOSSES = frozenset(f"torch.nn.functional.{name}_loss" for name in ("mse", "l1", "smooth_l1", "huber"))
"""Losses of differences: 0 where both are 0."""
_NUMBERS = frozenset({Kind.PYTHON, Kind.SCALAR})


@dataclass(frozen=True)
class _Made:
    """The expressions that are replaced, the first of which is shown, and what changes."""

    cuts: tuple[tuple[ast.expr, str], ...]
    changes: tuple[tuple[Reason, str], ...]


@dataclass(frozen=True)
class _Reduction:
    """A call that makes one number of ``inside``; of a loss, of the two that it compares."""

    call: ast.Call
    name: str
    inside: tuple[ast.expr, ...]


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None:
        return []
    title = f"Select with torch.where: `{made.cuts[0][1]}`"
    if not made.changes:
        return [Offer(KIND, title, "safe")]
    reasons: tuple[Reason, ...] = tuple(dict.fromkeys(reason for reason, _ in made.changes))
    changes = "; ".join(text for _, text in made.changes)
    return [Offer(KIND, title, "unsafe", changes, reasons), *(Refusal(KIND, *change) for change in made.changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None:
        return Refusal(offer.kind, "unsupported", "there is no such reduction")
    parents = _parents(site.function.node)
    return Draft(tuple(replacements(site, parents, made.cuts)), needs_torch=torch_name(site)[1])


def _parents(root: ast.AST) -> dict[int, ast.AST]:
    return {id(child): node for node in [root, *own_nodes(root)] for child in children(node)}


def _made(site: Site) -> _Made | None:
    node = site.event.node
    if site.code != "GM501" or not isinstance(node, ast.expr):
        return None
    read = masked_read(site, node)
    if read is None or not plain_mask(read[1]):
        return None
    selection = _Selection(site, read[1])
    parents = _parents(site.function.node)
    reduction = _reduction(site, parents, node)
    made = _named(site, selection, parents, node) if reduction is None else _direct(site, selection, parents, reduction)
    if made is None or any("\n" in text for _, text in made) or not selection.is_plain():
        return None
    reduced = [reduction] if reduction is not None else [_reduction(site, parents, cut) for cut in _loads(site, made)]
    changes = [change for each in reduced if each is not None for change in selection.changes(each)]
    return _Made(tuple(made), tuple(dict.fromkeys(changes)))


def masked_read(site: Site, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """A tensor and the mask that chooses from it: ``x[mask]``, ``masked_select``."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "masked_select":
        return None
    if len(node.args) == 1:
        return node.func.value, node.args[0]
    if len(node.args) == 2 and site.module.dotted(node.func) == "torch.masked_select":
        return node.args[0], node.args[1]
    return None


def plain_mask(mask: ast.expr) -> bool:
    """What may be computed twice, and a little earlier: names, and comparisons of names and numbers."""
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, (ast.Invert, ast.USub)):
        return plain_mask(mask.operand)
    if isinstance(mask, ast.Compare):
        return len(mask.ops) == 1 and plain_mask(mask.left) and plain_mask(mask.comparators[0])
    return isinstance(mask, (ast.Name, ast.Constant))


def _direct(
    site: Site, selection: _Selection, parents: Mapping[int, ast.AST], reduction: _Reduction
) -> list[tuple[ast.expr, str]] | None:
    text = selection.reduced(reduction)
    if text is None:
        return None
    quotient = reduction.name == "mean" and _is_operand(parents, reduction.call)
    return [(reduction.call, f"({text})" if quotient else text)]


def _named(
    site: Site, selection: _Selection, parents: Mapping[int, ast.AST], node: ast.expr
) -> list[tuple[ast.expr, str]] | None:
    """``chosen = x[mask]``, of which only reductions are computed."""
    stmt = site.event.stmt
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) > 1 or not isinstance(stmt.targets[0], ast.Name):
        return None
    if not isinstance(selection.mask, ast.Name) or not _is_constant(site, selection.mask):
        return None
    first = selection.zero(stmt.value)
    name = stmt.targets[0].id
    same = [n for n in walk(site.function.node) if isinstance(n, ast.Name) and n.id == name]
    loads = [n for n in same if isinstance(n.ctx, ast.Load)]
    if first is None or len(same) - len(loads) > 1 or not loads or name in site.facts.params:
        return None
    selection.chosen = name
    made: list[tuple[ast.expr, str]] = [(stmt.value, first)]
    for load in loads:
        reduction = _reduction(site, parents, load)
        text = None if reduction is None else selection.reduced(reduction)
        if reduction is None or text is None:
            return None
        quotient = reduction.name == "mean" and _is_operand(parents, reduction.call)
        if all(call is not reduction.call for call, _ in made):
            made.append((reduction.call, f"({text})" if quotient else text))
    return made


def _loads(site: Site, made: Iterable[tuple[ast.expr, str]]) -> list[ast.expr]:
    """What is reduced in each of the expressions but the first."""
    stmt = site.event.stmt
    name = stmt.targets[0].id if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name) else ""
    return [n for call, _ in list(made)[1:] for n in walk(call) if isinstance(n, ast.Name) and n.id == name]


def _is_constant(site: Site, mask: ast.Name) -> bool:
    """Whether a name is the same mask wherever the function says it."""
    stores = [
        n
        for n in own_nodes(site.function.node)
        if isinstance(n, ast.Name) and n.id == mask.id and not isinstance(n.ctx, ast.Load)
    ]
    if len(stores) + (mask.id in site.facts.params) != 1:
        return False
    return not any(
        flow.kind == "write"
        for facts in (site.facts, *site.others)
        for root in facts.values.get(id(mask), UNKNOWN).roots
        for flow in facts.flows.get(root, ())
    )


def _reduction(site: Site, parents: Mapping[int, ast.AST], node: ast.expr) -> _Reduction | None:
    """The call that reduces what is computed of ``node``, to one number."""
    while True:
        parent = parents.get(id(node))
        if isinstance(parent, (ast.BinOp, ast.Compare)):
            node = parent
        elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            node = parent
        elif isinstance(parent, ast.Attribute):
            call = parents.get(id(parent))
            if not isinstance(call, ast.Call) or call.func is not parent:
                return None
            if parent.attr in _NEUTRAL and not call.args and not call.keywords:
                return _Reduction(call, parent.attr, (node,))
            if parent.attr not in _ZERO_AT_ZERO:
                return None
            node = call
        elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
            name = site.module.dotted(parent.func) or ""
            last = name.removeprefix("torch.")
            if last in _NEUTRAL and parent.args == [node] and not parent.keywords:
                return _Reduction(parent, last, (node,))
            if name in _LOSSES and len(parent.args) == 2 and _reduces(parent) is not None:
                return _Reduction(parent, _reduces(parent) or "", tuple(parent.args))
            if last not in _ZERO_AT_ZERO or node is not parent.args[0]:
                return None
            node = parent
        else:
            return None


def _reduces(loss: ast.Call) -> str | None:
    """How a loss reduces: ``mean`` or ``sum``."""
    given = {keyword.arg: keyword.value for keyword in loss.keywords}
    how = given.pop("reduction", ast.Constant("mean"))
    if not set(given) <= {"beta", "delta"} or not isinstance(how, ast.Constant):
        return None
    return how.value if how.value in ("mean", "sum") else None


class _Selection:
    """Expressions of elements that a mask chooses, as expressions of all elements that are 0 where it does not."""

    def __init__(self, site: Site, mask: ast.expr) -> None:
        self.site = site
        self.mask = mask
        self.chosen = ""
        """The name of what is chosen, once it is 0 elsewhere."""
        self._mask = one_line(site.source(mask))
        self._dump = ast.dump(mask)
        self._where = f"{torch_name(site)[0]}.where"
        self._owners: dict[int, ast.expr] = {}

    def reduced(self, reduction: _Reduction) -> str | None:
        """The text of a reduction of all elements."""
        name = reduction.name
        if len(reduction.inside) == 2:
            return self._loss(reduction)
        (inside,) = reduction.inside
        neutral = _NEUTRAL[name]
        text = self._selected(inside, neutral) if name in ("any", "all") else None
        if text is None and name != "all":
            text = self.zero(inside)
        if text is None:
            return None
        text = self._operand(text)
        return f"{text}.sum() / {self.count()}" if name == "mean" else f"{text}.{name}()"

    def count(self) -> str:
        return f"{operand(self.mask, self._mask)}.sum()"

    def _operand(self, text: str) -> str:
        return operand(ast.parse(text, mode="eval").body, text)

    def _loss(self, reduction: _Reduction) -> str | None:
        parts = [self.zero(part) for part in reduction.inside]
        if None in parts:
            return None
        call = reduction.call
        given = [f"{k.arg}={self.site.source(k.value)}" for k in call.keywords if k.arg != "reduction"]
        arguments = ", ".join([*(part for part in parts if part), *given, 'reduction="sum"'])
        text = f"{self.site.source(call.func)}({arguments})"
        return f"{text} / {self.count()}" if reduction.name == "mean" else text

    def zero(self, node: ast.expr) -> str | None:
        """An expression with 0 where the mask is not."""
        if isinstance(node, ast.Name) and node.id == self.chosen:
            return node.id
        selected = self._selected(node, "0")
        if selected is not None:
            return selected
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.zero(node.operand)
            return inner and f"-{self._operand(inner)}"
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self._is_pointwise(node):
            function = bool(node.args) and (self.site.module.dotted(node.func) or "").startswith("torch.")
            inner = self.zero(node.args[0] if function else node.func.value)
            rest = [one_line(self.site.source(arg)) for arg in node.args[1 if function else 0 :]]
            if inner is None:
                return None
            if function:
                return f"{self.site.source(node.func)}({', '.join([inner, *rest])})"
            return f"{self._operand(inner)}.{node.func.attr}({', '.join(rest)})"
        return None

    def _binary(self, node: ast.BinOp) -> str | None:
        left, right = node.left, node.right
        if isinstance(node.op, (ast.Pow, ast.Div)):
            inner = self.zero(left) if _positive(right) else None
            sign = "**" if isinstance(node.op, ast.Pow) else "/"
            return inner and f"{self._operand(inner)} {sign} {self.site.source(right)}"
        if not isinstance(node.op, ast.Mult):
            return None
        sides = [self.site.source(side) if self._is_number(side) else self.zero(side) for side in (left, right)]
        if sides[0] is None or sides[1] is None:
            return None
        return f"{self._operand(sides[0])} * {self._operand(sides[1])}"

    def _selected(self, node: ast.expr, neutral: str) -> str | None:
        """The elements of a sum or comparison where the mask is, and what does not count elsewhere."""
        if isinstance(node, ast.Compare):
            if len(node.ops) > 1 or not self._is_affine(node.left) or not self._is_affine(node.comparators[0]):
                return None
            neutral = neutral if neutral == "True" else "False"
        elif not self._is_affine(node):
            return None
        reads = self._reads(node)
        if not reads:
            return None
        cuts = [(read, operand(owner, one_line(self.site.source(owner)))) for read, owner in reads if read is not owner]
        text = one_line(self.site.source(reads[0][1]))
        if node is not reads[0][0]:
            text = one_line(replaced(self.site, node, cuts))
        return f"{self._where}({self._mask}, {text}, {neutral})"

    def _reads(self, node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """What is chosen by the mask in an expression, and what it is chosen from."""
        found: list[tuple[ast.expr, ast.expr]] = []
        todo: list[ast.AST] = [node]
        while todo:
            item = todo.pop()
            read = self._read(item)
            if read is not None and isinstance(item, ast.expr):
                found.append((item, read))
                self._owners[id(read)] = read
            else:
                todo.extend(children(item))
        return found

    def _read(self, node: ast.AST) -> ast.expr | None:
        if isinstance(node, ast.Name):
            return node if node.id == self.chosen else None
        read = masked_read(self.site, node) if isinstance(node, (ast.Subscript, ast.Call)) else None
        return read[0] if read is not None and ast.dump(read[1]) == self._dump else None

    def _is_affine(self, node: ast.expr) -> bool:
        """Sums and multiples of what is chosen: a selection behind them has their gradient."""
        if self._read(node) is not None or self._is_number(node):
            return True
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and self._is_affine(node.operand)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Add, ast.Sub)):
                return self._is_affine(node.left) and self._is_affine(node.right)
            if isinstance(node.op, ast.Mult) and self._is_number(node.left):
                return self._is_affine(node.right)
            return (
                isinstance(node.op, (ast.Mult, ast.Div)) and self._is_affine(node.left) and self._is_number(node.right)
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            return node.func.attr in _CASTS and self._is_affine(node.func.value)
        return False

    def _is_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        value = self.site.value(node)
        return (
            isinstance(node, (ast.Name, ast.Attribute)) and value.kind in _NUMBERS and value.dtype in ("int", "float")
        )

    def _is_pointwise(self, node: ast.Call) -> bool:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        rest = node.args[1:] if (self.site.module.dotted(node.func) or "") == f"torch.{name}" else node.args
        plain = all(_positive(arg) for arg in rest) and (len(rest) == (name == "pow"))
        return name in _ZERO_AT_ZERO and plain and not node.keywords

    def _pairs(self) -> list[tuple[Value, Value]]:
        contexts: list[Facts] = [self.site.facts, *self.site.others]
        return [
            (facts.values.get(id(owner), UNKNOWN), facts.values.get(id(self.mask), UNKNOWN))
            for facts in contexts
            for owner in self._owners.values()
            if not (isinstance(owner, ast.Name) and owner.id == self.chosen)
        ]

    def is_plain(self) -> bool:
        """Whether all are tensors, of as many dimensions as far as that is known, that can be made after the mask."""
        for value, mask in self._pairs():
            if (
                value.kind is not Kind.TENSOR
                or value.array
                or value.mixed
                or mask.kind is not Kind.TENSOR
                or mask.mixed
            ):
                return False
            token: Any = mask.shape
            rows = isinstance(token, tuple) and token[:2] == ("reduced", value.shape)
            if mask.dtype != "bool" or rows:
                return False
        calls = [n for owner in self._owners.values() for n in walk(owner) if isinstance(n, ast.Call)]
        return not any(quiet.changes(self.site, call) is not None for call in calls)

    def changes(self, reduction: _Reduction) -> list[tuple[Reason, str]]:
        pairs = self._pairs()
        changes: list[tuple[Reason, str]] = []
        others = [o for o in self._owners.values() if not (isinstance(o, ast.Name) and o.id == self.chosen)]
        if not all(v.shape is not None and v.shape == m.shape and v.device == m.device for v, m in pairs):
            texts = " and ".join(dict.fromkeys(f"`{one_line(self.site.source(owner))}`" for owner in others))
            changes.append(("shape", f"`{self._mask}` must have the shape of {texts} and lie beside it"))
        only = len(reduction.inside) == 1 and self._read(reduction.inside[0]) is not None
        if reduction.name == "mean":
            changes.append(("dtype", "the sum rounds otherwise, and may overflow in half precision"))
            if not all(tensors.is_floating(value.dtype) for value, _ in pairs) and not self._casts(reduction):
                changes.append(("may-raise", "integers have a mean, instead of an exception"))
        elif reduction.name == "sum" and not (only and all(value.dtype in _WHOLE for value, _ in pairs)):
            changes.append(("dtype", "the sum rounds otherwise"))
        return changes

    def _casts(self, reduction: _Reduction) -> bool:
        inside = reduction.inside[0]
        return isinstance(inside, ast.Call) and isinstance(inside.func, ast.Attribute) and inside.func.attr in _CASTS


def _positive(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _is_operand(parents: Mapping[int, ast.AST], call: ast.Call) -> bool:
    """Whether the call is a part of an expression that binds closer than a division."""
    parent = parents.get(id(call))
    if isinstance(parent, ast.BinOp):
        return not isinstance(parent.op, (ast.Add, ast.Sub))
    return isinstance(parent, (ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Await, ast.Starred))
