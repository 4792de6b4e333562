"""Where the values of a JSON text stand, so that one of them can be replaced and the rest stays byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NEXT = re.compile(r'"|[\[{]|[\]}]')
_SCALAR = re.compile(r"[^,\]}\s]+")


@dataclass(frozen=True)
class Value:
    """A value in a text; the functions here expect a text that ``json.loads`` takes."""

    text: str
    start: int
    end: int

    @property
    def raw(self) -> str:
        return self.text[self.start : self.end]

    def members(self) -> Iterator[tuple[str, Value]]:
        """Names, as they are written between the quotes, and values of an object."""
        at = _skip(self.text, self.start + 1)
        while self.text[at] != "}":
            name = _STRING.match(self.text, at)
            assert name is not None
            at = _skip(self.text, name.end()) + 1  # the colon
            value = value_at(self.text, at)
            yield name[0][1:-1], value
            at = _skip(self.text, value.end)
            if self.text[at] == ",":
                at = _skip(self.text, at + 1)

    def member(self, name: str) -> Value | None:
        """A member of an object by name; the last one counts, as for ``json.loads``."""
        found = None
        for each, value in self.members():
            if each == name:
                found = value
        return found

    def items(self) -> Iterator[Value]:
        """The items of an array."""
        at = _skip(self.text, self.start + 1)
        while self.text[at] != "]":
            value = value_at(self.text, at)
            yield value
            at = _skip(self.text, value.end)
            if self.text[at] == ",":
                at = _skip(self.text, at + 1)


def value_at(text: str, at: int) -> Value:
    """The value that begins at or, behind white space, after an offset."""
    start = _skip(text, at)
    if text[start] == '"':
        return Value(text, start, _string_end(text, start))
    if text[start] not in "[{":
        scalar = _SCALAR.match(text, start)
        assert scalar is not None
        return Value(text, start, scalar.end())
    depth, at = 1, start + 1
    while depth:
        found = _NEXT.search(text, at)
        assert found is not None
        if found[0] == '"':
            at = _string_end(text, found.start())
        else:
            depth += 1 if found[0] in "[{" else -1
            at = found.end()
    return Value(text, start, at)


def _string_end(text: str, start: int) -> int:
    found = _STRING.match(text, start)
    assert found is not None
    return found.end()


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
