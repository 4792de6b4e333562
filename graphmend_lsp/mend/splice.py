"""Drafts to edits: changed functions, helpers above them, imports on top."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Sequence

from graphmend_lsp.finding import Change, NewFile, Refusal
from graphmend_lsp.mend import TOO_DEEP
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.mend.editor import changed_function
from graphmend_lsp.mend.imports import helper_line, import_edits
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.program import RuntimePlace
from graphmend_lsp.parse import BOM, Parsed
from graphmend_lsp.text import Edit, Span, apply_edits, diff_edits, line_ending


def splice(text: str, parsed: Parsed, jobs: Sequence[tuple[Site, Draft]], place: RuntimePlace) -> Change | Refusal:
    """The edits of one or more drafts: the changed functions, the helpers before them, the imports on top.

    Drafts of one function must not touch the same statements.
    """
    try:
        return _spliced(text, parsed, jobs, place)
    except RecursionError:  # LibCST prints a sum of 300 terms by as many calls in each other
        return Refusal("splice", "unsupported", TOO_DEEP)


def _spliced(text: str, parsed: Parsed, jobs: Sequence[tuple[Site, Draft]], place: RuntimePlace) -> Change | Refusal:
    if parsed.failure is not None:
        return Refusal("splice", "unsupported", f"the file does not parse: {parsed.failure.message}")
    end = line_ending(text)
    runtime = tuple(dict.fromkeys(name for _, draft in jobs for name in draft.runtime))
    module = jobs[0][0].module
    edits: list[Edit] = []
    helpers: dict[int, str] = {}
    functions: dict[ast.AST, tuple[FunctionInfo, list[Draft]]] = {}
    for site, draft in jobs:
        function = _outermost(site.function)
        functions.setdefault(function.node, (function, []))[1].append(draft)
        for other, replacements in draft.elsewhere:
            function = _outermost(other)
            functions.setdefault(function.node, (function, []))[1].append(Draft(replacements))
    for function, drafts in functions.values():
        chunk = parsed.by_id[function.chunk.id]
        changed = changed_function(function, chunk, drafts, end)
        if isinstance(changed, Refusal):
            return changed
        first, old, new = changed
        edits += [Edit(e.span.shifted(first - 1), e.text) for e in diff_edits(old, new)]
        added = "".join(h.text.replace("\n", end) + end * 3 for d in drafts for h in d.helpers)
        if added:
            line = helper_line(chunk, parsed)
            helpers[line] = helpers.get(line, "") + added
    before = min(parsed.by_id[function.chunk.id].line for function, _ in functions.values())
    plain = list(dict.fromkeys(line for _, draft in jobs for line in draft.imports))
    plain += ["import torch"] if any(draft.needs_torch for _, draft in jobs) else []
    edits += import_edits(text, parsed, runtime, plain, place, module, end, before)
    edits += [Edit(Span(line, 0, line, 0), added) for line, added in helpers.items()]
    edits.sort(key=lambda edit: edit.span)  # stable: imports stay before helpers at the same place
    if not all(map(_parses, _changed_pieces(text, parsed, edits))):
        return Refusal("splice", "unsupported", "the rewritten code does not parse (please report this)")
    creates = (NewFile(place.path, place.text),) if runtime and place.path and place.text is not None else ()
    return Change(tuple(edits), creates)


def _changed_pieces(text: str, parsed: Parsed, edits: Sequence[Edit]) -> list[str]:
    """The new texts of the chunks that are edited, or all of the new text if an edit reaches from one into another.

    A chunk parses alone as it does in the file, and parsing a large file takes longer than all the rest.
    """
    firsts = [chunk.line for chunk in parsed.chunks]
    inside: dict[int, list[Edit]] = {}
    for edit in edits:
        number = max(bisect_right(firsts, edit.span.line) - 1, 0)
        end = firsts[number + 1] if number + 1 < len(firsts) else sys.maxsize
        if (edit.span.end_line, edit.span.end_column) > (end, 0):
            return [apply_edits(text, edits)]
        inside.setdefault(number, []).append(Edit(edit.span.shifted(1 - firsts[number]), edit.text))
    return [apply_edits(parsed.chunks[number].text, own) for number, own in inside.items()]


def _parses(text: str) -> bool:
    try:
        ast.parse(text.removeprefix(BOM))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _outermost(function: FunctionInfo) -> FunctionInfo:
    while function.parent is not None:
        function = function.parent
    return function
