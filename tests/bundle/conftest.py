"""The bundle of this machine, an extension's folder with it, and environments that start it."""

from __future__ import annotations

import glob
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from tests.bundle.editor import Editor

REPOSITORY = Path(__file__).resolve().parents[2]
CLIENT = REPOSITORY / "vscode-client"

sys.path.insert(0, str(CLIENT / "scripts"))


@pytest.fixture(scope="session")
def target() -> str:
    """This machine, as vsce names it."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "win32"}[sys.platform]
    if system == "linux" and os.path.exists("/etc/alpine-release"):
        system = "alpine"
    return f"{system}-{'arm64' if platform.machine().lower() in ('arm64', 'aarch64') else 'x64'}"


@pytest.fixture(scope="session")
def bundle() -> ModuleType:
    """The script as a module."""
    import bundle

    return bundle


@pytest.fixture(scope="session")
def make(target: str) -> Callable[[Path], None]:
    """Makes ``libs`` of this machine somewhere; the wheels are downloaded once."""

    def build(out: Path) -> None:
        command = [sys.executable, str(CLIENT / "scripts" / "bundle.py"), "--target", target, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"the bundle cannot be made: {done.stderr}"

    return build


@pytest.fixture(scope="session")
def bundled(make: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``bundled`` of an installed extension."""
    folder = tmp_path_factory.mktemp("extension") / "bundled"
    make(folder / "libs")
    shutil.copy(CLIENT / "bundled" / "server.py", folder)
    return folder


@pytest.fixture(scope="session")
def without_libs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in a source checkout in which nobody has made the libraries."""
    folder = tmp_path_factory.mktemp("checkout") / "bundled"
    folder.mkdir()
    shutil.copy(CLIENT / "bundled" / "server.py", folder)
    return folder


def find_python(version: str) -> str | None:
    """An interpreter of this release on this machine, None if there is none."""
    named = [path for path in (shutil.which(f"python{version}"),) if path]
    kept = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
    for path in [*named, *kept]:
        question = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(question, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return path
    return None


@pytest.fixture(scope="session")
def python_of() -> Callable[[str], str]:
    """An interpreter by its release; without one the test is left out."""

    def find(version: str) -> str:
        found = find_python(version)
        if found is None:
            pytest.skip(f"there is no Python {version} on this machine")
        return found

    return find


def new_environment(folder: Path, *options: str, python: str = sys.executable) -> Path:
    """A virtual environment; its interpreter."""
    subprocess.run([python, "-m", "venv", *options, str(folder)], check=True, capture_output=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment without anything, pip included."""
    return new_environment(tmp_path_factory.mktemp("bare") / "env", "--without-pip")


@pytest.fixture
def environment(tmp_path: Path) -> tuple[Path, Path]:
    """An environment of the test's own without anything: its interpreter, and its site-packages."""
    python = new_environment(tmp_path / "env", "--without-pip")
    question = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return python, Path(subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip())


Start = Callable[..., Editor]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server as the extension does: an interpreter, the folder ``bundled``, more options."""
    running: list[Editor] = []

    def one(
        python: Path | str,
        bundled: Path,
        *options: str,
        flags: tuple[str, ...] = ("-I", "-S"),
        folder: Path = tmp_path,
        variables: Mapping[str, str] | None = None,
    ) -> Editor:
        command = [str(python), *flags, str(bundled / "server.py"), *options, "--stdio"]
        editor = Editor(command, folder, {**os.environ, **(variables or {})})
        running.append(editor)
        return editor

    yield one
    for editor in running:
        editor.kill()


@pytest.fixture(scope="session")
def mends() -> Callable[[Editor], None]:
    """Checks that a server shows the findings of the example, and makes an edit with LibCST."""

    def check(editor: Editor) -> None:
        path = REPOSITORY / "examples" / "captioner.py"
        editor.begin()
        found = editor.open(path)
        assert {"GM101", "GM202"} <= {diagnostic["code"] for diagnostic in found}
        clamp = next(d for d in found if "isinf" in path.read_text().splitlines()[d["range"]["start"]["line"]])
        offered = [action for action in editor.fixes(path, clamp) if action.get("isPreferred")]
        (change,) = editor.request("codeAction/resolve", offered[0])["edit"]["documentChanges"]
        assert "torch.where" in "".join(edit["newText"] for edit in change["edits"])
        assert editor.end() == 0
        assert editor.stray == b""

    return check
