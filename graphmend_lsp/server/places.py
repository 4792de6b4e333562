"""Which entry a command means: the one that it names, or the innermost one around a position."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from graphmend_lsp.server.translate import as_object, path_of

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

FIELDS = frozenset({"uri", "entry", "position"})


@dataclass(frozen=True)
class Place:
    """``uri`` and either ``entry``, the name of a function or class, or ``position``, in the client's units."""

    uri: str
    entry: str = ""
    position: types.Position | None = None

    @classmethod
    def read(cls, fields: Mapping[str, object]) -> Place:
        """The place in the argument of a command.

        Raises:
            ValueError: there is none.
        """
        uri, entry, position = fields.get("uri"), fields.get("entry"), fields.get("position")
        if not isinstance(uri, str) or not uri or (entry is None) == (position is None):
            raise ValueError(
                "expected an object with uri and either entry, the name of a function or class, or position"
            )
        if entry is not None:
            if not isinstance(entry, str) or not all(part.isidentifier() for part in entry.split(".")):
                raise ValueError("entry is not the name of a function or class")
            return cls(uri, entry)
        numbers = as_object(position)
        line, character = numbers.get("line"), numbers.get("character")
        if not (_is_count(line) and _is_count(character)):
            raise ValueError("position is not a line and a character, counted from 0")
        return cls(uri, position=types.Position(cast("int", line), cast("int", character)))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _around(server: GraphMendServer, place: Place) -> list[str]:
    """The entries around the position, the innermost first.  Runs in the worker."""
    document = server.documents.find(place.uri)
    outlined = server.results.outlined(document) if document is not None else None
    if outlined is None or place.position is None:
        return []
    line, _ = outlined.snapshot.positions.place(place.position)
    holding = [target for target in outlined.outline.targets if target.holds(line)]
    return [target.name for target in sorted(holding, key=lambda target: target.last - target.first)]


async def entry_at(
    server: GraphMendServer, place: Place, what: str, preferred: Callable[[str, str], bool] | None = None
) -> str | None:
    """The name of the entry that is meant; None where there is none, which the user is told.

    Of several around a position, the innermost for which ``preferred``, called with the path of the file and the
    name in the worker, is true; if it is for none, the innermost.
    """
    if place.entry:
        return place.entry
    names = await server.analyses.call(functools.partial(_ranked, server, place, preferred))
    if names is None:
        return None
    if not names:
        text = f"GraphMend cannot {what}: the cursor is in no compiled function and in no nn.Module with a forward."
        server.show(text, types.MessageType.Warning)
        return None
    return names[0]


def _ranked(server: GraphMendServer, place: Place, preferred: Callable[[str, str], bool] | None) -> list[str]:
    """Runs in the worker."""
    names = _around(server, place)
    if preferred is not None:
        path = path_of(place.uri)
        names.sort(key=lambda name: not preferred(path, name))
    return names
