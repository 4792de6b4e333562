"""What the two sides of a selection bring along: their gradient history.

Under ``torch.no_grad`` a selection has no history.  The branch left the value of the side not taken as it was, with
the history that it brought from outside (measured: its gradient becomes zero under ``torch.compile``).  Elsewhere a
selection goes back into the history of both sides, where the branch went into one.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from graphmend_lsp.flow import host
from graphmend_lsp.flow.values import Kind, Root, Value
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.caught import calls_of
from graphmend_lsp.mend.legality import Legality
from graphmend_lsp.model.walk import walk

_NO_GRADIENT = frozenset({"bool", "int64", "int32", "int16", "int8", "uint8"})


class History:
    """What values at a site may bring along."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @cached_property
    def is_recorded(self) -> bool:
        """Whether a selection at the site records its history, as far as the region shows."""
        if self._site.event.context.no_grad:
            return False
        return not any(context.no_grad for _, _, contexts in calls_of(self._site) for context in contexts)

    @cached_property
    def _inside(self) -> set[int]:
        """What is evaluated without recording: the nodes of the outermost such ``with``, else of the function."""
        function = self._site.function.node
        at = self._site.event.stmt
        for node in walk(function):
            if not isinstance(node, ast.With) or not (node.lineno <= at.lineno <= (node.end_lineno or node.lineno)):
                continue
            if any(self._turns_off(item.context_expr) for item in node.items):
                return {id(part) for stmt in node.body for part in walk(stmt)}
        return {id(part) for part in walk(function)}

    def _turns_off(self, context: ast.expr) -> bool:
        target = context.func if isinstance(context, ast.Call) else context
        name = self._site.module.dotted(target) or ""
        return name in host.NO_GRAD or name == "torch.set_grad_enabled"

    def is_cut(self, value: Value) -> bool:
        """Whether a selection at the site may cut a value off its history."""
        if self.is_recorded or value.kind not in (Kind.TENSOR, Kind.UNKNOWN) or value.dtype in _NO_GRADIENT:
            return False
        return not value.roots or not all(map(self._is_made_inside, value.roots))

    def _is_made_inside(self, root: Root) -> bool:
        if root[0] == "attr":
            name = re.escape(str(root[-1]))
            return re.search(rf"register_buffer\(\s*[\"']{name}[\"']", self._site.module.parsed.text) is not None
        return root[0] in ("op", "join") and any(part in self._inside for part in root[1:])

    # -- slopes ------------------------------------------------------------------------------------

    def steep(self, new: Value, old: Value) -> ast.expr | None:
        """What was computed before the branch, for one of the sides only, with a slope that can be infinite.

        The side that is not taken gets a gradient of zero, which goes on into its history: zero times infinity is NaN.
        What both sides go back to gets a gradient anyway.
        """
        if not self.is_recorded or self._site.event.context.no_grad:
            return None
        one, other = self._ancestors(new), self._ancestors(old)
        nodes = [one.get(number) or other[number] for number in one.keys() ^ other.keys()]
        for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
            if not self._is_before(node):
                continue
            check = Legality(self._site.engine, self._site.facts, self._site.function, no_grad=False)
            check.check(node)
            if any(issue.reason == "gradient" for issue in check.issues):
                return node
        return None

    @cached_property
    def _nodes(self) -> dict[int, ast.expr]:
        return {id(node): node for node in walk(self._site.function.node) if isinstance(node, ast.expr)}

    def _ancestors(self, value: Value) -> dict[int, ast.expr]:
        """The expressions of this function that a value was computed by, and what they were computed from."""
        found: dict[int, ast.expr] = {}
        todo = [value]
        while todo:
            for root in todo.pop().roots:
                node = self._nodes.get(root[1]) if root[0] == "op" and len(root) == 2 else None
                if node is None or id(node) in found:
                    continue
                found[id(node)] = node
                names = [part for part in walk(node) if isinstance(part, ast.Name)]
                todo += [v for name in names if (v := self._site.facts.values.get(id(name))) is not None]
        return found

    def _is_before(self, node: ast.expr) -> bool:
        """Whether it stands outside the branch, whose own expressions are judged apart."""
        branch = self._site.event.stmt
        return not (branch.lineno <= node.lineno <= (branch.end_lineno or branch.lineno))
