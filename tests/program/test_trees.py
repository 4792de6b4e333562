"""Packages of several files: what is flagged in each, against its marks and against TorchDynamo itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.check import Analysis, check
from graphmend_lsp.project.program import DiskProgram
from tests.support.markers import Statements, expected

TREES = sorted(path for path in (Path(__file__).parent / "trees").iterdir() if path.is_dir())


@pytest.fixture(params=TREES, ids=lambda path: path.name)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy with a project's marker, so that it is a project of its own."""
    root = tmp_path / request.param.name
    shutil.copytree(request.param, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text("")
    return root


def analyse(root: Path, path: Path) -> Analysis:
    program = DiskProgram((str(root),)).for_file(str(path))
    return check(path.read_text(), str(path), program=program)


def marks(root: Path) -> dict[str, set[tuple[int, str]]]:
    found = {path.relative_to(root).as_posix(): expected(path.read_text()) for path in root.rglob("*.py")}
    return {name: lines for name, lines in found.items() if lines}


def test_each_file_alone_shows_what_its_callers_break(tree: Path) -> None:
    found: dict[str, set[tuple[int, str]]] = {}
    for path in sorted(tree.rglob("*.py")):
        for finding in analyse(tree, path).findings:
            found.setdefault(path.relative_to(tree).as_posix(), set()).add((finding.statement.line, finding.code))
    assert found == marks(tree)


def test_the_marks_are_where_dynamo_breaks(tree: Path) -> None:
    script = Path(__file__).with_name("measure.py")
    done = subprocess.run([sys.executable, script, tree], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured: dict[str, set[int]] = {}
    for name, line in json.loads(done.stdout.strip().splitlines()[-1]):
        header = Statements((tree / name).read_text()).at(line)
        assert header is not None
        measured.setdefault(name, set()).add(header[0])
    assert measured == {name: {line for line, _ in lines} for name, lines in marks(tree).items()}


def test_a_helper_names_the_entries_it_costs(tmp_path: Path) -> None:
    root = tmp_path / "callers"
    shutil.copytree(TREES[0].parent / "callers", root)
    (root / "pyproject.toml").write_text("")
    found = {f.code: f for f in analyse(root, root / "towers/gate.py").findings}
    assert [entry.name for entry in found["GM302"].entries] == ["First.forward", "Second.forward", "Third.forward"]
    assert [entry.name for entry in found["GM202"].entries] == ["Third.forward"]  # the one that passes an int
    assert [entry.name for entry in found["GM101"].entries] == ["Fourth.forward"]
    said = [step.message for step in found["GM302"].evidence]
    assert said[-2:] == ["also reached from `Second.forward`", "also reached from `Third.forward`"]
    assert {Path(step.path).name for step in found["GM302"].evidence if step.path} == {
        "first.py",
        "second.py",
        "third.py",
    }


def test_compiled_elsewhere_is_explicit_there(tmp_path: Path) -> None:
    root = tmp_path / "compiled"
    shutil.copytree(TREES[0].parent / "compiled", root)
    (root / "pyproject.toml").write_text("")
    net, *made = analyse(root, root / "library/net.py").findings
    assert (net.severity, net.confidence) == ("error", "explicit")  # fullgraph=True in main.py
    assert {f.severity for f in made} == {"warning"}  # what the functions of factory.py make
    assert {f.severity for f in analyse(root, root / "library/steps.py").findings} == {"warning"}
    (root / "main.py").unlink()
    net, *_ = analyse(root, root / "library/net.py").findings
    assert (net.severity, net.confidence) == ("information", "implied")
    assert analyse(root, root / "library/steps.py").findings == ()  # nobody compiles them any more


def test_the_index_follows_edits_and_open_buffers(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    helper, model = tmp_path / "helper.py", tmp_path / "model.py"
    helper.write_text("def note(x):\n    print(x)\n    return x\n")
    head = "from torch import nn\nfrom helper import note\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
    model.write_text(head + "        return x + 1\n")
    overlay: dict[str, str] = {}
    program = DiskProgram((str(tmp_path),), overlay=overlay)

    def codes() -> list[str]:
        analysis = check(helper.read_text(), str(helper), program=program.for_file(str(helper)))
        return [finding.code for finding in analysis.findings]

    assert codes() == []
    overlay[str(model)] = head + "        return note(x + 1)\n"
    assert codes() == ["GM201"]
    del overlay[str(model)]
    assert codes() == []
    model.write_text(head + "        return note(x) + 1\n")
    assert DiskProgram((str(tmp_path),)).for_file(str(helper)).callers(str(helper), ("note",), ())
    program.refresh()
    assert codes() == ["GM201"]


def test_a_spoilt_index_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "compiled"
    shutil.copytree(TREES[0].parent / "compiled", root)
    (root / "pyproject.toml").write_text("")
    assert len(analyse(root, root / "library/steps.py").findings) == 2
    (stored,) = (tmp_path / "cache").glob("index-*")
    stored.write_bytes(b"not a database at all" * 100)
    assert len(analyse(root, root / "library/steps.py").findings) == 2
    assert len(analyse(root, root / "library/steps.py").findings) == 2


def test_no_place_for_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "compiled"
    shutil.copytree(TREES[0].parent / "compiled", root)
    (root / "pyproject.toml").write_text("")
    assert len(analyse(root, root / "library/steps.py").findings) == 2
