"""Cached mends: used again only where everything they depend on is as it was, and never a reason to fail."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmend_lsp import check as core
from graphmend_lsp import hook
from graphmend_lsp.check import ProgramView
from graphmend_lsp.hook import cache, depends, loader, mender
from graphmend_lsp.hook.cache import Cache, Entry

from .conftest import NET, Write, fresh, is_mended

USER = """\
import torch

from pkg.helper import shown


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if shown(x):
            x = x * 2
        print("step")
        return x
"""
HELPER = """\
import torch


def shown(x: torch.Tensor) -> bool:
    return x.ndim > 1
"""


@pytest.fixture
def load(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Import modules as a new process would; whether the first one came from the cache."""

    def load(*names: str, left: bool = False, **options: object) -> bool:
        hook.uninstall()
        for name in [n for n in sys.modules if n.partition(".")[0] in {m.partition(".")[0] for m in names}]:
            del sys.modules[name]
        fresh(monkeypatch)
        mended: list[str] = []

        def count(path: str, *rest: object) -> Entry:
            mended.append(os.path.basename(path))
            return original(path, *rest)  # type: ignore[arg-type]

        original = mender.mend
        with monkeypatch.context() as patch:
            patch.setattr(mender, "mend", count)
            hook.install(names[0].partition(".")[0], **options)  # type: ignore[arg-type]
            module = importlib.import_module(names[0])
        assert is_mended(module) != left
        return f"{names[0].rpartition('.')[2]}.py" not in mended

    return load


@pytest.fixture
def package(write: Write) -> None:
    """Files old enough for their time stamps to be relied on."""
    for name, text in (("pkg/__init__.py", ""), ("pkg/net.py", USER), ("pkg/helper.py", HELPER), ("pkg/far.py", "")):
        settle(write(name, text))


def settle(path: Path, age: int = 60) -> None:
    then = time.time_ns() - age * 10**9
    os.utime(path, ns=(then, then))


Load = Callable[..., bool]


def test_a_second_process_takes_what_the_first_one_made(load: Load, package: None) -> None:
    assert not load("pkg.net")
    assert load("pkg.net")


def test_another_text_is_mended_anew(load: Load, package: None, write: Write) -> None:
    load("pkg.net")
    write("pkg/net.py", USER.replace("step", "stop"))
    assert not load("pkg.net")
    assert inspect.getsource(sys.modules["pkg.net"]).count("stop") == 1


@pytest.mark.parametrize("option", [{"unsafe": True}, {"ignore": ["GM1"]}, {"entries": ["f"]}, {"select": ["GM201"]}])
def test_other_settings_are_another_mend(load: Load, package: None, option: dict[str, object]) -> None:
    load("pkg.net")
    assert not load("pkg.net", **option)
    assert load("pkg.net", **option)
    assert load("pkg.net")


@pytest.mark.parametrize("target, name", [(cache, "__version__"), (loader.Hook, "_torch_release")])
def test_other_releases_are_another_mend(
    load: Load, package: None, monkeypatch: pytest.MonkeyPatch, target: object, name: str
) -> None:
    load("pkg.net")
    monkeypatch.setattr(target, name, "9.9" if name == "__version__" else lambda self: "9.9")
    assert not load("pkg.net")


def test_a_file_that_the_analysis_looked_at_counts_too(load: Load, package: None, write: Write, place: Path) -> None:
    load("pkg.net")
    settle(write("pkg/helper.py", HELPER.replace("x.ndim > 1", "bool((x > 0).any())")))
    assert not load("pkg.net")
    assert load("pkg.net")
    (place / "pkg/helper.py").unlink()
    with pytest.raises(ModuleNotFoundError):
        load("pkg.net")
    settle(write("pkg/helper.py", HELPER))
    assert not load("pkg.net")


def test_the_same_content_under_another_time_is_the_same(load: Load, package: None, place: Path) -> None:
    load("pkg.net")
    settle(place / "pkg/helper.py", 30)
    assert load("pkg.net")
    assert load("pkg.net")


def test_a_change_without_a_new_size_just_after_is_seen(load: Load, package: None, write: Write) -> None:
    path = write("pkg/helper.py", HELPER)
    state = path.stat()
    load("pkg.net")
    path.write_text(HELPER.replace("ndim > 1", "ndim < 1"), encoding="utf-8")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert not load("pkg.net")


def test_files_that_were_missing_and_appear(load: Load, package: None, write: Write) -> None:
    write("pkg/net.py", USER.replace("pkg.helper", "optional.helper").replace("shown(x)", "shown(x)"))
    write("optional/__init__.py", "")
    path = write("optional/helper.py", HELPER)
    load("pkg.net")
    assert load("pkg.net")
    write("optional/helper/__init__.py", HELPER.replace(" > 1", " > 2"))  # a package wins over a module
    assert path.exists()
    assert not load("pkg.net")


