"""The settings that the analysis itself reads; where they come from is ``project``'s business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.finding import Severity

RuntimeMode = Literal["vendored", "package"]


@dataclass(frozen=True)
class Settings:
    """Options of one check.

    ``select``/``ignore`` hold rule codes or prefixes ("GM1", "GM101"); an empty ``select`` means all.
    ``entries`` are names (``fn``, ``Class``, ``Class.method``) that count as compiled beside those the
    source shows.  ``torch_version`` is the release assumed, as (major, minor).  With ``symbols`` numbers of
    tensors may be kept in the graph as symbols (``mend/symbol.py``), which nothing can prove to do no harm.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict[str, Severity])
    torch_version: tuple[int, int] = (2, 13)
    runtime: RuntimeMode = "vendored"
    symbols: bool = False

    def wants(self, code: str) -> bool:
        """Whether a rule is switched on; the longer prefix wins, ``ignore`` wins a tie."""
        on = max((len(p) for p in self.select if code.startswith(p)), default=-1 if self.select else 0)
        off = max((len(p) for p in self.ignore if code.startswith(p)), default=-1)
        return on > off

    def asks_for(self, code: str) -> bool:
        """Whether the user names a rule, or a group of rules with it, beyond what is on by default."""
        return self.wants(code) and any(code.startswith(prefix) for prefix in self.select)
