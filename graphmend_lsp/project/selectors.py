"""Rule selectors as users write them: a code, a prefix of codes, a rule's name, or ``ALL``."""

from __future__ import annotations

from functools import cache


@cache
def _names() -> dict[str, str]:
    """Code by name; the rules are imported at the first selector, not before."""
    from graphmend_lsp.rules import all_rules

    return {rule.name: rule.code for rule in all_rules()}


def normalise(selector: str) -> str | None:
    """The code or prefix that ``selector`` means, or None if no rule answers to it."""
    wanted = selector.strip()
    if wanted.upper() in ("ALL", "GM"):
        return "GM"
    named = _names().get(wanted.lower())
    if named is not None:
        return named
    wanted = wanted.upper()
    return wanted if wanted and any(code.startswith(wanted) for code in _names().values()) else None


def expand(selector: str) -> tuple[str, ...]:
    """Every rule code under a normalised selector."""
    return tuple(code for code in _names().values() if code.startswith(selector))
