"""TEMPORARY STUB: ``all_rules()`` returns every rule; a rule has ``code``, ``name``, ``page`` (Markdown: its docstring), ``summary``."""
from __future__ import annotations
from dataclasses import dataclass

@dataclass(frozen=True)
class Rule:
    code: str
    name: str
    summary: str   # one line
    page: str      # Markdown

def all_rules() -> tuple[Rule, ...]:
    return (Rule("GM201", "print-in-graph", "print in a compiled region", "## What it does\nFlags `print`.\n"),)

def rule(code: str) -> Rule | None:
    return next((r for r in all_rules() if r.code == code.upper()), None)
