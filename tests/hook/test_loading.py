"""Which modules are mended, however they come to be loaded."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from graphmend_lsp import hook
from graphmend_lsp.hook import loader

from .conftest import NET, Run, Write, is_mended


def by_path(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_packages_are_mended_with_their_submodules_and_nothing_else_is(place: Path, write: Write) -> None:
    for name in ("pkg/__init__.py", "pkg/deep/__init__.py"):
        write(name, "")
    for name in ("pkg/net.py", "pkg/deep/net.py", "other.py"):
        write(name, NET)
    hook.install("pkg")
    assert is_mended(importlib.import_module("pkg.net"))
    assert is_mended(importlib.import_module("pkg.deep.net"))
    assert not is_mended(importlib.import_module("other"))


def test_a_subpackage_can_be_named(place: Path, write: Write) -> None:
    for name in ("pkg/__init__.py", "pkg/deep/__init__.py", "pkg/deeper/__init__.py"):
        write(name, "")
    for name in ("pkg/net.py", "pkg/deep/net.py", "pkg/deeper/net.py"):
        write(name, NET)
    hook.install(["pkg.deep"])
    assert is_mended(importlib.import_module("pkg.deep.net"))
    assert not is_mended(importlib.import_module("pkg.deeper.net"))
    assert not is_mended(importlib.import_module("pkg.net"))


def test_a_module_loaded_by_path_is_mended(place: Path, write: Write) -> None:
    write("pkg/__init__.py", "")
    path = write("pkg/net.py", NET)
    hook.install("pkg")
    assert is_mended(by_path(path, "quite_another_name"))


def test_remote_code_as_hugging_face_loads_it(place: Path, write: Write) -> None:
    """No finder is asked for these: the folder is not on ``sys.path``, the package does not exist."""
    path = write("cache/modules/transformers_modules/repo/modeling.py", NET)
    hook.install("transformers_modules")
    assert is_mended(by_path(path, "transformers_modules.repo.modeling"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(sys.version_info >= (3, 15), reason="load_module is gone")
def test_the_older_way_to_load_by_path(place: Path, write: Write) -> None:
    path = write("remote/modeling.py", NET)
    hook.install([str(path.parent)])
    assert is_mended(SourceFileLoader("older_remote", str(path)).load_module())


def test_folders_and_files(place: Path, write: Write) -> None:
    write("src/net_a.py", NET)
    write("src/.venv/net_b.py", NET)
    write("src/lib/site-packages/net_c.py", NET)
    write("alone/net_d.py", NET)
    write("alone/net_e.py", NET)
    hook.install([str(place / "src"), str(place / "alone" / "net_d.py")])
    mended = {p.stem for p in place.rglob("net_*.py") if is_mended(by_path(p, p.stem))}
    assert mended == {"net_a", "net_d"}


def test_a_folder_leaves_out_what_the_configuration_excludes_and_a_named_package_does_not(
    place: Path, write: Write
) -> None:
    write("pyproject.toml", '[tool.graphmend]\nexclude = ["old/"]\n')
    write("old/net_f.py", NET)
    write("new/net_g.py", NET)
    hook.install([str(place) + os.sep])
    assert not is_mended(by_path(place / "old/net_f.py", "net_f"))
    assert is_mended(by_path(place / "new/net_g.py", "net_g"))
    hook.uninstall()
    del sys.modules["net_f"]
    hook.install("net_f")
    assert is_mended(by_path(place / "old/net_f.py", "net_f"))


def test_what_is_imported_already_is_named_in_a_warning(place: Path, write: Write) -> None:
    write("early/__init__.py", "")
    write("early/net.py", NET)
    importlib.import_module("early.net")
    with pytest.warns(RuntimeWarning, match=r"not mended: early, early\.net$") as caught:
        hook.install("early")
    assert caught[0].filename == __file__


def test_installing_the_same_again_changes_nothing(place: Path, write: Write, recwarn: pytest.WarningsRecorder) -> None:
    write("twice.py", NET)
    hook.install("twice")
    assert is_mended(importlib.import_module("twice"))
    hook.install("twice")
    assert len(loader._hooks) == 1
    assert not recwarn


def test_uninstalling_gives_the_loader_back(place: Path, write: Write) -> None:
    write("late.py", NET)
    hook.install("late")
    hook.uninstall()
    assert "get_code" not in vars(SourceFileLoader)
    assert not is_mended(importlib.import_module("late"))
    assert hook.VARIABLE not in os.environ


def test_another_patch_of_the_loader_is_kept(place: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watch(self: SourceFileLoader, name: str) -> object:
        seen.append(name)
        return super(SourceFileLoader, self).get_code(name)

    monkeypatch.setattr(SourceFileLoader, "get_code", watch, raising=False)
    write("watched.py", NET)
    write("plain.py", "X = 1\n")
    hook.install("watched")
    importlib.import_module("plain")
    assert is_mended(importlib.import_module("watched"))
    assert seen == ["plain"]
    hook.uninstall()
    assert vars(SourceFileLoader)["get_code"] is watch


def test_loaders_that_compile_in_their_own_way_are_left_alone(place: Path, write: Write) -> None:
    class Rewriting(SourceFileLoader):
        def source_to_code(self, data: object, path: object, **options: object) -> object:  # type: ignore[override]
            return compile("REWRITTEN = True", str(path), "exec")

    path = write("typed.py", NET)
    hook.install("typed")
    spec = importlib.util.spec_from_file_location("typed", path, loader=Rewriting("typed", str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.REWRITTEN


@pytest.mark.parametrize("name", ["torch", "torch.nn", "graphmend_lsp", "not a name", "", "./missing"])
def test_what_cannot_be_mended_is_refused(place: Path, name: str) -> None:
    with pytest.raises(ValueError):
        hook.install(name)
    assert not loader._hooks


def test_mended_bytecode_never_reaches_the_normal_cache_nor_comes_from_it(run: Run, write: Write) -> None:
    write("pyproject.toml", "")
    write("net.py", NET)
    script = write(
        "script.py",
        """\
        import net
        print("graph_effect" in vars(net), net.__file__, net.__cached__)
        """,
    )
    plain = run("script.py", mended=False)
    cached = Path(plain.out.split()[-1])
    before = cached.read_bytes()
    first, second = run("script.py"), run("script.py")
    assert first.out == second.out == plain.out.replace("False", "True", 1)  # __file__ and __cached__ are the same
    assert cached.read_bytes() == before
    assert run("script.py", mended=False).out == plain.out
    cached.unlink()
    assert run("script.py").out == first.out
    assert not cached.exists()
    assert not [p for p in script.parent.rglob("_graphmend*") if "cache" not in p.parts]


def test_the_variable_takes_plain_names(place: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("named.py", NET)
    monkeypatch.setenv(hook.VARIABLE, "named, other.package")
    assert hook.install_from_environment()
    assert is_mended(importlib.import_module("named"))
    hook.uninstall()
    assert not hook.install_from_environment()
    monkeypatch.setenv(hook.VARIABLE, json.dumps([{"packages": ["named"], "colour": "red"}]))
    with pytest.raises(ValueError, match="colour"):
        hook.install_from_environment()
