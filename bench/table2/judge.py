"""What the measurements of one build say: counts, sites, and every way in which they miss what they should be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rows import PACKAGES

Answer = dict[str, Any]
Place = tuple[str, int, str]  # file, line, what Dynamo calls it


@dataclass
class Measured:
    """A build with the answers of its measurements, by arm and mode."""

    name: str
    build: dict[str, Any]
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def answer(self, arm: str, mode: str) -> Answer:
        return self.answers.get((arm, mode), {"error": "not measured"})

    @property
    def imported(self) -> list[str]:
        """The packages' files that the build imports."""
        return self.answer("original", "eager").get("imported", [])

    @property
    def ran(self) -> list[str]:
        """Those of them whose functions its calls run."""
        return self.answer("original", "eager").get("ran", [])

    def graphs(self, arm: str) -> int | None:
        return self.answer(arm, "compiled").get("graphs")

    def breaks(self, arm: str) -> int | None:
        """The paper's metric: graphs in the first call, less one."""
        graphs = self.graphs(arm)
        return None if graphs is None else max(0, graphs - 1)

    def sites(self, arm: str) -> Counter[Place]:
        """Break events of the first call by place."""
        events = self.answer(arm, "compiled").get("events", ())
        return Counter((e["file"], e["line"], f"{e['id'] or ''} {e['title']}".strip()) for e in events)

    def places(self, arm: str) -> int:
        """How many source lines break."""
        return len({(file, line) for file, line, _ in self.sites(arm)})

    def broken_files(self, arm: str) -> set[str]:
        """The packages' files in which a break is left."""
        return {file for file, _, _ in self.sites(arm) if file.partition("/")[0] in PACKAGES}

    def verdicts(self, arm: str) -> dict[str, str]:
        """For each place that still breaks, what graphmend says about its line."""
        said: dict[str, str] = {}
        for file, line, _ in self.sites(arm):
            found = [f for f in self.findings.get(arm, ()) if f["path"] == file and f["line"] <= line <= f["end_line"]]
            said[f"{file}:{line}"] = "; ".join(_verdict(f) for f in found) or "no finding"
        return said

    def same(self, arm: str, mode: str) -> str:
        """The comparison with the original's eager results, in a few words."""
        answer = self.answer(arm, mode)
        if "error" in answer:
            return "error"
        if answer["differences"]:
            return f"{len(answer['differences'])} differ"
        return f"{answer['tensors']} identical"

    def time_in_words(self) -> str:
        first = {arm: answer for (arm, mode), answer in self.answers.items() if mode == "time"}
        return ", ".join(
            f"{arm} {'error' if 'error' in a else format(a['first'], '.1f') + ' s'}" for arm, a in first.items()
        )

    # -- checks --------------------------------------------------------------------------------------

    def errors(self) -> list[str]:
        """Measurements that did not come to an end."""
        return [f"{arm} {mode}: {a['error']}" for (arm, mode), a in self.answers.items() if "error" in a]

    def missed(self) -> list[str]:
        """Every check of the original and of the safe arm that does not hold. The targets are the report's."""
        return self.errors() or [*self._reference(), *self._arm("safe")]

    def changed_by_unsafe(self) -> list[str]:
        """What the unsafe arm does otherwise; it may, if the offers' titles say so."""
        return [] if self.errors() else self._arm("unsafe")

    def _reference(self) -> list[str]:
        """The original itself: says what it should, overflows where it should, guards what it should."""
        reference, missed = self.answer("original", "eager"), []
        says = self.build.get("says")
        if says and not any(says in text for text in reference["said"]):
            missed.append(f"original eager: {says!r} is not said")
        if "overflow" in self.build and reference["largest"] < 64_000:
            missed.append(f"original eager: nothing is clamped, the largest value is {reference['largest']}")
        raises = self.build.get("violation", {}).get("raises", "")
        if raises not in (reference["guard"] or ""):
            missed.append(f"original eager: the guard: {reference['guard']}")
        return missed

    def _arm(self, arm: str) -> list[str]:
        reference, before = self.answer("original", "eager"), self.answer("original", "compiled")
        after, missed = self.answer(arm, "compiled"), []
        for mode in ("eager", "compiled", "fullgraph"):
            if (arm, mode) not in self.answers:
                continue
            answer = self.answer(arm, mode)
            if answer["differences"]:
                first = "; ".join(answer["differences"][:3])
                missed.append(f"{arm} {mode}: {len(answer['differences'])} outputs differ from the original's: {first}")
            if answer["said"] != reference["said"]:
                missed.append(f"{arm} {mode}: says {answer['said']}, the original in eager {reference['said']}")
            if answer["guard"] != reference["guard"]:
                missed.append(
                    f"{arm} {mode}: the guard: {answer['guard']}, the original in eager: {reference['guard']}"
                )
        if after["operators"] < before["operators"] or not after["graphs"]:
            texts = f"{after['operators']} operators in {after['graphs']} graphs"
            missed.append(f"{arm}: {texts}, before {before['operators']} in {before['graphs']}")
        if after["graphs"] == 1 and after["events"]:
            missed.append(f"{arm}: one graph, but {len(after['events'])} break events")
        if after["graphs"] == 1 and "shapes" not in self.build:
            later = (after["graphs_later"], after["recompiles"], len(after["events_later"]))
            if any(later):
                missed.append(
                    f"{arm}: after the first call {later[0]} graphs, {later[1]} recompiles, {later[2]} breaks"
                )
        return missed


def _verdict(finding: dict[str, Any]) -> str:
    offers = [
        f"{o['safety']} offer '{o['title']}'" + (f" ({o['changes']})" if o.get("changes") else "")
        for o in finding["offers"]
    ]
    refusals = [f"{r['kind']} refused, {r['reason']}: {r['message']}" for r in finding.get("refusals", ())]
    return f"{finding['code']} " + ("; ".join([*offers, *refusals]) or "no offer, no refusal")