def test_the_configuration_counts_too(load: Load, package: None, write: Write) -> None:
    load("pkg.net")
    path = write("pyproject.toml", '[tool.graphmend]\nignore = ["GM1"]\n')
    assert not load("pkg.net")
    assert load("pkg.net")
    path.write_text('[tool.graphmend]\nignore = ["GM201"]\n', encoding="utf-8")
    assert not load("pkg.net", left=True)


def test_callers_in_other_files_count_too(load: Load, write: Write) -> None:
    helper = "import torch\n\n\ndef show(x: torch.Tensor) -> torch.Tensor:\n    print('step')\n    return x\n"
    user = "import torch\n\nfrom pkg.net import show\n\n\n"
    user += "class A(torch.nn.Module):\n    def forward(self, x):\n        return show(x)\n"
    for name, text in (("pyproject.toml", ""), ("pkg/__init__.py", ""), ("pkg/net.py", helper), ("pkg/user.py", user)):
        settle(write(name, text))
    assert not load("pkg.net")
    assert load("pkg.net")
    settle(write("pkg/other.py", "X = 1\n"))  # the index is asked again, and says the same
    assert load("pkg.net")
    settle(write("pkg/user.py", user.replace("return show(x)", "return x")))
    assert not load("pkg.net", left=True)


def test_every_question_of_the_analysis_is_recorded() -> None:
    """Whoever gives ``ProgramView`` another question must record its answer in hook/record.py and hook/depends.py."""
    questions = {name for name in vars(ProgramView) if not name.startswith("_")}
    assert questions - {"scope"} == {"source", "module_name", "callers", "runtime", "is_missing"}
    # "scope" follows from the roots, which are recorded, and decides only what is found out anew


def entry_files(place: Path) -> list[Path]:
    return sorted((place / "cache" / "hook").rglob("*.bin"))


@pytest.mark.parametrize("damage", [b"", b"x" * 10, None])
def test_damaged_entries_are_made_again(load: Load, package: None, place: Path, damage: bytes | None) -> None:
    load("pkg.net")
    for path in entry_files(place):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if damage is None else damage)
    assert not load("pkg.net")
    assert load("pkg.net")


def test_a_cache_that_cannot_be_written(
    load: Load, package: None, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "file").write_text("")
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(place / "file" / "cache"))
    monkeypatch.setattr(loader, "_complained", False)
    assert not load("pkg.net")
    assert not load("pkg.net")
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_many_writers_at_once(place: Path) -> None:
    entry = Entry((), "r" * 100_000, compile("x = 1", "f", "exec"))
    problems: list[str] = []

    def work() -> None:
        own = Cache()
        for number in range(30):
            own.write(f"{number % 3:040}", entry)
            if own.read(f"{number % 3:040}") != entry or own.complaint:
                problems.append(own.complaint or "another entry")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert [p.suffix for p in (place / "cache" / "hook").rglob("*.*")] == [".bin"] * 3


def test_the_cache_is_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache()
    for number in range(10):
        store.write(f"{number:040}", Entry((), "r" * 10_000, None))
        settle(entry_files(place)[-1], 1000 - number)
    store.sweep()
    assert len(entry_files(place)) == 10
    monkeypatch.setattr(cache, "LIMIT", 50_000)
    store.sweep()
    assert [int(p.stem) for p in entry_files(place)] == [7, 8, 9]


def test_what_has_nothing_to_mend_is_remembered_as_that(load: Load, package: None) -> None:
    load("pkg.far", left=True)
    assert load("pkg.far", left=True)


def test_mending_that_fails_leaves_the_module_as_it_is(
    place: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("net_x.py", NET)

    def fail(*arguments: object, **options: object) -> object:
        raise RecursionError("too deep")

    monkeypatch.setattr(core, "mend", fail)
    hook.install("net_x")
    assert not is_mended(importlib.import_module("net_x"))
    assert not entry_files(place)


def test_listing_of_a_project_sees_every_change(place: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(flat: bool = False) -> bytes:
        monkeypatch.setattr(depends, "_LISTINGS", {})
        return depends.listing(str(place), flat)

    settle(write("a.py", ""))
    settle(write("sub/b.py", ""))
    seen = [look()]
    assert seen[0] == look() != look(flat=True)
    settle(write("sub/deep/c.py", ""))
    seen.append(look())
    settle(write("sub/b.py", "x"))
    seen.append(look())
    settle(write(".venv/d.py", ""))
    assert look() == seen[-1]
    assert len(set(seen)) == 3
    write("e.py", "")
    assert look() == b""  # too new for its time stamp to mean anything
