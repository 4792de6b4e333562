"""The wheels of the bundle: which ones a target needs, and how they get here, each with a hash that the lock names."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

PYTHONS = ("310", "311", "312", "313", "314")
"""The releases of CPython that the server runs on, as in the tags of wheels."""
COMPILED = "libcst"
PLATFORMS = {
    "linux-x64": "manylinux_2_28_x86_64",
    "linux-arm64": "manylinux_2_28_aarch64",
    "alpine-x64": "musllinux_1_2_x86_64",
    "alpine-arm64": "musllinux_1_2_aarch64",
    "darwin-x64": "macosx_15_0_x86_64",
    "darwin-arm64": "macosx_11_0_arm64",
    "win32-x64": "win_amd64",
    "win32-arm64": "win_arm64",
}
"""The targets as vsce names them, and the newest platform whose wheels do; VS Code itself needs glibc 2.28."""
_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)((?:\s+--hash=sha256:[0-9a-f]{64})*)\Z")


class WheelError(Exception):
    """A wheel cannot be had, or is not what the lock says."""


@dataclass
class Pin:
    """One library of the lock."""

    name: str
    version: str
    hashes: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return " \\\n".join([f"{self.name}=={self.version}", *(f"    --hash=sha256:{h}" for h in sorted(self.hashes))])


@dataclass(frozen=True)
class Wanted:
    """One wheel: of a library, and for the compiled one of a Python and a platform."""

    pin: Pin
    python: str = ""
    platform: str = "any"

    def __str__(self) -> str:
        tags = f" for CPython 3.{self.python[1:]}, {self.platform}" if self.python else ""
        return f"{self.pin.name} {self.pin.version}{tags}"

    def is_named(self, name: str) -> bool:
        """Whether a wheel's file name is that of this one."""
        parts = name.removesuffix(".whl").split("-")
        if not name.endswith(".whl") or len(parts) != 5 or parts[1] != self.pin.version:
            return False
        distribution, _, python, abi, platform = parts
        if re.sub(r"[-_.]+", "-", distribution).lower() != re.sub(r"[-_.]+", "-", self.pin.name).lower():
            return False
        if not self.python:
            return (abi, platform) == ("none", "any") and "py3" in python.split(".")
        return python == abi == f"cp{self.python}" and any(self._suits(tag) for tag in platform.split("."))

    def _suits(self, tag: str) -> bool:
        """A wheel for an older macOS of the same machine does as well; pip looks for those itself."""
        ours = re.match(r"macosx_\d+_\d+_(.+)", self.platform)
        theirs = re.match(r"macosx_\d+_\d+_(.+)", tag)
        if ours and theirs:
            return ours[1] == theirs[1]
        return tag == self.platform


def read_lock(path: str) -> dict[str, Pin]:
    """The pins of a lock by their names."""
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    pins: dict[str, Pin] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = _PIN.match(line.strip())
        if match is None:
            raise WheelError(f"{path}: cannot read {line.strip()!r}")
        pins[match[1]] = Pin(match[1], match[2], re.findall(r"sha256:([0-9a-f]{64})", match[3]))
    return pins


def locks(folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The lock of most targets, then those of single ones, each with its targets."""
    own = {target: os.path.join(folder, f"requirements-{target}.txt") for target in PLATFORMS}
    own = {target: path for target, path in own.items() if os.path.isfile(path)}
    yield os.path.join(folder, "requirements.txt"), tuple(target for target in PLATFORMS if target not in own)
    for target, path in own.items():
        yield path, (target,)


def pins_of(folder: str, target: str) -> dict[str, Pin]:
    """What a target gets: the pins of all, under those of its own."""
    found: dict[str, Pin] = {}
    for path, targets in locks(folder):
        if os.path.basename(path) == "requirements.txt" or target in targets:
            found.update(read_lock(path))
    return found


def wanted(pins: Iterable[Pin], target: str) -> list[Wanted]:
    """The wheels of a target."""
    found: list[Wanted] = []
    for pin in pins:
        if pin.name == COMPILED:
            found += [Wanted(pin, python, PLATFORMS[target]) for python in PYTHONS]
        else:
            found.append(Wanted(pin))
    return found


def fetch(wheels: Iterable[Wanted], folder: str) -> list[str]:
    """Their paths in a folder of wheels; what is not there is downloaded by pip.

    Raises:
        WheelError: one cannot be had, or its hash is not among those of the lock.
    """
    os.makedirs(folder, exist_ok=True)
    return [_find(wheel, folder) or _download(wheel, folder) for wheel in wheels]


def digest(path: str) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _find(wheel: Wanted, folder: str) -> str | None:
    """One that is here; without hashes in the lock none is, so that they are those of the index."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if wheel.is_named(name) and digest(path) in wheel.pin.hashes:
            return path
    return None


def _download(wheel: Wanted, folder: str) -> str:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        requirement = os.path.join(scratch, "requirement.txt")
        with open(requirement, "w", encoding="utf-8") as file:
            file.write(f"{wheel.pin}\n")
        tags = ["--implementation", "py", "--abi", "none", "--python-version", "3.10"]
        if wheel.python:
            tags = ["--implementation", "cp", "--abi", f"cp{wheel.python}", "--python-version", f"3.{wheel.python[1:]}"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", *tags, "--platform", wheel.platform, "--dest", scratch, "-r", requirement]
        command += ["--require-hashes"] if wheel.pin.hashes else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        names = [name for name in os.listdir(scratch) if wheel.is_named(name)]
        if done.returncode or len(names) != 1:
            raise WheelError(f"no wheel of {wheel}:\n{done.stderr.strip() or os.listdir(scratch)}")
        path = os.path.join(folder, names[0])
        os.replace(os.path.join(scratch, names[0]), path)
    return path
