"""Reading and writing: everything an edit does not touch stays as it was."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest

from graphmend_lsp.project import files


def test_utf8_by_default_with_line_endings_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("x = 'é'\r\ny = 1\n".encode())
    source = files.read(str(path))
    assert (source.text, source.encoding, source.bom) == ("x = 'é'\r\ny = 1\n", "utf-8", False)


def test_byte_order_mark_is_not_part_of_the_text_and_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1\n")
    source = files.read(str(path))
    assert source.text.startswith("# coding") and source.bom
    files.write(source, source.text.replace("1", "2"))
    assert path.read_bytes() == codecs.BOM_UTF8 + b"# coding: utf-8\nx = 2\n"


@pytest.mark.parametrize(
    "cookie", ["# -*- coding: latin-1 -*-\n", "#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\n"]
)
def test_cookie_in_the_first_two_lines(tmp_path: Path, cookie: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes((cookie + "x = 'é'\n").encode("latin-1"))
    source = files.read(str(path))
    assert source.text == cookie + "x = 'é'\n"
    files.write(source, source.text.replace("é", "ü"))
    assert path.read_bytes() == (cookie + "x = 'ü'\n").encode("latin-1")


def test_a_cookie_in_the_third_line_is_a_comment() -> None:
    assert files.decode("#\n#\n# coding: latin-1\nx = 'é'\n".encode()).encoding == "utf-8"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = 1\ny = '\xff'\n", "byte 0xff in line 2"),
        (b"# coding: no-such-codec\n", "no-such-codec"),
        (b"# coding: rot13\nx = 1\n", "rot13"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "encoding problem"),
    ],
)
def test_text_that_is_not_what_it_says(data: bytes, message: str) -> None:
    with pytest.raises(files.SourceError, match=message):
        files.decode(data)


def test_a_character_that_the_encoding_lacks_is_refused_and_nothing_written(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\nx = 1\n")
    source = files.read(str(path))
    with pytest.raises(files.SourceError, match="iso-8859-1"):
        files.write(source, source.text + "# →\n")
    assert path.read_bytes() == source.data


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    source = files.read(str(path))
    path.write_bytes(b"x = 3\n")
    with pytest.raises(files.SourceError, match="changed since"):
        files.write(source, "x = 2\n")
    assert path.read_bytes() == b"x = 3\n"


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    path.chmod(0o444)
    with pytest.raises(files.SourceError, match="read-only"):
        files.write(files.read(str(path)), "x = 2\n")
    assert path.read_bytes() == b"x = 1\n"


@pytest.mark.skipif(os.name == "nt", reason="permission bits")
def test_permissions_stay_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    path.chmod(0o754)
    files.write(files.read(str(path)), "x = 2\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert os.listdir(tmp_path) == ["a.py"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(b"x = 1\n")
    link = tmp_path / "link.py"
    link.symlink_to("real.py")
    files.write(files.read(str(link)), "x = 2\n")
    assert link.is_symlink() and (tmp_path / "real.py").read_bytes() == b"x = 2\n"


def test_create_makes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    for text in ("a = 'é'\n", "b = 1\n"):
        files.create(str(path), text)
        assert path.read_bytes() == text.encode()


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices as in POSIX")
def test_create_leaves_a_device_and_a_pipe_what_they_are(tmp_path: Path) -> None:
    device, pipe = tmp_path / "null", tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.create(str(pipe), "é\n")
    assert os.read(reader, 100) == "é\n".encode() and stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)
    device.symlink_to("/dev/null")
    files.create(str(device), "x\n")
    assert device.is_symlink() and stat.S_ISCHR(device.stat().st_mode)
    with pytest.raises(files.SourceError, match="is a directory"):
        files.create(str(tmp_path), "x\n")


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(files.SourceError, match="no such file"):
        files.read(str(tmp_path / "none.py"))
    with pytest.raises(files.SourceError):
        files.read(str(tmp_path))


@pytest.mark.parametrize("what", ["other text", "longer", "gone", "a folder", "a pipe"])
def test_what_becomes_another_file_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """An edit belongs to the text that it was made for, and to no other one."""
    if what == "a pipe" and not hasattr(os, "mkfifo"):
        pytest.skip("no pipes in the file system")
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    source = files.read(str(path))
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        if what in ("other text", "longer"):
            path.write_text("y = 2\n" if what == "other text" else "x = 1\n# and more\n")
            return
        path.unlink()
        if what == "a folder":
            path.mkdir()
        elif what == "a pipe":
            os.mkfifo(path)

    monkeypatch.setattr(os, "fsync", fsync)
    reason = {"gone": "no such file", "a folder": "is a directory", "a pipe": "not a plain file"}
    with pytest.raises(files.SourceError, match=f"not written: {reason.get(what, 'the file has changed')}"):
        files.write(source, "x = 3\n")
    assert [each.name for each in tmp_path.iterdir()] == ([] if what == "gone" else ["a.py"])
    if path.is_file():
        assert path.read_text() == ("y = 2\n" if what == "other text" else "x = 1\n# and more\n")
