"""Source text of parts of a function, with parts of it replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from graphmend_lsp.mend.base import ExpressionReplacement, Replacement, Site
from graphmend_lsp.mend.layout import flat, reindent
from graphmend_lsp.model.walk import walk
from graphmend_lsp.text import split_lines

_ATOMS = (
    ast.Name,
    ast.Constant,
    ast.Attribute,
    ast.Call,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.JoinedStr,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def replaced(site: Site, node: ast.expr | ast.stmt, cuts: Iterable[tuple[ast.expr, str]]) -> str:
    """Source of a node with expressions inside it replaced by other text."""
    chunk = site.chunk
    whole = chunk.span(node)
    text = chunk.source(whole)
    offsets = [0]
    for line in split_lines(text):
        offsets.append(offsets[-1] + len(line))

    def offset(line: int, column: int) -> int:
        row = line - whole.line
        return offsets[row] + (column - whole.column if row == 0 else column)

    for part, new in sorted(cuts, key=lambda c: (c[0].lineno, c[0].col_offset), reverse=True):
        span = chunk.span(part)
        text = text[: offset(span.line, span.column)] + new + text[offset(span.end_line, span.end_column) :]
    return text


def replacements(
    site: Site, parents: Mapping[int, ast.AST], cuts: Iterable[tuple[ast.expr, str]]
) -> list[Replacement | ExpressionReplacement]:
    """What it takes to replace expressions of a function by other text: each simple statement is written once.

    ``parents`` are the nodes that hold each node, by its ``id``.
    """
    held: dict[int, tuple[ast.AST, list[tuple[ast.expr, str]]]] = {}
    for node, text in cuts:
        holder = _holder(node, parents)
        held.setdefault(id(holder), (holder, []))[1].append((node, text))
    made: list[Replacement | ExpressionReplacement] = []
    for holder, parts in held.values():
        if isinstance(holder, ast.stmt):
            raw = site.chunk.raw_text(holder.lineno)
            lines = reindent(replaced(site, holder, parts), raw[: len(raw) - len(raw.lstrip())], "")
            made.append(Replacement(holder, holder, tuple(lines)))
        elif isinstance(holder, ast.expr):
            made.append(ExpressionReplacement(holder, one_line(replaced(site, holder, parts))))
    return made


def _holder(node: ast.expr, parents: Mapping[int, ast.AST]) -> ast.AST:
    """The simple statement, or the expression in the header of a compound one, that an expression is part of."""
    inner: ast.AST = node
    outer = parents.get(id(node))
    while outer is not None and not isinstance(outer, ast.stmt):
        inner, outer = outer, parents.get(id(outer))
    return inner if outer is None or hasattr(outer, "body") else outer


def renamed(site: Site, node: ast.expr, mapping: Mapping[str, str]) -> str | None:
    """Source of an expression with names replaced, on one line where that is possible.

    None where a name stands inside an f-string, whose parts have no reliable positions.
    """
    cuts = [(name, mapping[name.id]) for name in free_names(node) if name.id in mapping and mapping[name.id] != name.id]
    if cuts and any(isinstance(n, ast.JoinedStr) for n in walk(node)):
        inside = {id(n) for joined in walk(node) if isinstance(joined, ast.JoinedStr) for n in walk(joined)}
        if any(id(name) in inside for name, _ in cuts):
            return None
    return one_line(replaced(site, node, cuts))


def one_line(text: str) -> str:
    """An expression's source on one line; as it is if a comment or a string over several lines is inside."""
    if "\n" not in text and "\r" not in text:
        return text
    return flat(text) or text.replace("\r\n", "\n").replace("\r", "\n")


def operand(node: ast.expr, text: str) -> str:
    """``text`` (the source of ``node``) as an operand: in parentheses unless it holds together anyway."""
    if isinstance(node, _ATOMS) or (text.startswith("(") and text.endswith(")") and _closes_at_end(text)):
        return text
    return f"({text})"


def _closes_at_end(text: str) -> bool:
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return index == len(text) - 1
    return False


def conjunct(node: ast.expr, text: str) -> str:
    """``text`` as one part of an ``and``."""
    loose = isinstance(node, (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple))
    loose = loose or (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or))
    return operand(node, text) if loose else text


def free_names(node: ast.expr) -> list[ast.Name]:
    """Loads of names in an expression that no comprehension or lambda inside it binds."""
    found: list[ast.Name] = []
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while todo:
        item, bound = todo.pop()
        if isinstance(item, ast.Name):
            if item.id not in bound and isinstance(item.ctx, ast.Load):
                found.append(item)
            continue
        if isinstance(item, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            bound |= {n.id for g in item.generators for n in walk(g.target) if isinstance(n, ast.Name)}
        elif isinstance(item, ast.Lambda):
            args = item.args
            bound |= {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        todo.extend((child, bound) for child in ast.iter_child_nodes(item))
    return found
