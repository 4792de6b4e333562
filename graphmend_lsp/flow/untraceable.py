"""Host calls that TorchDynamo cannot trace, from ``data/untraceable_calls.json``, by release of torch.

The file is measured, not remembered (``tools/measure_untraceable_calls.py``); a call that is not in it is not known to
break.  Methods and attributes of tensors are named ``Tensor.name`` there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graphmend_lsp.flow import ops

Release = tuple[int, int]

_FILE = Path(__file__).resolve().parent.parent / "data" / "untraceable_calls.json"


@dataclass(frozen=True)
class Untraceable:
    """One call: the releases in which it was seen to break and to be traced, and PyTorch's id in the newest."""

    name: str
    breaks: tuple[Release, ...]
    traced: tuple[Release, ...]
    gb: str = ""

    def in_release(self, release: Release) -> bool:
        """Whether it breaks there: as in the newest measured release up to that one, else as in the oldest."""
        known = sorted((*self.breaks, *self.traced))
        if not known:
            return False
        return max((each for each in known if each <= release), default=known[0]) in self.breaks


@cache
def _table() -> dict[str, Untraceable]:
    rows: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: Untraceable(name, _all(row["breaks"]), _all(row["traced"]), row.get("gb", ""))
        for name, row in rows.items()
    }


def _all(releases: list[str]) -> tuple[Release, ...]:
    return tuple(_release(text) for text in releases)


def _release(text: str) -> Release:
    major, minor = text.split(".")
    return int(major), int(minor)


@cache
def untraceable(name: str, release: Release) -> Untraceable | None:
    """What is known of a call, if it breaks in that release."""
    found = _table().get(name)
    return found if found is not None and found.in_release(release) else None


@cache
def plain_names() -> frozenset[str]:
    """The last parts of the names of all calls that break in some release: "choice", "deepcopy", "Linear" ...

    Of what torch has an operator of that name for ("mean" of ``statistics.mean``), the last two parts.
    """
    found: set[str] = set()
    for name, row in _table().items():
        owner, _, last = name.rpartition(".")
        if row.breaks and owner != "Module" and last != "forward":
            operator = owner != "Tensor" and (ops.method_fact(last) or ops.function_fact(f"torch.{last}"))
            found.add(".".join(name.split(".")[-2:]) if operator else last)
    return frozenset(found)


@cache
def owners() -> frozenset[str]:
    """What makes an object that has methods in the table: "io.BytesIO" of "io.BytesIO.getvalue"."""
    found: set[str] = set()
    for name, row in _table().items():
        owner = name.rpartition(".")[0]
        if owner.startswith("torch"):
            continue
        if row.breaks and (owner in _table() or f"with {owner}" in _table() or _is_class(owner)):
            found.add(owner)
    return frozenset(found)


def _is_class(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return bool(module) and last[:1].isupper()


def names() -> frozenset[str]:
    """Everything that was measured."""
    return frozenset(_table())
