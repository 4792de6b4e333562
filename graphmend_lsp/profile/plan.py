"""What is to be profiled, and how."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.finding import Finding, Offer
from graphmend_lsp.project.config import load_for
from graphmend_lsp.project.inputs import Source, configured
from graphmend_lsp.project.program import DiskProgram
from graphmend_lsp.settings import Settings

Device = Literal["", "cuda", "cpu"]


@dataclass(frozen=True)
class Capture:
    """A Python program; the entry's first call in it gives the live module and the real arguments.

    Either ``script`` (an absolute path) or ``module`` (as in ``python -m``) is set.
    """

    script: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()

    @classmethod
    def parse(cls, command: str, folder: str) -> Capture:
        """A command line as typed in ``folder``: ``train.py --steps 1``, ``python -m pkg``, ``pytest a.py::test``.

        Raises:
            ValueError: not a Python program, or there is no such script.
        """
        try:
            words = shlex.split(command, posix=os.name == "posix")
        except ValueError as error:
            raise ValueError(f"cannot read the command {command!r}: {error}") from None
        if os.name != "posix":  # shlex leaves the quotes there
            words = [word[1:-1] if len(word) > 1 and word[0] == word[-1] in "\"'" else word for word in words]
        tool = os.path.basename(words[0]) if words else ""
        if tool in ("pytest", "py.test") or (words and ".py::" in words[0]):
            return cls(module="pytest", arguments=tuple(words[1:] if ".py::" not in words[0] else words))
        if tool.startswith("python"):
            words = words[1:]
        if words[:1] == ["-m"] and len(words) > 1:
            return cls(module=words[1], arguments=tuple(words[2:]))
        if not words or words[0].startswith("-"):
            raise ValueError(f"not a script, python -m MODULE or a pytest node: {command!r}")
        script = os.path.abspath(os.path.join(folder, os.path.expanduser(words[0])))
        if not os.path.isfile(script):
            raise ValueError(f"there is no script {script}")
        return cls(script=script, arguments=tuple(words[1:]))

    def __str__(self) -> str:
        program = f"-m {self.module}" if self.module else os.path.basename(self.script)
        return " ".join([program, *self.arguments])


@dataclass(frozen=True)
class Options:
    """How to profile; ``timeout`` is in seconds and for both arms together."""

    device: Device = ""
    """"" takes CUDA where there is one."""
    dtype: str = ""
    inputs: tuple[Source, ...] = ()
    init: Source | None = None
    capture: Capture | None = None
    training: bool = False
    """In training mode with the backward pass; else in eval mode without gradients.  A captured one stays."""
    compare: bool = True
    """Measure the mended code, too, if the plan has a ``mending``."""
    timing: bool = True
    """False only counts graphs and breaks: no backend compiles anything."""
    backend: str = "inductor"
    mode: str = ""
    """``torch.compile``'s."""
    timeout: float = 1800.0


@dataclass(frozen=True)
class Mending:
    """What the mended arm may mend: files below ``folders`` (absolute paths) that took part in the original's run."""

    program: DiskProgram
    settings: Callable[[str], Settings]
    accept: Callable[[Finding, Offer], bool]
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """One entry to profile; ``texts`` stand for files (unsaved buffers), by absolute path."""

    path: str
    entry: str
    mending: Mending | None
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Options = Options()

    @property
    def compared(self) -> Mending | None:
        """How to mend, if mended code is to be measured."""
        return self.mending if self.options.compare else None


def configured_options(path: str, entry: str) -> tuple[tuple[Source, ...], Source | None, Capture | None]:
    """Inputs, the constructor's inputs and the program to capture from that the configuration names for an entry.

    Raises:
        ValueError: one that is not there.
    """
    config = load_for(path)
    inputs, init = configured(path, entry)
    command = config.capture_of(path, entry)
    return inputs, init, Capture.parse(command, config.root) if command else None
