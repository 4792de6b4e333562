"""A frame that is broken costs its message, and no other one."""

from __future__ import annotations

import io
import os
import sys

import pytest

from graphmend_lsp.server.framing import Frames
from graphmend_lsp.server.translate import path_of, uri_key, uri_of

A, B = b'{"a": 1}', b'{"b": "Content-Length: 3\\r\\n\\r\\n"}'


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def bodies(data: bytes) -> list[bytes]:
    """What pygls reads: a line, an empty one, and a body by its length."""
    frames, found = Frames(io.BytesIO(data)), []
    while line := frames.readline():
        assert frames.readline() == b"\r\n"
        found.append(frames.read(int(line.removeprefix(b"Content-Length: "))))
    return found


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (framed(A) + framed(B), [A, B]),
        (b"content-length: %d\r\n\r\n" % len(A) + A + framed(B), [A, B]),
        (b"Content-Length:%d\n\n" % len(A) + A + framed(B), [A, B]),
        (b"X: y\r\nContent-Length: %d\r\nContent-Type: z\r\n\r\n" % len(A) + A + framed(B), [A, B]),
        (b"Content-Length: 0\r\n\r\n" + framed(B), [B]),
        (b"Content-Length: -1\r\n\r\n" + A + framed(B), [B]),
        (b"Content-Length: 99999999999999999999999\r\n\r\n" + A + framed(B), [B]),
        (b"Content-Length: 9999999999999999999\r\n\r\n" + A + framed(B), [B]),
        (b"Content-Length: 3\r\n\r\n" + A + framed(B), [A[:3], B]),
        (b"Content-Length: 20\r\n\r\n" + A + framed(B) + framed(A), [A, B, A]),  # the length is too long
        (b"Content-Length: 8\r\n\r\n" + framed(A) + framed(B), [A, B]),
        (b"\x00\xff junk without an end" + framed(B), [B]),
        (b"GET / HTTP/1.1\r\n\r\n" + framed(B), [B]),
        (framed(A)[:-1], []),  # the client is gone
    ],
)
def test_frames(data, found):
    assert bodies(data) == found


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_names_that_are_not_utf_8():
    path = os.fsdecode(b"/tmp/caf\xe9 \xf0\x9f\x99\x82.py")
    assert uri_of(path) == "file:///tmp/caf%E9%20%F0%9F%99%82.py"
    assert path_of(uri_of(path)) == path


@pytest.mark.parametrize("uri", ["http://[", "file://[::/a.py", "file:///a%00b.py", "file:///\ud800.py", "", ":"])
def test_what_no_file_can_be_called(uri):
    assert path_of(uri) == uri
    uri_key(uri)
    uri_of(path_of(uri))
