"""Which chunks of a file the analysis of a function can look at.

All that a function can reach inside its file it reaches through names that stand in some text: its own chunk
mentions a name, the chunk that binds the name mentions others.  The transitive closure of "mentions a name
bound by" is therefore a superset of everything an analysis that starts in a chunk can depend on; if the same
chunks (by identity) are in it after an edit, nothing it could see has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from graphmend_lsp.model.module import Module
from graphmend_lsp.parse import Chunk

_WORD = re.compile(r"[^\W\d]\w*")


@lru_cache(maxsize=4096)
def _words(chunk_id: int, text: str) -> frozenset[str]:
    del chunk_id
    return frozenset(_WORD.findall(text))


@lru_cache(maxsize=256)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


class Closures:
    """Closures over the chunks of one module."""

    def __init__(self, module: Module) -> None:
        self._chunks: dict[int, Chunk] = module.parsed.by_id
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
            names = _words(chunk_id, chunk.text) & self._names if chunk is not None else frozenset[str]()
            known = frozenset(i for name in names for i in self._binders[name])
            self._direct[chunk_id] = known
        return known
