"""Makes ``bundled/libs``: the server and its libraries as they travel in the .vsix of one platform.

    python scripts/bundle.py --target linux-x64 [--out DIR] [--wheels DIR]

The wheels are those that ``bundled/requirements*.txt`` name, checked by their hashes; they are kept, so that a second
run needs no network.  The same input gives the same bytes.  An old folder is replaced as a whole, and only when the new
one is ready.  Needs a Python with pip.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator

import wheels

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.dirname(HERE)
REPOSITORY = os.path.dirname(CLIENT)
BUNDLED = os.path.join(CLIENT, "bundled")
TIME = 1577836800
"""2020: of all files, so that archives of the same input are the same."""

# what the server never imports; LibCST's matchers and codemods alone are a third of its Python code
_LEFT_OUT = re.compile(
    r"(^|/)(tests?|__pycache__)/"
    r"|^libcst/(codegen|codemod|display|matchers)/|^libcst/tool\.py$"
    r"|^(cattr)/|^pygls/cli\.py$"
    r"|\.pyc$|\.pyi$"
)
_OF_DIST_INFO = re.compile(r"[^/]+\.dist-info/(METADATA|(licenses/)?[^/]*(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*)$")


def main(argv: list[str] | None = None) -> int:
    """Make it; the result is the exit status."""
    parser = argparse.ArgumentParser(description="Make bundled/libs, the server and its libraries for one platform.")
    parser.add_argument("--target", choices=sorted(wheels.PLATFORMS), help="the platform, as vsce names it")
    parser.add_argument("--out", default=os.path.join(BUNDLED, "libs"), help="the folder to make, else bundled/libs")
    parser.add_argument("--wheels", default=os.path.join(REPOSITORY, "build", "wheels"), help="where wheels are kept")
    parser.add_argument("--lock", action="store_true", help="only write the hashes of all targets into the lock")
    options = parser.parse_args(argv)
    try:
        if options.lock:
            lock(options.wheels)
        elif options.target is None:
            parser.error("--target is missing")
        else:
            bundle(options.target, os.path.abspath(options.out), options.wheels)
    except wheels.WheelError as error:
        print(f"bundle.py: {error}", file=sys.stderr)
        return 1
    return 0


def lock(kept: str) -> None:
    """Download each wheel of the pinned versions and note its hash."""
    for path, targets in wheels.locks(BUNDLED):
        with open(path, encoding="utf-8") as file:
            head = [line for line in file if line.startswith("#")]
        pins = wheels.read_lock(path)
        for pin in pins.values():
            pin.hashes = []
        hashes: dict[str, set[str]] = {name: set() for name in pins}
        for target in targets:
            for wheel in wheels.wanted(pins.values(), target):
                if wheel.python or not hashes[wheel.pin.name]:
                    (found,) = wheels.fetch([wheel], kept)
                    hashes[wheel.pin.name].add(wheels.digest(found))
        for name, pin in pins.items():
            pin.hashes = sorted(hashes[name])
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(head) + "".join(f"{pins[name]}\n" for name in sorted(pins)))


def bundle(target: str, out: str, kept: str) -> None:
    """Make the folder of one target."""
    pins = wheels.pins_of(BUNDLED, target)
    if missing := sorted(name for name, pin in pins.items() if not pin.hashes):
        raise wheels.WheelError(f"the lock has no hashes of {', '.join(missing)}: run bundle.py --lock")
    files = collect(wheels.fetch(wheels.wanted(pins.values(), target), kept))
    add(files, dict(own_files()), "the repository")
    check_libcst(target, files)
    packages = {"graphmend-lsp": own_version(), **{pin.name: pin.version for pin in pins.values()}}
    pythons = [f"3.{python[1:]}" for python in wheels.PYTHONS]
    versions = {"target": target, "pythons": pythons, "packages": dict(sorted(packages.items()))}
    os.makedirs(os.path.dirname(out), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".libs-", dir=os.path.dirname(out)) as scratch:
        new = os.path.join(scratch, "libs")
        for name in sorted(files):
            write(os.path.join(new, *name.split("/")), files[name])
        # server.py looks for it
        write(os.path.join(new, "VERSIONS.json"), f"{json.dumps(versions, indent=2)}\n".encode())
        if os.path.lexists(out):
            os.replace(out, os.path.join(scratch, "old"))
        os.replace(new, out)
    size = sum(map(len, files.values()))
    print(f"{out}: {target}, {len(files)} files, {size / 1e6:.1f} MB")


def collect(paths: list[str]) -> dict[str, bytes]:
    """The files of some wheels, merged.

    Raises:
        WheelError: two wheels have a file of the same name with different contents.
    """
    files: dict[str, bytes] = {}
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and is_kept(name)]
            add(files, {name: archive.read(name) for name in names}, os.path.basename(path))
    return files


def add(files: dict[str, bytes], more: dict[str, bytes], origin: str) -> None:
    """Merge some files into others."""
    for name, content in more.items():
        if files.setdefault(name, content) != content:
            raise wheels.WheelError(f"{name} of {origin} is not the one of the wheels before it")


def is_kept(name: str) -> bool:
    """Whether a file of a wheel travels.  Of dist-info those do that say what it is and under which licence."""
    if ".dist-info/" in name:
        return _OF_DIST_INFO.match(name) is not None
    return _LEFT_OUT.search(name) is None


def own_files() -> Iterator[tuple[str, bytes]]:
    """The package of this repository, and what its wheel says about it."""
    package = os.path.join(REPOSITORY, "graphmend_lsp")
    for folder, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(".pyc"):
                yield os.path.relpath(path, REPOSITORY).replace(os.sep, "/"), read(path)
    version = own_version()
    info = f"graphmend_lsp-{version}.dist-info"
    yield f"{info}/METADATA", f"Metadata-Version: 2.1\nName: graphmend-lsp\nVersion: {version}\nLicense: MIT\n".encode()
    yield f"{info}/LICENSE", read(os.path.join(REPOSITORY, "LICENSE"))


def own_version() -> str:
    """The version of the package of this repository."""
    text = read(os.path.join(REPOSITORY, "graphmend_lsp", "__init__.py")).decode()
    match = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if match is None:
        raise wheels.WheelError("graphmend_lsp has no version")
    return match[1]


def check_libcst(target: str, files: dict[str, bytes]) -> None:
    """That the compiled modules of all Pythons stand beside each other: their names carry the tag of each."""
    found = sorted(name for name in files if re.match(r"libcst/native\..*\.(so|pyd)$", name))
    tag = re.compile(r"libcst/native\.(?:cpython-|cp)(\d+)-[a-z0-9_-]+\.(?:so|pyd)$")
    pythons = sorted(match[1] for match in map(tag.match, found) if match)
    if pythons != sorted(wheels.PYTHONS) or len(found) != len(pythons):
        raise wheels.WheelError(f"libcst of {target} has the compiled modules {found}")


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o644)
    os.utime(path, (TIME, TIME))


if __name__ == "__main__":
    sys.exit(main())
