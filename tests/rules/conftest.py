"""What the fixtures' tests share: the option that rewrites snapshots, one thread, the path of the support code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from snapshots import Snapshots


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-snapshots", action="store_true", help="write *.fixed.py and *.snap anew (pytest tests/rules)"
    )


@pytest.fixture
def snapshots(request: pytest.FixtureRequest) -> Snapshots:
    return Snapshots(bool(request.config.getoption("--update-snapshots", default=False)))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
