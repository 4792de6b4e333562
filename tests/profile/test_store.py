"""Profiles kept between sessions."""

from __future__ import annotations

import os

import pytest

from graphmend_lsp.profile import store
from graphmend_lsp.profile.anchors import Anchor, Measured
from graphmend_lsp.profile.report import Arm, Failure, Graph, Report, Site, Timing


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))


def _measured(path, entry="Net", device="cpu", asked="", texts=None):
    arm = Arm((Graph(3, {path: (1, 2)}),), 1, (Site(path, 2, "why", "GB0059"),), eager=Timing(1.0, 0.9, 1.1, 5))
    report = Report(path, entry, device=device, original=arm, mended_failure=Failure("raised", "é"), digest="d")
    return Measured(report, (Anchor(path, "Net.forward", "digest", 1, 9),), texts or {path: "\udc80é\n"}, asked)


def test_kept_by_path_and_entry():
    one, two, other = _measured("/p/a.py"), _measured("/p/a.py", "f"), _measured("/p/b.py")
    for each in (one, two, other):
        store.save(each)
    assert sorted(store.load("/p/a.py"), key=lambda each: each.report.entry) == [one, two]
    newer = _measured("/p/a.py", "f", device="cuda", asked="cuda")
    store.save(newer)
    assert newer in store.load("/p/a.py") and two not in store.load("/p/a.py")
    assert store.load("/p/c.py") == []


def test_the_newest():
    assert store.newest() is None
    for number, name in enumerate(("a", "b", "c")):
        store.save(_measured(f"/p/{name}.py"))
        os.utime(store.file_of(f"/p/{name}.py", "Net"), (number, number))
    os.utime(store.file_of("/p/a.py", "Net"), (9, 9))
    found = store.newest()
    assert found is not None and found.report.path == "/p/a.py"


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"version": 1}', '{"version": 9}', "[" * 100_000])
def test_what_cannot_be_read_is_ignored(damage):
    store.save(_measured("/p/a.py"))
    with open(store.file_of("/p/a.py", "Net"), "w") as stream:
        stream.write(damage)
    assert store.load("/p/a.py") == [] and store.newest() is None
    store.save(_measured("/p/a.py"))
    assert len(store.load("/p/a.py")) == 1


def test_bounded(monkeypatch):
    monkeypatch.setattr(store, "LIMIT", 3)
    for number in range(6):
        path = f"/p/{number}.py"
        page = store.file_of(path, "Net", ".html")
        store.save(_measured(path))
        os.utime(store.file_of(path, "Net"), (number, number))
        with open(page, "w") as stream:
            stream.write("page")
    kept = sorted(os.listdir(store.folder()))
    assert len([name for name in kept if name.endswith(".json")]) == 3
    assert len([name for name in kept if name.endswith(".html")]) == 3
    assert store.load("/p/5.py") and not store.load("/p/0.py")


def test_long_texts_are_left_out():
    long = {"/p/a.py": "x" * 3_000_000}
    store.save(_measured("/p/a.py", texts=long))
    (found,) = store.load("/p/a.py")
    assert found.texts == {}


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "file"))
    store.save(_measured("/p/a.py"))
    assert store.load("/p/a.py") == []
