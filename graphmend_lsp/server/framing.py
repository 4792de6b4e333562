"""Messages out of the bytes of a client, whatever is wrong with the frames around them.

pygls reads header lines and takes a body by its length.  A header that it does not know (``content-length``, a bare
line feed) or a wrong length leaves it in the middle of a body, where it finds no header ever again.  Here a header is
found wherever a line ends with one, also behind the rest of a body, and a body ends where the next header begins:
inside JSON there is no such line.  So a broken frame costs the one message.
"""

from __future__ import annotations

import re
from typing import BinaryIO

_HEADER = rb"content-length:[ \t]*([0-9]{1,19})[ \t]*\r?\n"
_LENGTH = re.compile(_HEADER + rb"\Z", re.IGNORECASE)
_NEXT = re.compile(_HEADER + rb"(?:[a-z-]+:[^\r\n]*\r?\n)*\r?\n", re.IGNORECASE)
_LONGEST = 40
"""Bytes of a header that gives a length."""
_MOST = 512 * 1024 * 1024
"""Bytes of a body: what claims to be longer is no message."""
_LINE = 1024 * 1024
"""Bytes of junk that are looked through at once."""


class Frames:
    """A binary stream whose frames are as pygls wants them."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        """Read too far."""
        self._body: bytes | None = None
        self._told = False

    def readline(self) -> bytes:
        """A line of a header: the length of the next body, then the empty one; nothing at the end."""
        if self._body is not None and self._told:
            self._told = False
            return b"\r\n"
        self._body = self._next()
        if self._body is None:
            return b""
        self._told = True
        return b"Content-Length: %d\r\n" % len(self._body)

    def read(self, size: int) -> bytes:
        """The body whose length was told."""
        del size
        body, self._body = self._body, None
        return body or b""

    def _next(self) -> bytes | None:
        """The next body that is not empty; None at the end of the stream."""
        length = 0
        while line := self._line():
            found = _LENGTH.search(line)
            if found is not None and not length:
                length = int(found[1])
                length = length if length <= _MOST else 0
            elif length and not line.strip():
                return self._taken(length)
        return None

    def _taken(self, length: int) -> bytes | None:
        """A body of a length, or up to a frame that begins in it; None where the stream ends before."""
        data, self._rest = self._rest, b""
        if len(data) < length:
            data += self._stream.read(length - len(data))
        if len(data) < length and _NEXT.search(data) is None:
            return None
        end = length
        begins = _NEXT.search(data, 0, length)
        if begins is None and not data[:length].rstrip().endswith((b"}", b"]")):
            known = len(data)
            data += self._stream.readline(_LINE)  # it may end in the middle of a header
            begins = _LENGTH.search(data, max(known - _LONGEST, 0)) if known == length else None
        if begins is not None and begins.start() < length:
            end = begins.start()
        self._rest = data[end:]
        return data[:end] or self._next()

    def _line(self) -> bytes:
        if not self._rest:
            return self._stream.readline(_LINE)
        line, feed, self._rest = self._rest.partition(b"\n")
        return line + feed if feed else line + self._stream.readline(_LINE)
