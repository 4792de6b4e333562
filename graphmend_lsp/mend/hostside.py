"""What has no rewrite that keeps the behaviour, and why; and calls that are there to be deleted one day."""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.mend.base import Draft, Replacement, Site
from graphmend_lsp.mend.lengths import known_length

ORDER = 90
KIND = "host"
_CLAMPED: tuple[Reason, str] = ("may-raise", "a slice is cut to what is there, where an index would raise")
_NUMBER: tuple[Reason, str] = ("host-value", "Python needs the number itself")
_LENGTH: tuple[Reason, str] = (
    "shape",
    "how long the result is, is not written here: pass `output_size` if you know it",
)
_POINTER: tuple[Reason, str] = ("host-value", "where a tensor lies is known to the host alone, once it runs")
_WHY: dict[str, tuple[tuple[Reason, str], ...]] = {
    "GM402": (("shape", "the shape of what follows is data"), _NUMBER),
    "GM501": (
        ("shape", "the result has a shape that is data, and what follows may rely on it"),
        ("host-value", "how many elements there are is needed on the host before anything that follows is made"),
    ),
    "GM601": (("side-effect", "when it runs would change if it were moved out of the compiled code"),),
    "GM603": (("state-write", "what the module holds would change if it were built elsewhere"),),
}
_HAVE_TWINS = frozenset({"random.random", "copy.copy", "Tensor.__deepcopy__"})


def propose(site: Site) -> list[Offer | Refusal]:
    if site.code == "GM602":
        found: list[Offer | Refusal] = [Refusal(KIND, "deliberate", "the break is there on purpose")]
        if _removable(site):
            changes = "it no longer stops here"
            found.insert(0, Offer("delete", "Delete this call", "unsafe", changes, ("deliberate",)))
        return found
    if site.code == "GM501" and isinstance(site.event.stmt, ast.AugAssign):
        return []  # [Masked] says why
    if site.code == "GM601" and site.event.name in _HAVE_TWINS:
        return []  # [Twin] does
    if site.code == "GM603" and isinstance(site.event.node, ast.ClassDef):
        return []  # [Hoist] does
    return [Refusal(KIND, *why) for why in _whys(site)]


def _whys(site: Site) -> tuple[tuple[Reason, str], ...]:
    if site.code == "GM402" and site.event.name in ("slice", "list slice"):
        return (_CLAMPED,)
    if site.code == "GM402" and site.event.name == "index":
        return ()  # [Row] says why
    if site.code == "GM402" and site.event.name in ("list index", "range"):
        return (_NUMBER,)
    if site.code == "GM501" and site.event.name.rpartition(".")[2] == "repeat_interleave":
        return (_LENGTH,) if known_length(site) is None else ()  # [Length] does
    if site.code == "GM601" and site.event.name == "Tensor.data_ptr":
        return (_POINTER,)
    return _WHY.get(site.code, ())


def build(site: Site, offer: Offer) -> Draft | Refusal:
    if not _removable(site):
        return Refusal(offer.kind, "unsupported", "its result is used")
    return Draft((Replacement(site.event.stmt, site.event.stmt, ()),))


def _removable(site: Site) -> bool:
    """``breakpoint()`` and ``graph_break()``: calls that do nothing else, on a line of their own."""
    named = site.event.name in ("builtins.breakpoint", "torch._dynamo.graph_break")
    stmt = site.event.stmt
    return named and isinstance(stmt, ast.Expr) and stmt.value is site.event.node
