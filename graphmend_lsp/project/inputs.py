"""Where the arguments of a user's entry come from when it is to run: functions, named or found in its file."""

from __future__ import annotations

import os
from dataclasses import dataclass

from graphmend_lsp.project import layout
from graphmend_lsp.project.config import load_for

INPUT_FUNCTIONS = ("example_inputs", "get_inputs")
"""What a file may define to say how it is called (``worker.entries``)."""
DTYPES = ("float64", "float32", "float16", "bfloat16")
"""What modules and inputs can be cast to."""


@dataclass(frozen=True)
class Source:
    """A function that makes inputs, in a file."""

    path: str
    function: str

    @classmethod
    def parse(cls, text: str, folder: str) -> Source:
        """``FILE::FUNCTION``, the file relative to a folder.

        Raises:
            ValueError: not of that form, or there is no such file.
        """
        path, _, function = text.rpartition("::")
        if not path or not function.isidentifier():
            raise ValueError(f"not FILE::FUNCTION: {text!r}")
        path = os.path.abspath(os.path.join(folder, path))
        if not os.path.isfile(path):
            raise ValueError(f"there is no file {path}")
        return cls(path, function)


def configured(path: str, entry: str = "") -> tuple[tuple[Source, ...], Source | None]:
    """The input functions that the configuration names for a file or for an entry in it, and the constructor's.

    Raises:
        ValueError: one that is not there.
    """
    config = load_for(path)
    inputs = config.inputs_of(path, entry)
    init = config.init_inputs_of(path, entry)
    return (
        tuple(Source.parse(each, config.root) for each in inputs),
        Source.parse(init[0], config.root) if init else None,
    )


def module_of(path: str) -> str:
    """The dotted name that a file is imported by."""
    return layout.module_name(path)[0]
