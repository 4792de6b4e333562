"""Places in source: the statement around a line, the kind of a measured break, whether an expression was evaluated."""

from __future__ import annotations

import ast
import re
from typing import Any

from findings import Finding, Sources

# Files whose functions only pass on what their caller says: the caller's line is the site.
PLUMBING = re.compile(r"^(transformers|diffusers)/(utils/logging|_graphmend)\.py$")
_LOGGING = re.compile(r"\b(logger|logging|log|_logger|LOGGER)\.\w+\(|warning_once\(|warn_once\(|info_once\(")

Range = tuple[int, int, ast.stmt]
Span = tuple[int, int, int, int]  # line, column, end line, end column; columns from 0 in UTF-8 bytes
Point = tuple[int, int, int, int, str]  # the same with the kind of instruction


class Places:
    """Statements of the packages' files."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._kept: dict[str, list[Range]] = {}

    def _ranges(self, file: str) -> list[Range]:
        if file not in self._kept:
            statements = [node for node in ast.walk(self.sources.tree(file)) if isinstance(node, ast.stmt)]
            self._kept[file] = [(node.lineno, header_end(node), node) for node in statements]
        return self._kept[file]

    def statement(self, file: str, line: int) -> Range | None:
        """The innermost statement with this line in its header (a simple one: anywhere)."""
        fitting = [found for found in self._ranges(file) if found[0] <= line <= found[1]]
        return max(fitting, key=lambda found: (found[0], -found[1]), default=None)


def header_end(node: ast.stmt) -> int:
    """The last line of the header of a compound statement, or of a simple one."""
    if isinstance(node, (ast.If, ast.While)):
        return node.test.end_lineno or node.lineno
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter.end_lineno or node.lineno
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return max(item.context_expr.end_lineno or 0 for item in node.items)
    if isinstance(node, ast.Match):
        return node.subject.end_lineno or node.lineno
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try)):
        return node.body[0].lineno - 1 if node.body[0].lineno > node.lineno else node.lineno
    return node.end_lineno or node.lineno


def site_of(row: dict[str, Any], packages: tuple[str, ...]) -> tuple[str, int, str] | None:
    """The innermost place inside the packages that is not plumbing."""
    inside = [
        (file, line, name)
        for file, line, name in row["stack"]
        if file.partition("/")[0] in packages and not PLUMBING.search(file)
    ]
    return inside[-1] if inside else None


def kind_of(row: dict[str, Any], place: Range | None, text: str) -> tuple[str, bool]:
    """The rule that a measured break belongs to, and whether Dynamo's reason alone says so."""
    title, first = row["titles"][0], (row["ids"] or [""])[0]
    if first == "GB0170" or "ata-dependent branching" in title or "with non-string message" in title:
        return _branch(place), True
    if first == "GB0291" or "logging.Logger" in title or (first == "GB4841" and _LOGGING.search(text)):
        return "GM202", True
    if "warnings.warn" in text and (first in ("GB0007", "GB0059") or "skipped" in title):
        return "GM203", True
    if first in ("GB0059", "GB0156", "GB0569") and re.search(r"\b(print|pprint|repr|str)\(|std(out|err)\.write", text):
        return "GM201", True
    if first in ("GB0007", "GB0156", "GB4841") and _LOGGING.search(text):
        return "GM202", True
    if first in ("GB0124", "GB0033", "GB0109", "GB0218") or "Data dependent operator" in title:
        tested = _tested(place)
        return (tested, False) if tested else ("GM401", True)
    if first in ("GB0036", "GB0246") or "ynamic shape" in title:
        return "GM501", True
    if first == "GB0025" and "graph_list(" in text:
        return "GM401", True  # the runtime splits the graph itself: how many numbers there are is data
    if first in ("GB0025", "GB0098", "GB0099"):
        return "GM602", True
    return "GM601", True


def _branch(place: Range | None) -> str:
    """The code of a test on data in this statement."""
    node = place[2] if place else None
    if isinstance(node, ast.Assert):
        return "GM302"
    if isinstance(node, ast.If):
        return "GM301" if only_raises(node) else "GM101"
    if isinstance(node, (ast.While, ast.For)):
        return "GM102"
    if node is not None and any(isinstance(part, ast.IfExp) for part in ast.walk(node)):
        return "GM101"
    return "GM103"


