"""The checks of torch: which argument is the condition, which the message, and what they raise."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mend.base import Site

TENSOR_CHECKS = frozenset({"torch._check_tensor_all", "torch._check_tensor_all_with"})
"""Checks whose condition is a tensor; it holds if all of its elements do."""
_RAISED = {
    "torch._assert": "AssertionError",
    "torch._check": "RuntimeError",
    "torch._check_is_size": "RuntimeError",
    "torch._check_tensor_all": "RuntimeError",
    "torch._check_index": "IndexError",
    "torch._check_value": "ValueError",
    "torch._check_type": "TypeError",
    "torch._check_not_implemented": "NotImplementedError",
}
UNSAID = "Expected cond to be True, but got False."
"""How torch begins the message of a check that is given none."""


@dataclass(frozen=True)
class Check:
    """One call of a check; ``raised`` is the last name of the exception's type, "" where that is not known."""

    condition: ast.expr | None
    message: ast.expr | None
    raised: str


def check_of(site: Site, call: ast.Call) -> Check:
    name = site.event.name
    with_type = name.endswith("_with")
    start = 1 if with_type else 0
    words = {k.arg: k.value for k in call.keywords}
    given = dict(enumerate(call.args))
    kind = given.get(0, words.get("error_type")) if with_type else None
    raised = site.source(kind).rpartition(".")[2] if kind is not None else _RAISED.get(name, "")
    condition = given.get(start, words.get("condition", words.get("cond")))
    return Check(condition, given.get(start + 1, words.get("message")), raised)
