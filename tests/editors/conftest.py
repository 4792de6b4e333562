"""What the tests in real editors share."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]

Blocks = Callable[[str, str, str], list[str]]


@pytest.fixture
def blocks() -> Blocks:
    """The blocks of code in one section of a page: by its file, the section's heading and the block's language."""

    def find(file: str, heading: str, language: str) -> list[str]:
        text = (REPOSITORY / file).read_text(encoding="utf-8")
        section = re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)

    return find


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A project of two files with findings and one that runs for long."""
    return Path(shutil.copytree(HERE / "workspace" / "neovim", tmp_path / "workspace"))