def only_raises(node: ast.If) -> bool:
    return not node.orelse and isinstance(node.body[-1], ast.Raise)


def _tested(place: Range | None) -> str | None:
    """The code if a value read from a tensor (`if torch.equal(a, b)`, `if x.item() > 0`) is what a test is about."""
    node = place[2] if place else None
    if isinstance(node, (ast.If, ast.While, ast.Assert)):
        return _branch(place)
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        return "GM102"
    return None


# --- was it evaluated? ------------------------------------------------------------------------------------------------


class Evaluated:
    """The expressions that Dynamo went through (or that ran in eager), by file and line."""

    def __init__(self) -> None:
        self.by_line: dict[tuple[str, int], set[Point]] = {}

    def add(self, places: list[Any]) -> None:
        for file, line, column, end_line, end_column, kind in places:
            self.by_line.setdefault((file, line), set()).add((line, column, end_line, end_column, kind))

    def inside(self, file: str, span: Span) -> set[Point]:
        found: set[Point] = set()
        for line in range(span[0], span[2] + 1):
            for place in self.by_line.get((file, line), ()):
                if (place[0], place[1]) >= span[:2] and (place[2], place[3]) <= span[2:]:
                    found.add(place)
        return found


def span_of(finding: Finding, sources: Sources, file: str) -> Span:
    """A finding's range as Python counts it: columns from 0 in UTF-8 bytes."""

    def column(line: int, points: int) -> int:
        return len(sources.line(file, line)[: points - 1].encode())

    line, end = finding["line"], finding["end_line"]
    return (line, column(line, finding["column"]), end, column(end, finding["end_column"]))


def was_evaluated(finding: Finding, file: str, sources: Sources, evaluated: Evaluated) -> bool:
    """Whether what the finding is about was evaluated, not only a part of it that decides alone."""
    span = span_of(finding, sources, file)
    inside = evaluated.inside(file, span)
    if not inside:
        return False
    if finding["code"].startswith("GM2"):
        return any(place[:4] == span for place in inside) or _ends_with_call(inside, span)
    leaves, named = _relevant(finding, span, sources, file)
    seen = [_leaf_evaluated(leaf, leaf == span, inside) for leaf in leaves]
    return any(seen) if named else all(seen)


def _leaf_evaluated(leaf: Span, whole: bool, inside: set[Point]) -> bool:
    """Whether there is an instruction that tests this operand. One operand of several has to have a jump of its own."""
    within = [place for place in inside if place[:2] >= leaf[:2] and place[2:4] <= leaf[2:]]
    if any(place[:4] == leaf and place[4] in ("test", "loop") for place in within):
        return True
    return whole and any(place[4] in ("test", "loop", "call") for place in within)


def _ends_with_call(inside: set[Point], span: Span) -> bool:
    return any(place[2:4] == span[2:] and place[4] == "call" for place in inside)


def _relevant(finding: Finding, span: Span, sources: Sources, file: str) -> tuple[list[Span], bool]:
    """The operands of the test that the message names (then one is enough), or all of them."""
    node = _expression(sources, file, span)
    if node is None:
        return [span], True
    operands = _operands(node)
    named = re.match(r"(?:whether )?`(.+?)`", finding["message"])
    chosen = [one for one in operands if named and _same(ast.unparse(one), named[1])]
    spans = [(one.lineno, one.col_offset, one.end_lineno or 0, one.end_col_offset or 0) for one in chosen or operands]
    return spans, bool(chosen)


def _same(one: str, other: str) -> bool:
    bare = [re.sub(r"[\s\"'()]", "", text) for text in (one, other.rstrip(".…"))]
    return bool(bare[1]) and (bare[0] == bare[1] or bare[0].startswith(bare[1]))


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return [operand for value in node.values for operand in _operands(value)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _operands(node.operand)
    return [node]


def _expression(sources: Sources, file: str, span: Span) -> ast.expr | None:
    for node in ast.walk(sources.tree(file)):
        if isinstance(node, ast.expr):
            if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == span:
                return node
    return None
