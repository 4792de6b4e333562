"""The transformations: one file or package each, found by walking this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.mend.base import Draft, Site

__all__ = ["Draft", "Site", "draft", "proposals"]


class Transformation(Protocol):
    """A module of this package that mends findings.

    ``ORDER`` ranks its offers; ``propose`` proves legality and says what it can do or why not; ``build``
    writes the new text of one of its offers.
    """

    ORDER: int

    def propose(self, site: Site) -> list[Offer | Refusal]: ...

    def build(self, site: Site, offer: Offer) -> Draft | Refusal: ...


@lru_cache(maxsize=1)
def transformations() -> tuple[Transformation, ...]:
    found: list[Transformation] = []
    for info in pkgutil.iter_modules(__path__):
        if info.name in ("editor", "splice"):
            continue  # they import LibCST: not before the first edit
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "propose") and hasattr(module, "build"):
            found.append(module)  # type: ignore[arg-type]
    return tuple(sorted(found, key=lambda m: m.ORDER))


MAX_OFFERS = 3
TOO_DEEP = "the code is nested too deeply to be rewritten"
_WITHOUT_FIX = frozenset({"host", "capture", "symbol"})
"""Kinds of refusals that say why nothing can be done, or what can be set instead."""


Failed = Callable[[str, Exception], None]
"""Told of a transformation, by name, that raised: a mistake of ours."""


def proposals(site: Site, failed: Failed) -> tuple[tuple[Offer, ...], tuple[Refusal, ...]]:
    """What can be done for a finding: at most three offers, safe ones first, and every refusal."""
    offers: list[Offer] = []
    refusals: list[Refusal] = []
    for transformation in transformations():
        for item in _proposed(transformation, site, failed):
            (offers if isinstance(item, Offer) else refusals).append(item)  # type: ignore[arg-type]
    offers.sort(key=lambda o: o.safety != "safe")
    if offers and offers[0].safety == "safe":
        refusals = [refusal for refusal in refusals if refusal.kind not in _WITHOUT_FIX]
    return tuple(offers[:MAX_OFFERS]), tuple(dict.fromkeys(refusals))


def _proposed(transformation: Transformation, site: Site, failed: Failed) -> list[Offer | Refusal]:
    """What one transformation offers; a mistake in it must not cost the finding, or what the others offer."""
    try:
        return transformation.propose(site)
    except Exception as error:
        failed(str(getattr(transformation, "__name__", "")).rpartition(".")[2], error)
        return []


def draft(site: Site, offer: Offer) -> Draft | Refusal:
    """The new text of one offer, its legality proved again."""
    for transformation in transformations():
        proposed = _proposed(transformation, site, lambda name, error: None)  # reported when the finding was made
        if offer in [o for o in proposed if isinstance(o, Offer)]:
            try:
                return transformation.build(site, offer)
            except RecursionError:  # an expression of hundreds of terms
                return Refusal(offer.kind, "unsupported", TOO_DEEP)
    return Refusal(offer.kind, "unsupported", "the code has changed: the offer no longer holds")
