"""Give mended code the lines of the original file, where a reader looks for what it does.

What mending left alone keeps its place exactly.  What it rewrote stands where the code it was made of stood, and
a helper where the statement stood that it took over.  So tracebacks, log records, warnings, breakpoints and
``inspect.getsource`` speak of the file as it is on disk.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from graphmend_lsp.origins import Origin
from graphmend_lsp.text import split_lines

_TRIVIAL = (ast.Name, ast.Constant, ast.arg, ast.Pass, ast.alias)
"""Equal by chance too often to say where code comes from."""

Node = Any
"""A node of ast that has a place."""

_Known = dict[int, list[Node]]


class _Place(NamedTuple):
    line: int
    column: int
    end_line: int
    end_column: int


def relocate(tree: ast.Module, original: str, origins: Sequence[Origin]) -> None:
    """Move the nodes of a mended tree to where they come from.

    ``original`` is the text before mending, ``origins`` are those of the lines of the text that was parsed.
    """
    _Relocation(ast.parse(original), split_lines(original), tree, origins).run()


class _Relocation:
    def __init__(self, old: ast.Module, lines: list[str], new: ast.Module, origins: Sequence[Origin]) -> None:
        self.lines = lines
        self.new = new
        self.origins = origins
        self.ids: dict[tuple[object, ...], int] = {}
        """A number for each shape of tree."""
        self.shapes: dict[ast.AST, int] = {}
        self._number(old)
        self._number(new)
        self.by_line: dict[int, list[Node]] = {}
        """Nodes of the original that may be recognised, outer ones first."""
        for node in _located(old):
            if not isinstance(node, _TRIVIAL):
                self.by_line.setdefault(node.lineno, []).append(node)
        self.done: set[ast.AST] = set()
        self.helpers: dict[str, Node] = {}
        self.users: dict[str, ast.stmt] = {}
        self.taken: dict[str, int] = {}
        """For each helper the line of the statement that it took over."""
        self.used: set[ast.AST] = set()

    def run(self) -> None:
        self._find_helpers()
        for name in self.helpers:
            self.taken[name] = self._place_helper(name)
        for node in list(_located(self.new)):  # parents before children
            if node in self.done:
                continue
            origin = self._origin(node.lineno)
            if origin.same:
                end = self._origin(node.end_lineno)
                self._set(node, _Place(origin.first, node.col_offset, max(end.last, end.first), node.end_col_offset))
                if not end.same:
                    node.end_col_offset = self._width(node.end_lineno)
                _order(node)
            else:
                self._place(node, origin)

    def _place(self, node: Node, origin: Origin, line: int | None = None) -> None:
        """Place what mending wrote, with all that is in it; ``line`` is its line if that is known."""
        if line is None and origin.last < origin.first:
            line = max(1, origin.first - 1)
        known = self._known(origin)
        pending = [(node, line)]
        while pending:
            part, around = pending.pop()
            twin = self._twin(part, known)
            if twin is not None:
                self._copy(twin, part)
                continue
            if hasattr(part, "lineno"):
                around = self.taken.get(_called(part)) or min(self._lines(part, known), default=around or origin.first)
                self._set(part, self._whole(around))
            pending += ((child, around) for child in ast.iter_child_nodes(part))

    def _place_helper(self, name: str) -> int:
        """Place a helper where the statement was that it took over; the line."""
        helper = self.helpers[name]
        user = self.users.get(name)
        origin = self._origin(helper.lineno if user is None else user.lineno)
        known = self._known(origin)
        body = [line for statement in helper.body for line in self._lines(statement, known)]
        line = min(body, default=max(1, origin.first if origin.last >= origin.first else origin.first - 1))
        for part in [helper, *helper.decorator_list, *ast.walk(helper.args)]:
            if hasattr(part, "lineno"):
                self._set(part, self._whole(line))
        for part in [*helper.decorator_list, *helper.body, *([helper.returns] if helper.returns else [])]:
            self._place(part, origin, line)
        return line

    def _find_helpers(self) -> None:
        """Functions that mending put in, and the statements that call them."""
        for node in _located(self.new):
            if isinstance(node, ast.FunctionDef):
                origin = self._origin(node.lineno)
                if not origin.same and origin.last < origin.first:
                    self.helpers[node.name] = node
        for node in _located(self.new):
            name = _called(node)
            if name in self.helpers:
                self.users.setdefault(name, node)

    def _known(self, origin: Origin) -> _Known:
        """Nodes of the original in some lines, by shape."""
        found: _Known = {}
        for line in range(origin.first, origin.last + 1):
            for node in self.by_line.get(line, ()):
                found.setdefault(self.shapes[node], []).append(node)
        return found

    def _twin(self, part: ast.AST, known: _Known) -> Node | None:
        """The node of the original that a part is a copy of; of several the first that has no copy yet."""
        same = known.get(self.shapes[part])
        if same is None:
            return None
        twin = next((node for node in same if node not in self.used), same[0])
        self.used.update(ast.walk(twin))
        return twin

    def _lines(self, part: ast.AST, known: _Known) -> list[int]:
        """The lines of the original that something in a part comes from."""
        shapes = [self.shapes[node] for node in ast.walk(part)]
        return [node.lineno for shape in shapes for node in known.get(shape, ()) if node not in self.used]

    def _copy(self, old: Node, new: Node) -> None:
        """Give a tree the places of another one of the same shape."""
        pending = [(old, new)]
        while pending:
            there, here = pending.pop()
            if hasattr(here, "lineno"):
                place = _Place(there.lineno, there.col_offset, there.end_lineno, there.end_col_offset)
                self._set(here, place)
            pending += zip(ast.iter_child_nodes(there), ast.iter_child_nodes(here), strict=True)

    def _set(self, node: Node, place: _Place) -> None:
        node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place
        self.done.add(node)

    def _whole(self, line: int) -> _Place:
        """A line from its first to its last character, under which a traceback draws no marks."""
        line = min(line, len(self.lines))
        text = self.lines[line - 1]
        return _Place(line, len(text) - len(text.lstrip()), line, self._width(line))

    def _width(self, line: int) -> int:
        return len(self.lines[min(line, len(self.lines)) - 1].rstrip().encode("utf-8", "surrogatepass"))

    def _origin(self, line: int) -> Origin:
        return self.origins[min(line, len(self.origins)) - 1]

    def _number(self, tree: ast.AST) -> None:
        """Number the shapes of a tree's parts, without recursion: sums of a thousand terms exist."""
        pending: list[tuple[ast.AST, bool]] = [(tree, False)]
        while pending:
            node, ready = pending.pop()
            if not ready:
                pending.append((node, True))
                pending += ((child, False) for child in ast.iter_child_nodes(node))
                continue
            shape = (type(node), *(self._part(getattr(node, name, None)) for name in node._fields))
            self.shapes[node] = self.ids.setdefault(shape, len(self.ids))

    def _part(self, value: Any) -> object:
        if isinstance(value, ast.AST):
            return self.shapes[value]
        if isinstance(value, list):
            return tuple(map(self._part, cast("list[Any]", value)))
        return type(value).__name__, repr(value)  # a number and a string that look alike differ


def _located(tree: ast.AST) -> Iterator[Node]:
    """The nodes that have a place, parents before their children, in the order of the text."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if hasattr(node, "lineno"):
            yield node
        pending += reversed(list(ast.iter_child_nodes(node)))


def _called(node: ast.AST) -> str:
    """The name that a statement calls, and does nothing else; "" for other statements."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        return node.value.func.id
    return ""


def _order(node: Node) -> None:
    """An end before the beginning is not valid."""
    if (node.end_lineno, node.end_col_offset) < (node.lineno, node.col_offset):
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
