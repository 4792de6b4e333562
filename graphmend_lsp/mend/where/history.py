"""Gradient history where none is recorded.

Under ``torch.no_grad`` a selection has no history.  The branch left the value of the side not taken as it was, with
the history that it brought from outside (measured: its gradient becomes zero under ``torch.compile``).
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from graphmend_lsp.flow import host
from graphmend_lsp.flow.values import Kind, Root, Value
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.caught import calls_of
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
