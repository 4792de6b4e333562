"""[Symbol] for loops over what is hit: while torch.compile traces, the loop goes through all.

Mixtures of experts loop over those that some token was sent to::

    expert_hit = torch.greater(expert_mask.sum(dim=(-1, -2)), 0).nonzero()
    for expert_idx in expert_hit:
        position, token = torch.where(expert_mask[expert_idx].squeeze(0))
        ...
        out.index_add_(0, token, ...)

How often such a loop runs is data.  For an expert that is not hit all that it does is done to no rows, so it may as
well run for each: ``graph_each(mask)`` of the runtime gives the numbers of those that are hit, and of all while
torch.compile traces.  Nothing else may be done in the loop, so that it does nothing for the others.  The experts that
are not hit get gradients of zeros where they had none, so it is unsafe, and offered only to those who ask for symbols
(``Settings.symbols``), without which the rows of each expert split the graph all the same.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.host import is_runtime
from graphmend_lsp.flow.values import Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Replacement, Site
from graphmend_lsp.mend.layout import flat
from graphmend_lsp.mend.sources import replacements
from graphmend_lsp.mend.spelling import runtime_name
from graphmend_lsp.mend.symbol import ASK, KIND, RELEASE
from graphmend_lsp.model.walk import children, own_nodes, walk

ORDER = 49
_CHANGES = (
    "compiled, the loop also runs for those that are not hit, with no rows: their parameters get gradients of zeros"
    " instead of none. `{mask}` must hold nothing negative"
)
_Edit = ExpressionReplacement | Replacement
_Cut = tuple[ast.expr, str]
"""An expression, and what is written in its place."""


@dataclass(frozen=True)
class Loop:
    """The search for what is hit, and the loop over it."""

    search: ast.Call
    hit: ast.expr
    """Which are hit: a mask."""
    mask: str
    """The tensor that says for each what is sent to it."""
    loop: ast.For
    name: str
    """What the loop calls the row of a number: ``tensor([3])``."""


def propose(site: Site) -> list[Offer | Refusal]:
    made = edits(site)
    if made is None:
        return []
    if not site.symbols:
        return [Refusal(KIND, "host-value", ASK)]
    loop, _ = made
    title = f"Loop over all while compiling: `for {loop.name} in {_each(site, loop)}:`"
    changes = _CHANGES.format(mask=loop.mask)
    return [Offer(KIND, title, "unsafe", changes, ("gradient",)), Refusal(KIND, "gradient", changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = edits(site)
    if made is None:
        return Refusal(offer.kind, "unsupported", "there is no such loop")
    return Draft(tuple(made[1]), runtime=("graph_each",))


def edits(site: Site) -> tuple[Loop, list[_Edit]] | None:
    """The loop and what is written in it, if it does nothing for what is not hit."""
    if site.code != "GM501" or site.engine.release < RELEASE or site.event.context.data_branches:
        return None
    loop = _loop(site)
    text = flat(site.source(loop.hit)) if loop is not None else None
    if loop is None or text is None or flat(site.source(loop.search)) is None:
        return None
    body = _Body(site, loop)
    cuts = body.cuts()
    if cuts is None:
        return None
    cuts += [(loop.search, text), (loop.loop.iter, _each(site, loop))]
    return loop, [*body.dropped(), *replacements(site, body.parents, cuts)]


def _each(site: Site, loop: Loop) -> str:
    return f"{runtime_name(site.module, 'graph_each')}({site.source(loop.loop.iter)})"


def _loop(site: Site) -> Loop | None:
    """``hit = (mask.sum(dim=(-1, -2)) > 0).nonzero()``, used once, by a loop."""
    call, stmt = site.event.node, site.event.stmt
    if not isinstance(call, ast.Call) or site.event.name.rpartition(".")[2] != "nonzero":
        return None
    if not isinstance(call.func, ast.Attribute) or call.args or any(_true(word.value) for word in call.keywords):
        return None
    if not isinstance(stmt, ast.Assign) or stmt.value is not call or len(stmt.targets) != 1:
        return None
    target, summed = stmt.targets[0], _positive(call.func.value)
    mask = _summed(summed) if summed is not None else None
    if not isinstance(target, ast.Name) or mask is None or not _has_three_dimensions(site, mask, stmt):
        return None
    nodes = list(walk(site.function.node))
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == target.id and n is not target]
    loops = [n for n in own_nodes(site.function.node) if isinstance(n, ast.For) and any(n.iter is use for use in uses)]
    if len(uses) != 1 or len(loops) != 1 or loops[0].orelse or not isinstance(loops[0].target, ast.Name):
        return None
    after = stmt.lineno < loops[0].lineno and not any(n is loops[0] for n in site.event.context.loops)
    return Loop(call, call.func.value, mask, loops[0], loops[0].target.id) if after else None


def _true(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and node.value is False)


def _positive(node: ast.expr) -> ast.expr | None:
    """What is compared with zero: ``torch.greater(x, 0)``, ``x > 0``."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Gt):
        return node.left if _is_zero(node.comparators[0]) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        given = node.args if len(node.args) == 2 else [node.func.value, *node.args]
        if node.func.attr in ("greater", "gt") and len(given) == 2 and _is_zero(given[1]):
            return given[0]
    return None


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _summed(node: ast.expr) -> str | None:
    """The name in ``mask.sum(dim=(-1, -2))``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "sum":
        return None
    dims = [*node.args, *(word.value for word in node.keywords)]
    named = [word.arg for word in node.keywords] in ([], ["dim"])
    if not named or len(dims) != 1 or not isinstance(node.func.value, ast.Name):
        return None
    return node.func.value.id if ast.dump(dims[0]) in _LAST_TWO else None


_LAST_TWO = {ast.dump(ast.parse(text, mode="eval").body) for text in ("(-1, -2)", "(-2, -1)", "(1, 2)", "(2, 1)")}


def _has_three_dimensions(site: Site, mask: str, before: ast.stmt) -> bool:
    """Whether a name is given ``x.permute(2, 1, 0)``, last before a statement, and nothing behind it."""
    given = [
        n
        for n in walk(site.function.node)
        if isinstance(n, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.For))
        for target in (n.targets if isinstance(n, ast.Assign) else [n.target])
        if any(isinstance(part, ast.Name) and part.id == mask for part in ast.walk(target))
    ]
    last = max(given, key=lambda n: n.lineno, default=None)
    if not isinstance(last, ast.Assign) or last.lineno >= before.lineno or not isinstance(last.targets[0], ast.Name):
        return False
    call = last.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "permute":
        return False
    return len(call.args) == 3 and not call.keywords and site.value(call).kind is Kind.TENSOR


class _Body:
    """What the loop does: whether only rows at the places of the mask are left of it, and how it uses its number."""

    def __init__(self, site: Site, loop: Loop) -> None:
        self._site = site
        self._loop = loop
        self.parents = {id(child): node for node in walk(site.function.node) for child in children(node)}
        self._stored: set[str] = {loop.name}
        self._loaded: set[str] = set()
        self._places: set[str] = set()
        body = loop.loop.body
        self._unpacked = body[0] if self._takes_number(body[0]) else None
        self._rest = body[1:] if self._unpacked is not None else body

    def cuts(self) -> list[_Cut] | None:
        """What is written in the loop for a number that was a row; None if the loop does more than add rows."""
        if not self._adds(self._rest) or not self._places or self._is_used_outside():
            return None
        made: dict[int, _Cut] = {}
        for stmt in self._rest:
            for node in walk(stmt):
                if isinstance(node, ast.Name) and node.id == self._loop.name:
                    cut = self._number(node)
                    if cut is False:
                        return None
                    if cut is not None:
                        made[id(cut[0])] = cut
        return list(made.values())

    def dropped(self) -> list[_Edit]:
        """The statement that takes the number of the row."""
        return [] if self._unpacked is None else [Replacement(self._unpacked, self._unpacked, ())]

    def _takes_number(self, stmt: ast.stmt) -> bool:
        """``i = i[0]``."""
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], ast.Name):
            return False
        return stmt.targets[0].id == self._loop.name and self._is_number(stmt.value)

    def _is_number(self, node: ast.AST | None) -> bool:
        """``i[0]``."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return False
        return node.value.id == self._loop.name and _is_zero(node.slice)

    def _adds(self, body: list[ast.stmt]) -> bool:
        return all(self._is_harmless(stmt) for stmt in body)

    def _is_harmless(self, stmt: ast.stmt) -> bool:
        """Whether a statement leaves nothing behind where no row is chosen."""
        if any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in walk(stmt)):
            return False
        loads = {n.id for n in walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(stmt, ast.If):
            known = not {n.id for n in walk(stmt.test) if isinstance(n, ast.Name)} & (self._stored - {self._loop.name})
            return known and self._adds(stmt.body) and self._adds(stmt.orelse)
        if isinstance(stmt, (ast.Continue, ast.Pass)):
            return True
        if isinstance(stmt, ast.Assign):
            self._loaded |= loads - self._stored
            return self._is_local(stmt)
        if isinstance(stmt, ast.AugAssign):
            target = stmt.target
            if isinstance(target, ast.Name):
                return target.id in self._stored and target.id != self._loop.name
            return isinstance(target, ast.Subscript) and self._is_tensor(target.value) and self._is_place(target.slice)
        return isinstance(stmt, ast.Expr) and self._is_index_add(stmt.value)

    def _is_local(self, stmt: ast.Assign) -> bool:
        targets = stmt.targets[0].elts if isinstance(stmt.targets[0], ast.Tuple) else stmt.targets
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets) or len(stmt.targets) != 1 or self._loop.name in names:
            return False
        if self._loaded & set(names):
            return False  # of the turn before
        self._stored |= set(names)
        if self._is_search(stmt.value):
            self._places |= set(names)
        return True

    def _is_search(self, node: ast.expr) -> bool:
        """``torch.where(mask[i])``, ``torch.where(mask[i].squeeze(0))``, or what [Symbol] makes of it."""
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            return False
        name = self._site.module.dotted(node.func) or ""
        as_tuple = [word.arg for word in node.keywords] == ["as_tuple"]
        if not ((name == "torch.where" and not node.keywords) or (is_runtime(name, "graph_nonzero") and as_tuple)):
            return False
        chosen = node.args[0]
        if isinstance(chosen, ast.Call) and isinstance(chosen.func, ast.Attribute) and chosen.func.attr == "squeeze":
            chosen = chosen.func.value if len(chosen.args) == 1 and _is_zero(chosen.args[0]) else chosen
        if not isinstance(chosen, ast.Subscript) or not isinstance(chosen.value, ast.Name):
            return False
        at: ast.expr = chosen.slice
        if isinstance(at, ast.Subscript) and self._is_number(at):
            at = at.value
        return chosen.value.id == self._loop.mask and isinstance(at, ast.Name) and at.id == self._loop.name

    def _is_index_add(self, node: ast.expr) -> bool:
        """``out.index_add_(0, place, rows)``."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "index_add_":
            return False
        return len(node.args) == 3 and self._is_tensor(node.func.value) and self._is_place(node.args[1])

    def _is_tensor(self, node: ast.expr) -> bool:
        named = isinstance(node, ast.Name) and node.id not in self._stored and node.id != self._loop.mask
        return named and self._site.value(node).kind is Kind.TENSOR

    def _is_place(self, node: ast.expr) -> bool:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return any(isinstance(part, ast.Name) and part.id in self._places for part in parts)

    def _is_used_outside(self) -> bool:
        inside = {id(n) for n in walk(self._loop.loop)}
        names = [n for n in walk(self._site.function.node) if isinstance(n, ast.Name) and id(n) not in inside]
        return any(name.id in self._stored for name in names)

    def _number(self, node: ast.Name) -> _Cut | Literal[False] | None:
        """What to write for a use of the number; None if it may stay, False if nobody knows."""
        parent = self.parents.get(id(node))
        row = self._unpacked is None
        if row and self._is_number(parent):
            assert isinstance(parent, ast.Subscript)
            outer = self.parents.get(id(parent))
            if isinstance(outer, ast.FormattedValue):
                return self._spelled(outer)
            return parent, node.id
        if isinstance(parent, ast.Tuple) and not row:
            outer = self.parents.get(id(parent))
            return None if isinstance(outer, ast.Subscript) and outer.slice is parent else False
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            if not row:
                return None
            masked = isinstance(parent.value, ast.Name) and parent.value.id == self._loop.mask
            return (parent, f"{self._loop.mask}[{node.id} : {node.id} + 1]") if masked else False
        if isinstance(parent, ast.FormattedValue):
            return None if not row and parent.conversion == -1 and parent.format_spec is None else False
        return None if isinstance(parent, ast.Compare) and len(parent.ops) == 1 else False

    def _spelled(self, value: ast.FormattedValue) -> _Cut | Literal[False]:
        """A string with the number in it: ``f"expert_{i[0]}"``."""
        text = self.parents.get(id(value))
        if value.conversion != -1 or value.format_spec is not None or not isinstance(text, ast.JoinedStr):
            return False
        used = sum(isinstance(n, ast.Name) and n.id == self._loop.name for n in ast.walk(text))
        source = self._site.source(text)
        written = rf"{{{re.escape(self._loop.name)}\[0\]}}"
        if source.count("{{") or "\n" in source or len(re.findall(written, source)) != used:
            return False
        return text, re.sub(written, f"{{{self._loop.name}}}", source)
