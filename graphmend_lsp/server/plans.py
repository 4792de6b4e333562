"""What a code action will do: small enough to travel through the client, computed when it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from graphmend_lsp import check as core
from graphmend_lsp.finding import Change, Finding, Offer, Refusal
from graphmend_lsp.notebook import CannotPlace
from graphmend_lsp.server.documents import Checked
from graphmend_lsp.server.suppress import suppression
from graphmend_lsp.server.translate import FindingKey, as_object

Do = Literal["offer", "suppress", "mend-function", "mend-file"]


@dataclass(frozen=True)
class Plan:
    """``offer`` is the kind of the offer to apply, ``risk`` what it changes."""

    do: Do
    key: FindingKey
    offer: str = ""
    risk: str = ""

    def to_data(self) -> dict[str, Any]:
        return {"do": self.do, "offer": self.offer, "risk": self.risk, "finding": self.key.to_data()}

    @classmethod
    def from_data(cls, data: object) -> Plan:
        """The plan in a code action's ``data``.

        Raises:
            ValueError: it is not one of ours.
        """
        fields = as_object(data)
        do, offer, risk = fields.get("do"), fields.get("offer"), fields.get("risk")
        if do not in get_args(Do) or not isinstance(offer, str) or not isinstance(risk, str):
            raise ValueError("not a GraphMend action")
        return cls(cast("Do", do), FindingKey.from_data(fields.get("finding")), offer, risk)

    def change(self, checked: Checked) -> Change | Refusal:
        """The change, proved on the text that was checked.  For the worker."""
        if checked.analysis.problems and self.do != "suppress":
            problem = checked.analysis.problems[0]
            cell = "" if problem.cell is None else f"cell {problem.cell}, "
            line = "" if problem.line is None else f" ({cell}line {problem.line}: {problem.message})"
            return Refusal("none", "unsupported", f"the file does not parse{line}")
        if self.do == "mend-file":
            return _mend(checked, for_all)
        if self.do == "mend-function":
            return _mend(checked, self._in_function)
        finding = find(checked, self.key)
        if finding is None:
            return _gone()
        if self.do == "suppress":
            return suppression(checked.snapshot.source, finding)
        offer = next((each for each in finding.offers if each.kind == self.offer), None)
        if offer is None:
            return _gone()
        return core.resolve(checked.analysis, finding, offer, program=checked.program)

    def _in_function(self, finding: Finding, offer: Offer) -> bool:
        return finding.function == self.key.function and is_safe(finding, offer)


def is_safe(finding: Finding, offer: Offer) -> bool:
    """What a mend of one function applies."""
    return offer.safety == "safe"


def for_all(finding: Finding, offer: Offer) -> bool:
    """What "fix all" applies: safe offers, but no deferral, lest saving moves a print typed a moment ago."""
    return offer.safety == "safe" and offer.kind != "defer"


def find(checked: Checked, key: FindingKey) -> Finding | None:
    """The finding with this key; in another version of the text only if there is no doubt which one."""
    same = [f for f in checked.analysis.findings if (f.code, f.function) == (key.code, key.function)]
    exact = [f for f in same if f.span == key.span]
    if exact:
        return exact[0]
    return same[0] if len(same) == 1 and key.version != checked.snapshot.version else None


def _gone() -> Refusal:
    return Refusal("none", "unsupported", "the text has changed and this finding is no longer there")


def _mend(checked: Checked, accept: Callable[[Finding, Offer], bool]) -> Change | Refusal:
    source = checked.snapshot.source
    mended = core.mend(source, checked.analysis.path, program=checked.program, settings=checked.settings, accept=accept)
    try:
        return Change(tuple(checked.snapshot.difference(mended)), mended.creates)
    except CannotPlace as error:
        return Refusal("none", "location", str(error))
