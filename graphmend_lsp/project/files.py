"""Read and write source files so that everything an edit does not touch stays as it was.

The text has its byte order mark removed and its line endings untouched; the encoding is the one that
Python itself would use (byte order mark, PEP 263 cookie, else UTF-8).
"""

from __future__ import annotations

import codecs
import io
import os
import stat
from dataclasses import dataclass, field

from graphmend_lsp.project import plain


class SourceError(Exception):
    """A file that cannot be read or written; the message is for the user and names no path."""


@dataclass(frozen=True)
class SourceFile:
    """One file as it was read; ``data`` are its bytes, by which a later change is noticed."""

    path: str
    text: str
    encoding: str
    bom: bool
    data: bytes = field(repr=False)

    def encode(self, text: str) -> bytes:
        """``text`` in this file's encoding and with its byte order mark.

        Raises:
            SourceError: the encoding has no such character.
        """
        try:
            body = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            char = text[error.start]
            raise SourceError(
                f"not written: {char!r} cannot be written in the file's encoding, {self.encoding}"
            ) from None
        return (codecs.BOM_UTF8 if self.bom else b"") + body


def decode(data: bytes, path: str = "<stdin>") -> SourceFile:
    """Source text from its bytes.

    Raises:
        SourceError: not the text it says it is.
    """
    bom = data.startswith(codecs.BOM_UTF8)
    encoding = "utf-8"
    if _may_have_cookie(data):
        import tokenize

        try:
            found, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError as error:
            raise SourceError(error.msg) from None
        encoding = "utf-8" if found == "utf-8-sig" else found
    try:
        text = data[len(codecs.BOM_UTF8) if bom else 0 :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"not {encoding} text (byte 0x{data[error.start]:02x} in line {line})") from None
    except (LookupError, ValueError) as error:
        raise SourceError(f"cannot decode as {encoding}: {error}") from None
    return SourceFile(path, text, encoding, bom, data)


def _may_have_cookie(data: bytes) -> bool:
    """Whether the first two lines can name an encoding; spares the import of ``tokenize``."""
    end = data.find(b"\n", data.find(b"\n") + 1) if b"\n" in data else -1
    return b"coding" in (data if end < 0 else data[:end])


def read(path: str) -> SourceFile:
    """A source file.

    Raises:
        SourceError: it cannot be read or decoded, or is no file: a pipe may never end.
    """
    return decode(content(path), path)


def content(path: str, most: int = plain.MOST_BYTES) -> bytes:
    """The bytes of a source file.

    Raises:
        SourceError: it cannot be read, is no plain file, or is too large.
    """
    try:
        return plain.read(path, most)[1]
    except OSError as error:
        raise SourceError(reason(error)) from None
    except ValueError as error:
        raise SourceError(str(error)) from None


def write(source: SourceFile, text: str) -> None:
    """Replace the file's content by ``text``, all or nothing; permissions, encoding and mark stay.

    Raises:
        SourceError: it changed since it was read, is read-only, or cannot hold the text.
    """
    data = source.encode(text)
    path = os.path.realpath(source.path)
    mode = _unchanged(path, source.data)
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise SourceError("not written: the file is read-only")
    _replace(path, data, mode, source.data)


def _unchanged(path: str, data: bytes) -> int:
    """The permissions of a file that still holds what was read.

    Raises:
        SourceError: it does not.
    """
    try:
        found, now = plain.read(path, len(data))
    except plain.TooLarge:
        raise SourceError("not written: the file has changed since it was read") from None
    except OSError as error:
        raise SourceError(f"not written: {reason(error)}") from None
    if now != data:
        raise SourceError("not written: the file has changed since it was read")
    return stat.S_IMODE(found.st_mode)


def create(path: str, text: str) -> None:
    """Write a file of ours in UTF-8, new or over an older one; what is no plain file is written to.

    Raises:
        SourceError: it cannot be written.
    """
    data = text.encode("utf-8")
    try:
        found = os.stat(path).st_mode
    except OSError:
        _replace(os.path.realpath(path), data, None)
        return
    if stat.S_ISREG(found):
        _replace(os.path.realpath(path), data, stat.S_IMODE(found))
        return
    try:  # a pipe, or a device like /dev/null, which must stay what it is
        with open(path, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise SourceError(f"not written: {reason(error)}") from None


def _replace(path: str, data: bytes, mode: int | None, before: bytes | None = None) -> None:
    """Put ``data`` in place of ``path`` in one step, and only in place of ``before`` if that is given.

    ``mode`` None means the default of a new file.
    """
    temporary = f"{path}.{os.getpid()}.graphmend-tmp"
    try:
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            if mode is not None:
                _keep_identity(path, temporary, mode)
            if before is not None:
                _unchanged(path, before)  # writing to the disk may have taken its time
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise SourceError(f"not written: {reason(error)}") from None


def _keep_identity(path: str, temporary: str, mode: int) -> None:
    """Give the new file the old one's owner, where that is allowed, and its permissions."""
    if hasattr(os, "chown"):
        old, new = os.stat(path), os.stat(temporary)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            try:
                os.chown(temporary, old.st_uid, old.st_gid)
            except OSError:
                pass  # not ours to give away; the content still has to be written
    os.chmod(temporary, mode)


def reason(error: OSError) -> str:
    """Why the system refused, in words."""
    return (error.strerror or str(error) or type(error).__name__).lower()
