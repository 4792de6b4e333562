"""``npm run package``: the .vsix has what the extension needs to run, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.bundle.conftest import CLIENT, REPOSITORY

LARGEST = 12_000_000
"""Bytes; five compiled modules of LibCST are nine tenths of it."""
ALLOWED = re.compile(
    r"extension/(package\.json|readme\.md|changelog\.md|LICENSE\.txt|dist/extension\.js|images/[\w.-]+\.(png|svg)"
    r"|bundled/(server\.py|libs/.+))"
)


def _copy(folder):
    """The sources of the extension, beside what is installed and downloaded: the test leaves the real ones alone."""
    left_out = shutil.ignore_patterns("node_modules", "libs", "dist", "*.vsix", "__pycache__")
    shutil.copytree(CLIENT, folder / "vscode-client", ignore=left_out)
    shutil.copytree(REPOSITORY / "graphmend_lsp", folder / "graphmend_lsp", ignore=left_out)
    shutil.copy(REPOSITORY / "LICENSE", folder)
    for name in ("node_modules", "vscode-client/node_modules", "build"):
        if (REPOSITORY / name).is_dir():
            (folder / name).symlink_to(REPOSITORY / name, target_is_directory=True)
    return folder / "vscode-client"


@pytest.fixture(scope="module")
def package(bundled, tmp_path_factory):
    """Makes a .vsix; ``bundled`` has left the wheels in build/wheels."""
    if not (REPOSITORY / "node_modules" / "@vscode" / "vsce").is_dir():
        pytest.skip("npm ci has not been run")
    client = _copy(tmp_path_factory.mktemp("sources"))

    def make(*options):
        command = ["node", str(client / "scripts" / "package.mjs"), *options]
        variables = {**os.environ, "PYTHON": sys.executable}
        return subprocess.run(command, cwd=client, env=variables, capture_output=True, text=True, check=False)

    make.client = client
    return make


@pytest.fixture(scope="module")
def vsix(package, target):
    done = package()
    assert done.returncode == 0, done.stdout + done.stderr
    return package.client / f"graphmend-{target}.vsix"


def test_it_has_what_it_should(vsix, bundled):
    with zipfile.ZipFile(vsix) as archive:
        names = archive.namelist()
        libs = {name.removeprefix("extension/bundled/libs/") for name in names if "/libs/" in name}
    others = {name for name in names if not ALLOWED.fullmatch(name)}
    assert others == {"[Content_Types].xml", "extension.vsixmanifest"}
    assert {"extension/dist/extension.js", "extension/readme.md", "extension/LICENSE.txt"} <= set(names)
    files = [path for path in (bundled / "libs").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert libs == {path.relative_to(bundled / "libs").as_posix() for path in files}


def test_it_is_of_one_platform_and_small(vsix, target, capsys):
    with zipfile.ZipFile(vsix) as archive:
        manifest = archive.read("extension.vsixmanifest").decode()
    assert f'TargetPlatform="{target}"' in manifest
    with capsys.disabled():
        print(f" {vsix.name}: {vsix.stat().st_size / 1e6:.1f} MB ", end="")
    assert vsix.stat().st_size < LARGEST


def test_the_client_and_its_server_have_one_version(vsix):
    with zipfile.ZipFile(vsix) as archive:
        client = json.loads(archive.read("extension/package.json"))
        server = json.loads(archive.read("extension/bundled/libs/VERSIONS.json"))
    assert client["version"] == server["packages"]["graphmend-lsp"]


def test_it_runs_from_where_it_is_unpacked(vsix, tmp_path, start, bare, mends):
    with zipfile.ZipFile(vsix) as archive:
        archive.extractall(tmp_path)
    mends(start(bare, tmp_path / "extension" / "bundled"))


def test_the_same_input_gives_the_same_bytes(package, vsix, tmp_path):
    done = package("--out", str(tmp_path / "again.vsix"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "again.vsix").read_bytes() == vsix.read_bytes()


def test_a_target_that_is_not_known_is_refused(package, vsix):
    done = package("--target", "linux-armhf")
    assert done.returncode == 1 and "linux-armhf" in done.stderr
    assert (package.client / "bundled" / "libs" / "VERSIONS.json").is_file()  # those of this machine
