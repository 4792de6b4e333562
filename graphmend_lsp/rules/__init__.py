"""The rules: one file each, found by walking this package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache

from graphmend_lsp.rules.base import Flag, Rule, Spec

__all__ = ["Flag", "Rule", "all_rules", "rule"]


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found: list[Rule] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        spec = getattr(module, "SPEC", None)
        if isinstance(spec, Spec):
            page = inspect.cleandoc(module.__doc__ or "")
            kinds = frozenset(spec.kinds)
            found.append(Rule(spec.code, spec.name, kinds, module.flag, spec.gb, page, spec.deliberate))
    return tuple(sorted(found, key=lambda r: r.code))


def rule(code: str) -> Rule | None:
    """The rule with a code ("GM101") or a name ("data-dependent-branch"), in any case."""
    wanted = code.strip().lower()
    return next((r for r in all_rules() if wanted in (r.code.lower(), r.name)), None)
