"""Where import lines and helpers go in a file."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mend.spelling import runtime_name
from graphmend_lsp.model.module import Module
from graphmend_lsp.model.program import RuntimePlace
from graphmend_lsp.parse import Chunk, Parsed, first_line
from graphmend_lsp.text import Edit, Span, split_lines


def _imported(parsed: Parsed, module: str, before: int) -> dict[str, str]:
    """Names already imported from the runtime, with their spelling here."""
    names: dict[str, str] = {}
    node = _runtime_import(parsed, module, before)
    if node is not None:
        names = {a.name: a.asname or a.name for a in node[1].names}
    return names


def _runtime_import(parsed: Parsed, module: str, before: int) -> tuple[Chunk, ast.ImportFrom] | None:
    """The import of the runtime above a line: one below, as in a later cell of a notebook, is of no use there."""
    for chunk in parsed.chunks:
        if chunk.line >= before:
            break
        for node in chunk.nodes:
            if isinstance(node, ast.ImportFrom) and "." * node.level + (node.module or "") == module:
                return chunk, node
    return None


def import_edits(
    text: str,
    parsed: Parsed,
    runtime: Sequence[str],
    plain: Sequence[str],
    place: RuntimePlace,
    module: Module,
    end: str,
    before: int,
) -> list[Edit]:
    """The edits that import what a change needs, whose first line is ``before``; ``plain`` are other import lines."""
    edits: list[Edit] = []
    lines = list(plain)
    missing = [n for n in runtime if n not in _imported(parsed, place.module, before)]
    if missing:
        spelled = [n if runtime_name(module, n) == n else f"{n} as {runtime_name(module, n)}" for n in missing]
        existing = _runtime_import(parsed, place.module, before)
        if existing is not None and existing[1].lineno == existing[1].end_lineno:
            chunk, node = existing
            span = chunk.span(node).shifted(chunk.shift)
            spelled = sorted([*(a.name if not a.asname else f"{a.name} as {a.asname}" for a in node.names), *spelled])
            edits.append(Edit(span, f"from {place.module} import {', '.join(spelled)}"))
        else:
            lines.append(f"from {place.module} import {', '.join(sorted(spelled))}")
    if lines:
        edits.append(_import_edit(text, parsed, lines, end))
    return edits


def _import_edit(text: str, parsed: Parsed, lines: list[str], end: str) -> Edit:
    """New import lines behind the last import of the leading block (after docstring and ``__future__``)."""
    after: Chunk | None = None
    docstring: Chunk | None = None
    for index, chunk in enumerate(parsed.chunks):
        kinds = {type(node) for node in chunk.nodes}
        if index == 0 and chunk.nodes and _is_docstring(chunk.nodes[0]):
            docstring = chunk
            if any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in chunk.nodes):
                after = chunk
            continue
        if kinds & {ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef}:
            break
        if any(_imports_something(node) for node in chunk.nodes):
            after = chunk
    body = end.join(lines) + end
    anchor = after or docstring
    if anchor is None or not anchor.nodes:
        line = _first_code_line(parsed)
        return Edit(Span(line, 0, line, 0), body + end * 2)
    last = max((n.end_lineno or n.lineno) for n in anchor.nodes) + anchor.shift
    all_lines = split_lines(text)
    if after is None:
        body = end + body
    if last >= len(all_lines):
        return Edit(Span(last, len(all_lines[-1]), last, len(all_lines[-1])), end + body)
    return Edit(Span(last + 1, 0, last + 1, 0), body)


def _imports_something(node: ast.stmt) -> bool:
    """A module-level import, also one inside ``try`` or ``if``."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, (ast.Try, ast.If)):
        inner = [*node.body, *(s for h in getattr(node, "handlers", ()) for s in h.body)]
        return any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in inner)
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _first_code_line(parsed: Parsed) -> int:
    """Line of the first statement; its decorators and the comments right above it come after an insertion."""
    for chunk in parsed.chunks:
        if chunk.nodes:
            return first_line(chunk.nodes[0]) + chunk.shift
    return 1


def helper_line(chunk: Chunk, parsed: Parsed) -> int:
    """Where helpers go: above the top-level statement with the function, and above its own comments."""
    line = first_line(chunk.nodes[0]) + chunk.shift
    lines = split_lines(parsed.text)
    top = line
    while top > 1 and lines[top - 2].startswith("#"):
        top -= 1
    # Comments that begin the file are its header, not this statement's.
    return line if top == 1 else top
