"""One function rewritten with LibCST: replaced statements and expressions, everything else printed as it was."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst

from graphmend_lsp.finding import Refusal
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Replacement
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.parse import Chunk, first_line

_MAX_NESTING = 100
_MAX_PATTERN_NESTING = 10
"""LibCST 1.9.0 takes twice as long for each level: 0.7 s of CPU for 18, hours for 40."""


def changed_function(
    function: FunctionInfo, chunk: Chunk, drafts: Sequence[Draft], end: str
) -> tuple[int, str, str] | Refusal:
    """First line in the current text, the old and the new text of the function's lines."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return Refusal("splice", "unsupported", "a lambda has no statements to rewrite")
    begin = first_line(node)
    last = node.end_lineno or node.lineno
    old = "".join(chunk.raw_text(n) for n in range(begin, last + 1))
    if _deepest(old) > _MAX_NESTING or _pattern_depth(node, chunk) > _MAX_PATTERN_NESTING:
        return Refusal("splice", "unsupported", "the function is nested too deeply to be rewritten")
    lead = re.match(r"[ \t]*", old)
    indented = bool(lead and lead.group())
    wrapped = f"if 1:{end}{old}" if indented else old
    try:
        module = cst.parse_module(wrapped)
    except cst.ParserSyntaxError as error:
        return Refusal("splice", "unsupported", f"LibCST cannot read the function: {error.message}")
    target = _function_in(module, indented)
    if target is None:
        return Refusal("splice", "unsupported", "the function could not be found in its own text")
    editor = _Editor(module, chunk, drafts)
    changed = editor.function(target, node)
    new_module = module.deep_replace(target, changed)
    if not isinstance(new_module, cst.Module):
        return Refusal("splice", "unsupported", "the function is its own module")
    new: str = new_module.code
    if indented:
        new = new[len(f"if 1:{end}") :]
    if old.endswith(("\n", "\r")) and not new.endswith(("\n", "\r")):
        new += end  # LibCST loses the last one where lines end in CR alone
    if not editor.complete:
        return Refusal("splice", "unsupported", "the statement could not be found in the function's text")
    return begin + chunk.shift, old, new


