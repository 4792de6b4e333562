"""The index that follows an edit answers as one made anew; names are told apart before files are read."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.project import layout
from graphmend_lsp.project.index import Index
from graphmend_lsp.project.program import DiskProgram
from graphmend_lsp.project.summary import summarise, word_hash

LAYERS = """
import torch
from torch import nn


def gate(x):
    return x * 2 if x.sum() > 0 else x


class Layer(nn.Module):
    def helper(self, x):
        return gate(x)

    def forward(self, x):
        return self.helper(x)
"""
USER = """
from torch import nn
from {module} import {name}


class Net(nn.Module):
    def forward(self, x):
        return {name}(x)
"""
WORDS = ("gate(x)", "self.helper(x)", "x", "Layer()(x)", "other(x)")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "user.py").write_text(USER.format(module="layers", name="gate"))
    return tmp_path


def callers(index: Index, root: Path, overlay: dict[str, str] | None = None) -> list[tuple[str, str, str]]:
    found = index.callers(str(root / "layers.py"), ("gate", "Layer.helper"), (), overlay or {})
    return [(caller.module, caller.qualname, caller.function) for caller in found]


def test_a_function_of_the_same_name_from_elsewhere_is_no_caller(root: Path) -> None:
    assert callers(Index(str(root)), root) == [("user", "Net.forward", "gate")]
    (root / "others.py").write_text("def gate(x):\n    return x\n")
    (root / "user.py").write_text(USER.format(module="others", name="gate"))
    assert callers(Index(str(root)), root) == []


def test_a_name_is_followed_through_re_exports(root: Path) -> None:
    (root / "api.py").write_text("from layers import gate\n")
    (root / "user.py").write_text(USER.format(module="api", name="gate"))
    assert callers(Index(str(root)), root) == [("user", "Net.forward", "gate")]
    (root / "api.py").write_text("from layers import *\n")
    assert callers(Index(str(root)), root) == [("user", "Net.forward", "gate")]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("from layers import Layer\n\n\nclass Mine(Layer):\n", True),
        ("from layers import Layer as Base\n\n\nclass Mine(Base):\n", True),
        ("import layers\n\n\nclass Mine(layers.Layer):\n", True),
        ("import layers\n\nBase = layers.Layer\n\n\nclass Mine(Base):\n", True),
        ("from layers import gate\n\n\nclass Layer:\n    pass\n\n\nclass Mine:\n", False),
    ],
)
def test_a_method_is_known_where_its_class_is(root: Path, text: str, calls: bool) -> None:
    (root / "user.py").write_text(text + "    def forward(self, x):\n        return self.helper(x)\n")
    assert (("user", "Mine.forward", "Layer.helper") in callers(Index(str(root)), root)) is calls


def test_some_of_the_many_that_share_a_base_class_are_followed(root: Path) -> None:
    (root / "base.py").write_text(
        "from torch import nn\nfrom layers import gate\n\nTABLE = {'gate': gate}\n\n\n"
        "class Base(nn.Module):\n    def chosen(self, x):\n        return TABLE['gate'](x)\n"
    )
    (root / "user.py").write_text("")
    for number in range(100):
        (root / f"model{number}.py").write_text(
            "from base import Base\n\n\nclass Net(Base):\n    def forward(self, x):\n        return self.chosen(x)\n"
        )
    followed = [module for module, _, function in callers(Index(str(root)), root) if function == "gate"]
    models = [module for module in followed if module.startswith("model")]
    assert 2 <= len(set(models)) <= 20


def test_following_edits_gives_what_a_new_index_gives(root: Path) -> None:
    choice = random.Random(7)
    index = Index(str(root))
    overlay: dict[str, str] = {}
    for _ in range(400):
        path = root / choice.choice(("layers.py", "user.py"))
        text = overlay.get(str(path), path.read_text())
        kind = choice.randrange(7)
        if kind == 0:
            lines = text.split("\n")
            bodies = [number for number, line in enumerate(lines) if line.startswith("        return")]
            if bodies:
                lines[choice.choice(bodies)] = f"        return {choice.choice(WORDS)}"
            overlay[str(path)] = "\n".join(lines)
        elif kind == 1:
            overlay[str(path)] = text + "\n\ndef other(x):\n    return gate(x)\n"
        elif kind == 2:
            overlay[str(path)] = text.replace("gate", "other", 1)
        elif kind == 3:
            name = choice.choice(("other", "more", "gate"))
            overlay[str(path)] = text + f"\n\ndef {name}(x):\n    return {choice.choice(WORDS)}\n"
        elif kind == 4:
            overlay[str(path)] = text[: text.rindex("\n\n\ndef ")] + "\n" if "\n\n\ndef " in text else text
        elif kind == 5:
            method = f"    def helper(self, x):\n        return {choice.choice(WORDS)}\n\n"
            overlay[str(path)] = text.replace("    def forward", method + "    def forward", 1)
        else:
            overlay.pop(str(path), None)
        assert callers(index, root, overlay) == callers(Index(str(root)), root, overlay)


def test_a_module_that_gets_another_name(root: Path) -> None:
    """By a configuration elsewhere: what is kept of the file is of the name that it had."""
    inner = root / "inner"
    inner.mkdir()
    (root / "layers.py").rename(inner / "layers.py")
    (inner / "user.py").write_text(USER.format(module="layers", name="gate"))
    (root / "user.py").write_text(USER.format(module="inner.layers", name="gate"))

    def found() -> list[str]:
        layout.forget()
        extent = layout.project_extent(str(inner / "layers.py"))
        answer = Index(*extent).callers(str(inner / "layers.py"), ("gate",), (), {})
        return [caller.module for caller in answer]

    assert found() == ["inner.user", "user"]
    (inner / "pyproject.toml").write_text("")
    assert found() == ["user"] and layout.module_name(str(inner / "layers.py"))[0] == "layers"
    (inner / "user.py").unlink()
    assert found() == []
    (inner / "pyproject.toml").unlink()
    assert found() == ["user"]


def test_a_script_imports_from_its_own_folder(root: Path) -> None:
    """Which is no package: Python finds what lies beside the script that is started."""
    scripts = root / "scripts"
    scripts.mkdir()
    (root / "layers.py").rename(scripts / "layers.py")
    (root / "user.py").rename(scripts / "user.py")
    (scripts / "star.py").write_text(USER.format(module="layers", name="gate").replace("import gate", "import *"))

    def found(index: Index) -> set[str]:
        return {caller.module for caller in index.callers(str(scripts / "layers.py"), ("gate",), (), {})}

    assert found(Index(str(root))) == {"scripts.user", "scripts.star"}
    (scripts / "__init__.py").write_text("")  # a package: its modules are not found by their last names
    assert found(Index(str(root))) == set()


def test_a_helper_beside_its_script_is_judged_by_it(root: Path) -> None:
    scripts = root / "scripts"
    scripts.mkdir()
    (root / "layers.py").unlink()
    (root / "user.py").unlink()
    helper = scripts / "helper.py"
    helper.write_text("def note(x):\n    print(x)\n    return x\n")
    (scripts / "model.py").write_text(USER.format(module="helper", name="note"))
    program = DiskProgram([str(root)]).for_file(str(helper))
    (finding,) = check(helper.read_text(), str(helper), program=program).findings
    assert finding.code == "GM201"


@pytest.mark.parametrize("loss", ["nothing", "the store", "its parts", "a part"])
def test_parts_that_are_not_stored_any_more_are_read_again(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(cache))
    Index(str(root)).prepare()
    index = Index(str(root))
    index.prepare()
    (store,) = cache.glob("*.sqlite")
    if loss == "the store":
        store.unlink()
    elif loss != "nothing":
        with sqlite3.connect(store) as connection:
            where = "" if loss == "its parts" else "WHERE path LIKE '%user.py'"
            connection.execute(f"UPDATE files SET units = 'x' {where}")
        connection.close()
    index.hold()
    assert callers(index, root) == [("user", "Net.forward", "gate")]


def test_names_that_are_told_apart_by_a_filter() -> None:
    """A file is never passed over that mentions the name; few others are looked at."""
    names = [f"{word}_{number}" for word in ("layer", "größe", "forward") for number in range(700)]
    outline = summarise("".join(f"def {name}(x):\n    return {name}_in(x)\n" for name in names), "m", False).outline
    assert all(outline.may_mention(word_hash(f"{name}_in")) for name in names)
    assert sum(outline.may_mention(word_hash(f"{name}_out")) for name in names) < 0.15 * len(names)
    assert not any(summarise("", "m", False).outline.may_mention(word_hash(name)) for name in names)
