"""Which chunks of a file the analysis of a function can look at.

All that a function can reach inside its file it reaches through names that stand in some code: its own chunk
mentions a name, the chunk that binds the name mentions others.  Comments, docstrings and lists of strings at the
level of a class or module (``_no_split_modules = ["Layer"]``) mention nothing that an analysis would look up.
The transitive closure of "mentions a name bound by" is therefore a superset of everything an analysis that starts
in a chunk can depend on; if the same chunks (by identity) are in it after an edit, nothing it could see has changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from graphmend_lsp.model.module import Module
from graphmend_lsp.model.walk import CHILD_FIELDS
from graphmend_lsp.parse import Chunk

_WORD = re.compile(r"[^\W\d]\w*")
_MAX_CHUNKS = 8192
_known: dict[int, frozenset[str]] = {}
"""Names that chunks mention, by their ids."""


def _words(chunk: Chunk) -> frozenset[str]:
    found = _known.get(chunk.id)
    if found is None:
        if len(_known) >= _MAX_CHUNKS:
            _known.clear()
        found = _known[chunk.id] = frozenset(_mentioned(chunk.nodes))
    return found


def _mentioned(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every name that stands in code, those in strings that may be looked up included."""
    todo = [node for node in nodes if not _says_nothing(node)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            yield node.id
            continue
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield from _WORD.findall(node.value)
            continue
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield from _WORD.findall(f"{node.name} {node.asname or ''}")
        elif isinstance(node, ast.ImportFrom):
            yield from _WORD.findall(node.module or "")
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        silent = _silent_in(node) if isinstance(node, ast.ClassDef) else ()
        for field in CHILD_FIELDS[node.__class__]:
            value = getattr(node, field, None)
            for part in value if isinstance(value, list) else (value,):  # pyright: ignore[reportUnknownVariableType]
                if isinstance(part, ast.AST) and not _is_docstring(part) and part not in silent:
                    todo.append(part)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _silent_in(cls: ast.ClassDef) -> frozenset[ast.AST]:
    return frozenset(node for node in cls.body if _says_nothing(node))


def _says_nothing(node: ast.AST) -> bool:
    """A docstring, or an assignment of nothing but constants."""
    if _is_docstring(node):
        return True
    if not isinstance(node, ast.Assign):
        return False
    values = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple, ast.Set)) else [node.value]
    return all(isinstance(value, ast.Constant) for value in values)


@lru_cache(maxsize=256)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


class Closures:
    """Closures over the chunks of one module."""

    def __init__(self, module: Module) -> None:
        self._chunks: dict[int, Chunk] = module.parsed.seen_by_id
        self._binders: dict[str, set[int]] = {}
        for name, bindings in module.bindings.items():
            ids = {b.chunk.id for b in bindings if b.chunk is not None}
            if ids:
                self._binders[name] = ids
        self._names = frozenset(self._binders)
        self._direct: dict[int, frozenset[int]] = {}

    def of(self, chunk_id: int) -> frozenset[int]:
        """Ids of the chunks reachable from one, itself included."""
        found = {chunk_id}
        todo = [chunk_id]
        while todo:
            for target in self._mentioned(todo.pop()):
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return frozenset(found)

    def of_texts(self, texts: Iterable[str]) -> frozenset[int]:
        """Ids of the chunks reachable from the names in other files' texts."""
        names = {name for text in texts for name in self._names & _words_of(text)}
        return frozenset(i for name in names for chunk in self._binders[name] for i in self.of(chunk))

    def _mentioned(self, chunk_id: int) -> frozenset[int]:
        known = self._direct.get(chunk_id)
        if known is None:
            chunk = self._chunks.get(chunk_id)
            # A function of another file (an inherited ``forward``) sees this one only through its receiver.
            names = _words(chunk) & self._names if chunk is not None else frozenset[str]()
            known = frozenset(i for name in names for i in self._binders[name])
            self._direct[chunk_id] = known
        return known
