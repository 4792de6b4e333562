"""placeholder"""
from __future__ import annotations
import ast
def only_effects(stmt: ast.If) -> bool:
    return False
