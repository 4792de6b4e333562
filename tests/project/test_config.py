"""``[tool.graphmend]``: found, read, and its mistakes reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmend_lsp.project import torch_release
from graphmend_lsp.project.config import load_for
from graphmend_lsp.settings import Settings


def configure(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)


def test_the_nearest_file_with_the_table_wins(tmp_path: Path) -> None:
    configure(tmp_path, "[tool.graphmend]\nentries = ['outer']\n")
    configure(tmp_path / "a", "[tool.ruff]\nline-length = 100\n")
    configure(tmp_path / "b", "[tool.graphmend]\nentries = ['inner']\n")
    assert load_for(str(tmp_path / "a" / "m.py")).settings.entries == ("outer",)
    assert load_for(str(tmp_path / "a" / "m.py")).root == str(tmp_path)
    assert load_for(str(tmp_path / "b" / "deep" / "m.py")).settings.entries == ("inner",)


def test_every_key(tmp_path: Path) -> None:
    configure(
        tmp_path,
        """
[tool.graphmend]
select = ["GM2"]
extend-select = ["print-in-graph"]
ignore = ["gm201"]
entries = ["Model.encode"]
exclude = ["generated/", "*_pb2.py"]
unsafe-fixes = true
runtime = "package"
torch-version = "2.9"

[tool.graphmend.per-file-ignores]
"tests/**" = ["GM2"]

[tool.graphmend.severity]
GM2 = "information"
GM201 = "error"
""",
    )
    config = load_for(str(tmp_path))
    assert config.problems == ()
    assert config.settings.select == ("GM2", "GM201")
    assert config.settings.ignore == ("GM201",)
    assert config.settings.entries == ("Model.encode",)
    assert config.settings.runtime == "package"
    assert config.settings.torch_version == (2, 9)
    assert config.settings.severity["GM201"] == "error"
    assert config.unsafe_fixes
    assert config.excludes(str(tmp_path / "pkg" / "x_pb2.py"))
    assert config.excludes(str(tmp_path / "generated") + "/")
    assert not config.excludes(str(tmp_path / "pkg" / "x.py"))
    assert not config.excludes(str(tmp_path.parent / "x_pb2.py"))


def test_per_file_ignores_win_over_select(tmp_path: Path) -> None:
    configure(tmp_path, "[tool.graphmend]\nselect = ['GM201']\nper-file-ignores = { 'tests/**' = ['GM2'] }\n")
    config = load_for(str(tmp_path))
    assert config.settings_for(str(tmp_path / "m.py")).wants("GM201")
    assert not config.settings_for(str(tmp_path / "tests" / "m.py")).wants("GM201")


def test_mistakes_are_reported_with_their_line_and_the_rest_holds(tmp_path: Path) -> None:
    configure(
        tmp_path,
        "[project]\nname = 'x'\n\n[tool.graphmend]\nselct = ['GM1']\nignore = 'GM201'\nentries = ['f']\n"
        "unsafe-fixes = 'yes'\nruntime = 'system'\ntorch-version = 2.13\nextend-select = ['GM999']\n",
    )
    config = load_for(str(tmp_path / "m.py"))
    assert config.settings.entries == ("f",) and config.settings.ignore == () and not config.unsafe_fixes
    said = {problem.line: problem.message for problem in config.problems}
    assert "unknown key 'selct'" in said[5]
    assert "ignore must be a list of strings" in said[6]
    assert "unsafe-fixes must be true or false" in said[8]
    assert '"vendored" or "package"' in said[9]
    assert '"2.13"' in said[10]
    assert "extend-select names no rule: 'GM999'" in said[11]
    assert all(problem.path == str(tmp_path / "pyproject.toml") for problem in config.problems)


def test_mistakes_inside_a_value_are_reported_with_their_line(tmp_path: Path) -> None:
    configure(
        tmp_path,
        "# GM998, GM999\n[tool.graphmend]\nselect = [\n    'GM1',\n    'GM999',\n]\n"
        "ignore = ['GM998']\n\n[tool.graphmend.per-file-ignores]\n'a.py' = ['GM1']\n'b.py' = [\n  'GM997'\n]\n\n"
        "[tool.graphmend.severity]\nGM2 = 'hint'\nGM996 = 'hint'\nprint-in-graph = 'loud'\n",
    )
    said = {problem.message.partition("] ")[2]: problem.line for problem in load_for(str(tmp_path)).problems}
    assert said == {
        "select names no rule: 'GM999'": 5,
        "ignore names no rule: 'GM998'": 7,
        "per-file-ignores names no rule: 'GM997'": 12,
        "severity names no rule: 'GM996'": 17,
        "severity of print-in-graph must be one of error, warning, information, hint": 18,
    }


def test_broken_toml_is_reported_only_where_it_is_about_us(tmp_path: Path) -> None:
    configure(tmp_path, "[tool.graphmend]\nentries = ['f'\n")
    config = load_for(str(tmp_path / "m.py"))
    assert config.settings.entries == () and "not valid TOML" in config.problems[0].message
    configure(tmp_path / "other", "[tool.ruff\n")
    configure(tmp_path, "[tool.graphmend]\nentries = ['f']\n")
    assert load_for(str(tmp_path / "other" / "m.py")).problems == ()
    assert load_for(str(tmp_path / "other" / "m.py")).settings.entries == ("f",)


@pytest.mark.parametrize("table", ["tool.graphmend = 3", "tool = 3 # graphmend", "[tool.graphmend]\nseverity = 1"])
def test_odd_tables_do_not_stop_anything(tmp_path: Path, table: str) -> None:
    configure(tmp_path, table + "\n")
    assert load_for(str(tmp_path)).settings.select == Settings().select


def test_torch_release_of_the_active_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    (site / "torch-2.7.1+cu126.dist-info").mkdir(parents=True)
    (site / "torchvision-0.22.1.dist-info").mkdir()
    windows = tmp_path / "project" / ".venv" / "Lib" / "site-packages"
    (windows / "torch-2.10.0.dist-info").mkdir(parents=True)
    project = tmp_path / "project"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert load_for(str(project / "m.py")).settings.torch_version == (2, 7)
    monkeypatch.delenv("VIRTUAL_ENV")
    assert load_for(str(project / "m.py")).settings.torch_version == (2, 10)
    configure(project, "[tool.graphmend]\ntorch-version = '2.8'\n")
    assert load_for(str(project / "m.py")).settings.torch_version == (2, 8)


def test_release_spellings() -> None:
    assert torch_release.parse_release("2.13.0+cu130") == (2, 13)
    assert torch_release.parse_release("2.9") == (2, 9)
    assert torch_release.parse_release("two") is None