def _deepest(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth -= 1
    return deepest


def _pattern_depth(function: ast.AST, chunk: Chunk) -> int:
    """How deeply brackets are nested behind any ``case``: in patterns, some of which leave no trace in the tree."""
    deepest = 0
    for node in ast.walk(function):
        if isinstance(node, ast.Match):
            above = node.subject.end_lineno or node.lineno
            for case in node.cases:
                rows = (chunk.raw_text(n) for n in range(above + 1, case.body[0].lineno + 1))
                deepest = max(deepest, _deepest("".join(rows)))
                above = case.body[-1].end_lineno or case.body[-1].lineno
    return deepest


def _function_in(module: cst.Module, indented: bool) -> cst.FunctionDef | None:
    body: Sequence[cst.BaseStatement | cst.SimpleStatementLine] = module.body
    if indented:
        outer = module.body[0]
        if not isinstance(outer, cst.If) or not isinstance(outer.body, cst.IndentedBlock):
            return None
        body = outer.body.body
    return next((item for item in body if isinstance(item, cst.FunctionDef)), None)


_Node = TypeVar("_Node", cst.BaseSmallStatement, cst.BaseExpression)


@dataclass
class _Found:
    replacement: Replacement
    state: str = "before"


class _Editor:
    """Walks the CST and ``ast`` bodies of a function side by side and replaces statements."""

    def __init__(self, module: cst.Module, chunk: Chunk, drafts: Sequence[Draft]) -> None:
        self.module = module
        self.chunk = chunk
        replacements = [r for draft in drafts for r in draft.replacements]
        self.statements = [_Found(r) for r in replacements if isinstance(r, Replacement)]
        self.expressions = [r for r in replacements if isinstance(r, ExpressionReplacement)]
        self.done = 0

    @property
    def complete(self) -> bool:
        return self.done == len(self.statements) + len(self.expressions)

    def function(self, target: cst.FunctionDef, node: ast.FunctionDef | ast.AsyncFunctionDef) -> cst.FunctionDef:
        return target.with_changes(body=self._suite(target.body, node.body))

    def _suite(self, suite: cst.BaseSuite, nodes: list[ast.stmt]) -> cst.BaseSuite:
        if not self._touches(nodes):
            return suite
        if isinstance(suite, cst.SimpleStatementSuite):
            line = cst.SimpleStatementLine(body=suite.body, trailing_whitespace=suite.trailing_whitespace)
            body = self._body([line], nodes)
            return cst.IndentedBlock(body=body or [self._pass()])
        if isinstance(suite, cst.IndentedBlock):
            body = self._body(list(suite.body), nodes)
            return suite.with_changes(body=body or [self._pass()])
        return suite

    def _pass(self) -> cst.SimpleStatementLine:
        return cst.SimpleStatementLine(body=[cst.Pass()])

    def _touches(self, nodes: list[ast.stmt]) -> bool:
        """Whether something inside these statements is replaced."""
        if not nodes:
            return False
        first, last = nodes[0].lineno, nodes[-1].end_lineno or nodes[-1].lineno
        spots = [f.replacement.first.lineno for f in self.statements] + [e.node.lineno for e in self.expressions]
        return any(first <= spot <= last for spot in spots)

    def _body(self, items: list[cst.BaseStatement], nodes: list[ast.stmt]) -> list[cst.BaseStatement]:
        result: list[cst.BaseStatement] = []
        queue = list(nodes)
        for item in items:
            if isinstance(item, cst.SimpleStatementLine):
                mine = queue[: len(item.body)]
                del queue[: len(item.body)]
                result.extend(self._simple(item, mine))
            elif queue:
                result.extend(self._compound(item, queue.pop(0)))
        return result

    def _replacing(self, node: ast.stmt) -> _Found | None:
        for found in self.statements:
            if found.state == "inside" or found.replacement.first is node:
                return found
        return None

    def _simple(self, line: cst.SimpleStatementLine, nodes: list[ast.stmt]) -> list[cst.BaseStatement]:
        groups: list[cst.BaseStatement] = []
        kept: list[cst.BaseSmallStatement] = []
        changed = False
        leading = line.leading_lines
        for small, node in zip(line.body, nodes, strict=False):
            found = self._replacing(node)
            if found is None:
                kept.append(self._replaced(small, node))
                changed = changed or kept[-1] is not small
                continue
            changed = True
            if kept:
                groups.append(self._line(kept, leading))
                leading = ()
                kept = []
            new = self._new(found, node)
            if new:
                groups.extend(self._led(new, leading, ()))
                leading = ()
        if not changed:
            return [line]
        if kept:
            groups.append(self._line(kept, leading, line))
        elif groups and line.trailing_whitespace.comment is not None and not self._has_comment(groups):
            last = groups[-1]
            if isinstance(last, cst.SimpleStatementLine):
                groups[-1] = last.with_changes(trailing_whitespace=line.trailing_whitespace)
        return groups

    def _has_comment(self, groups: list[cst.BaseStatement]) -> bool:
        return any(
            getattr(lead, "comment", None) is not None
            for g in groups
            if not isinstance(g, cst.SimpleStatementLine)
            for lead in getattr(g, "leading_lines", ())
        )

    def _line(
        self,
        kept: list[cst.BaseSmallStatement],
        leading: Sequence[cst.EmptyLine],
        whole: cst.SimpleStatementLine | None = None,
    ) -> cst.SimpleStatementLine:
        body = [*kept[:-1], kept[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]
        made = cst.SimpleStatementLine(body=body, leading_lines=leading)
        return made.with_changes(trailing_whitespace=whole.trailing_whitespace) if whole is not None else made

    def _new(self, found: _Found, node: ast.stmt) -> list[cst.BaseStatement]:
        """New statements where a replacement begins; nothing for its other statements."""
        new: list[cst.BaseStatement] = []
        if found.state == "before":
            new = self._parse(found.replacement.lines)
            found.state = "inside"
            self.done += 1
        if found.replacement.last is node:
            found.state = "after"
        return new

    def _parse(self, lines: Sequence[str]) -> list[cst.BaseStatement]:
        if not lines:
            return []
        text = "\n".join(lines)
        config = cst.PartialParserConfig(default_newline=self.module.default_newline)
        made = cst.parse_module(text.replace("\n", self.module.default_newline) + self.module.default_newline, config)
        body = list(made.body)
        if made.header and body:
            first = body[0]
            leading = [*made.header, *getattr(first, "leading_lines", ())]
            body[0] = first.with_changes(leading_lines=leading)
        return [*body]

    def _led(
        self, new: list[cst.BaseStatement], leading: Sequence[cst.EmptyLine], comments: Sequence[str]
    ) -> list[cst.BaseStatement]:
        """New statements behind the blank lines and comments that stood before the old one."""
        lines = [*leading, *(cst.EmptyLine(comment=cst.Comment(c)) for c in comments)]
        first = new[0]
        own: Sequence[cst.EmptyLine] = getattr(first, "leading_lines", ())
        return [first.with_changes(leading_lines=[*lines, *own]), *new[1:]]

    def _compound(self, item: cst.BaseStatement, node: ast.stmt) -> list[cst.BaseStatement]:
        found = self._replacing(node)
        if found is not None:
            new = self._new(found, node)
            leading: Sequence[cst.EmptyLine] = getattr(item, "leading_lines", ())
            return self._led(new, leading, _comments_left(item, found)) if new else []
        if not self._touches([node]):
            return [item]
        return [self._inside(item, node)]

    def _inside(self, item: cst.BaseStatement, node: ast.stmt) -> cst.BaseStatement:
        """Replace inside a compound statement: its header's expressions and its blocks."""
        changes: dict[str, object] = {}
        if isinstance(item, cst.If) and isinstance(node, ast.If):
            changes["test"] = self._replaced(item.test, node.test)
            changes["body"] = self._suite(item.body, node.body)
            if item.orelse is not None:
                changes["orelse"] = self._orelse(item.orelse, node)
        elif isinstance(item, (cst.For, cst.While)) and isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            if isinstance(item, cst.While) and isinstance(node, ast.While):
                changes["test"] = self._replaced(item.test, node.test)
            elif isinstance(item, cst.For) and isinstance(node, (ast.For, ast.AsyncFor)):
                changes["iter"] = self._replaced(item.iter, node.iter)
            changes["body"] = self._suite(item.body, node.body)
            if item.orelse is not None and node.orelse:
                changes["orelse"] = item.orelse.with_changes(body=self._suite(item.orelse.body, node.orelse))
        elif isinstance(item, (cst.With, cst.FunctionDef)) and isinstance(
            node, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            changes["body"] = self._suite(item.body, node.body)
        elif isinstance(item, cst.Try) and isinstance(node, ast.Try):
            changes = self._try(item, node)
        elif isinstance(item, cst.Match) and isinstance(node, ast.Match):
            cases = zip(item.cases, node.cases, strict=True)
            changes["cases"] = [c.with_changes(body=self._suite(c.body, n.body)) for c, n in cases]
        return item.with_changes(**changes) if changes else item

    def _try(self, item: cst.Try, node: ast.Try) -> dict[str, object]:
        changes: dict[str, object] = {"body": self._suite(item.body, node.body)}
        handlers = zip(item.handlers, node.handlers, strict=True)
        changes["handlers"] = [h.with_changes(body=self._suite(h.body, n.body)) for h, n in handlers]
        if item.orelse is not None:
            changes["orelse"] = item.orelse.with_changes(body=self._suite(item.orelse.body, node.orelse))
        if item.finalbody is not None:
            changes["finalbody"] = item.finalbody.with_changes(body=self._suite(item.finalbody.body, node.finalbody))
        return changes

    def _orelse(self, orelse: cst.If | cst.Else, node: ast.If) -> cst.If | cst.Else | None:
        if isinstance(orelse, cst.Else):
            return orelse.with_changes(body=self._suite(orelse.body, node.orelse))
        inner = node.orelse[0]
        found = self._replacing(inner)
        if found is not None:
            # ``elif test: ...`` becomes ``else:`` with the new statements.
            new = self._new(found, inner)
            if not new:
                return None
            leading = orelse.leading_lines
            body = self._led(new, (), _comments_left(orelse, found))
            return cst.Else(body=cst.IndentedBlock(body=body), leading_lines=leading)
        changed = self._inside(orelse, inner)
        return changed if isinstance(changed, cst.If) else orelse

    # -- expressions -------------------------------------------------------------------------------

    def _replaced(self, item: _Node, node: ast.AST) -> _Node:
        """A simple statement or a header with the expressions inside it replaced, found by their source text."""
        for expression in self.expressions:
            if any(n is expression.node for n in ast.walk(node)):
                old = self.chunk.source_of(expression.node)
                same = [n for n in ast.walk(node) if isinstance(n, ast.expr) and self.chunk.source_of(n) == old]
                same.sort(key=lambda n: (n.lineno, n.col_offset))
                at = next((i for i, n in enumerate(same) if n is expression.node), 0)
                changed = _replace_text(item, self.module, old, expression.text, at, len(same))
                if changed is not None:
                    item = changed
                    self.done += 1
        return item


class _ByText(cst.CSTTransformer):
    """Replaces one of the expressions with a given text, or with ``at`` None counts them."""

    def __init__(self, module: cst.Module, old: str, new: cst.BaseExpression, at: int | None) -> None:
        super().__init__()
        self.module = module
        self.old = old
        self.new = new
        self.at = at
        self.seen = 0

    @property
    def done(self) -> bool:
        return self.at is not None and self.seen > self.at

    def on_visit(self, node: cst.CSTNode) -> bool:
        return not self.done

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        if self.done or not isinstance(original_node, cst.BaseExpression):
            return updated_node
        bare = original_node
        if bare.lpar:
            bare = bare.with_changes(lpar=[], rpar=[])
        if self.module.code_for_node(bare) != self.old:
            return updated_node
        self.seen += 1
        if not self.done:
            return updated_node
        if not original_node.lpar:
            return self.new  # with parentheses of its own
        return self.new.with_changes(lpar=original_node.lpar, rpar=original_node.rpar)


def _replace_text(root: _Node, module: cst.Module, old: str, new: str, at: int, count: int) -> _Node | None:
    """``root`` with one of the ``count`` expressions whose source is ``old`` replaced, the one at ``at``; None if there
    is none, or if it is not known which (inside f-strings older Pythons misplace nodes)."""
    made = cst.parse_expression(new)
    if count > 1:
        all_of_them = _ByText(module, old, made, None)
        root.visit(all_of_them)
        if all_of_them.seen != count:
            return None
    change = _ByText(module, old, made, at)
    result = root.visit(change)
    return result if change.done else None  # type: ignore[return-value]


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found.append(node.value)


def _comments_left(item: cst.CSTNode, found: _Found) -> list[str]:
    """Comments inside a replaced statement that the new lines do not hold."""
    held = [line.strip() for line in found.replacement.lines]
    return [comment for comment in _comments_inside(item) if comment not in held]


def _comments_inside(item: cst.CSTNode) -> list[str]:
    """Comments inside a statement that is replaced, in order; those before it are kept anyway."""
    visitor = _Comments()
    leading: Sequence[cst.EmptyLine] = getattr(item, "leading_lines", ())
    item.visit(visitor)
    before = sum(1 for line in leading if line.comment is not None)
    return visitor.found[before:]
