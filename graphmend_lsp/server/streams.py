"""The streams of a protocol, kept from whatever else reads or prints."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def take() -> tuple[BinaryIO, BinaryIO]:
    """Keep standard input and output to ourselves: whatever else reads or prints, in C code or in a child
    process, too, gets the null device and standard error."""
    stdin = os.fdopen(os.dup(0), "rb")
    stdout = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stdin, stdout
