"""The pure core's front door: text in, findings out; findings in, edits out.

Nothing here reads a file, runs the user's code or knows a protocol.  Other files of the program are seen
through the ``ProgramView`` that is handed in.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from graphmend_lsp import mend as mending
from graphmend_lsp.finding import Change, Evidence, Finding, NewFile, Offer, Problem, Refusal, Severity
from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.events import Event, Facts
from graphmend_lsp.flow.host import SILENT_REGISTRIES
from graphmend_lsp.flow.values import Why
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.effects import effect_calls, only_effects
from graphmend_lsp.model.closure import Closures
from graphmend_lsp.model.module import Loader, Module
from graphmend_lsp.model.program import NoProgram, ProgramView, RuntimePlace
from graphmend_lsp.model.regions import Entry, entries
from graphmend_lsp.parse import Parsed, Place, parse
from graphmend_lsp.rules import Flag, Rule, all_rules
from graphmend_lsp.settings import Settings
from graphmend_lsp.suppress import Suppression, suppressions
from graphmend_lsp.text import Edit, Span, apply_edits

__all__ = [
    "Analysis",
    "Mended",
    "NoProgram",
    "ProgramView",
    "RuntimePlace",
    "check",
    "mend",
    "resolve",
]

_EXPORT_CODES = frozenset({"GM101", "GM102", "GM103", "GM301"})
_MAX_EVIDENCE = 8
_MAX_ENGINES = 6
"""After so many partial analyses everything is analysed anew, so that old ones do not pile up in memory."""
_MAX_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything known about one version of one file.  Immutable; pass it as ``previous`` to the next check.

    ``problems`` names the part that does not parse; findings of the rest are there all the same.
    """

    path: str
    text: str
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    unused_suppressions: tuple[Span, ...] = ()
    parsed: Parsed | None = field(default=None, repr=False)
    sites: tuple[Site | None, ...] = field(default=(), repr=False)
    """The site of each finding, in the same order."""
    kept: _Kept | None = field(default=None, repr=False)
    """What the next check of the file may use again."""

    def site(self, finding: Finding) -> Site | None:
        for known, site in zip(self.findings, self.sites, strict=False):
            if known == finding:
                return site
        return None


def check(
    text: str,
    path: str = "<stdin>",
    *,
    program: ProgramView | None = None,
    settings: Settings | None = None,
    previous: Analysis | None = None,
) -> Analysis:
    """Findings of one file, in order of position.  Never raises on bad input: see ``Analysis.problems``."""
    settings = settings or Settings()
    parsed = parse(text, previous.parsed if previous is not None and previous.path == path else None)
    problems: tuple[Problem, ...] = ()
    if parsed.failure is not None:
        problems = (Problem(path, parsed.failure.line, parsed.failure.message),)
    found: list[tuple[Finding, Site | None]] = []
    kept: _Kept | None = None
    if "torch" in text or settings.entries or _may_use_torch(text):
        before = previous.kept if previous is not None and previous.path == path else None
        checker = _Checker(path, parsed, program or NoProgram(), settings, before)
        found = checker.run()
        kept = checker.kept
    marks = suppressions(text)
    shown = [(f, s) for f, s in found if not _suppressed(f, marks)]
    unused = [mark for mark in marks if mark.unused and _judged(mark, settings)]
    if settings.wants("GM001"):
        shown += [(_unused(path, mark), None) for mark in unused]
    shown.sort(key=lambda row: (row[0].span, row[0].code))
    return Analysis(
        path,
        text,
        tuple(f for f, _ in shown),
        problems,
        tuple(mark.span for mark in unused),
        parsed,
        tuple(s for _, s in shown),
        kept,
    )


def _may_use_torch(text: str) -> bool:
    """A file can subclass a project's own module class without naming torch."""
    return "def forward" in text


def _judged(mark: Suppression, settings: Settings) -> bool:
    """Whether the rules a comment could hide were all run: else nobody knows what it hides."""
    if mark.codes:
        return all(settings.wants(code) for code in mark.codes)
    return not settings.select and not settings.ignore


def _suppressed(finding: Finding, marks: list[Suppression]) -> bool:
    hit = False
    for mark in marks:
        if not mark.covers(finding.code):
            continue
        lines = {finding.span.line, finding.span.end_line, finding.statement.line, finding.header_end}
        if mark.line is None or mark.line in lines:
            mark.used.add(finding.code)
            hit = True
    return hit


def _unused(path: str, mark: Suppression) -> Finding:
    message = "this comment suppresses nothing"
    return Finding(
        "GM001", "unused-suppression", path, mark.span, message, "information", "", "", "implied", statement=mark.span
    )


@dataclass(frozen=True, eq=False)
class _Reused:
    """Facts of an entry, with the chunks they may depend on and the engine that found them."""

    closure: frozenset[int]
    facts: Facts
    engine: Engine


@dataclass(frozen=True, eq=False)
class _Kept:
    """What one check leaves to the next: the facts of each entry, by the entry's node and receiver."""

    entries: dict[tuple[ast.AST, str], _Reused]
    silent: frozenset[str]

    def holds(self, program: ProgramView, silent: frozenset[str]) -> bool:
        """Whether nothing outside the file has changed, and not too much has piled up."""
        engines = {kept.engine for kept in self.entries.values()}
        return (
            self.silent == silent
            and len(engines) <= _MAX_ENGINES
            and all(engine.loader.unchanged(program) for engine in engines)
        )


@dataclass(eq=False)
class _Hit:
    """One event that a rule flags, with the contexts in which it was met."""

    rule: Rule
    flag: Flag
    event: Event
    entry: Entry
    facts: Facts
    engine: Engine
    others: list[Facts] = field(default_factory=list[Facts])


class _Checker:
    """One check of one file."""

    def __init__(
        self, path: str, parsed: Parsed, program: ProgramView, settings: Settings, before: _Kept | None
    ) -> None:
        self.path = path
        self.program = program
        self.before = before
        self.kept: _Kept | None = None
        self.parsed = parsed
        self.settings = settings
        self.loader = Loader(program)
        self.module: Module = self.loader.module(path, parsed)
        self.engine = Engine(self.loader)
        self.callers: dict[ast.AST, list[Facts]] = {}
        self.rules = {kind: [r for r in all_rules() if kind in r.kinds] for r in all_rules() for kind in r.kinds}

    def run(self) -> list[tuple[Finding, Site | None]]:
        silent = frozenset(_silent_functions(self.parsed, self.module))
        self.engine.silent |= silent
        hits: dict[tuple[str, int, int], _Hit] = {}
        regions = entries(self.module, self.settings.entries, self.engine.is_module, self.engine.method)
        regions.sort(key=lambda entry: not entry.explicit)
        contexts: dict[int, list[Facts]] = {}
        entered = self._entered(regions, silent)
        reached = [(entry, kept.engine, self._reached(kept.facts)) for entry, kept in entered]
        for _, _, facts_list in reached:
            for facts in facts_list:
                known = contexts.setdefault(id(facts.function.node), [])
                if facts not in known:
                    known.append(facts)
        for entry, engine, facts_list in reached:
            for facts in facts_list:
                if facts.function.module.path == self.path and facts.function.chunk.id in self.parsed.by_id:
                    self._flag(entry, engine, facts, hits)
        for hit in hits.values():
            key = id(hit.event.function.node)
            hit.others = [f for f in contexts.get(key, []) if f is not hit.facts]
        return [self._finding(hit) for hit in hits.values()]

    def _entered(self, regions: list[Entry], silent: frozenset[str]) -> list[tuple[Entry, _Reused]]:
        """Facts of the entries: those of the last check where nothing they can see has changed, else new ones."""
        closures = Closures(self.module)
        before = self.before if self.before is not None and self.before.holds(self.program, silent) else None
        found: list[tuple[Entry, _Reused]] = []
        entries_now: dict[tuple[ast.AST, str], _Reused] = {}
        for entry in regions:
            function = entry.function
            key = (function.node, function.receiver.qualname if function.receiver is not None else "")
            closure = closures.of(function.chunk.id)
            if function.receiver is not None:
                closure |= closures.of(function.receiver.chunk.id)
            kept = entries_now.get(key) or (before.entries.get(key) if before is not None else None)
            if kept is None or kept.closure != closure:
                facts = self.engine.generic(function)
                if facts is None:
                    continue
                kept = _Reused(closure, facts, self.engine)
            entries_now[key] = kept
            found.append((entry, kept))
        self.kept = _Kept(entries_now, silent)
        return found

    def _reached(self, start: Facts) -> list[Facts]:
        """Facts of an entry and of everything it calls; the calls are noted in ``callers``."""
        found: list[Facts] = []
        todo = [start]
        seen: set[int] = set()
        while todo:
            facts = todo.pop()
            if id(facts) in seen:
                continue
            seen.add(id(facts))
            found.append(facts)
            for callee in facts.callees:
                self.callers.setdefault(callee.function.node, []).append(facts)
                todo.append(callee)
        return found

    def _flag(self, entry: Entry, engine: Engine, facts: Facts, hits: dict[tuple[str, int, int], _Hit]) -> None:
        calls = effect_calls(facts.events)
        for event in facts.events:
            for rule in self.rules.get(event.kind, ()):
                if not self.settings.wants(rule.code):
                    continue
                if entry.kind == "export" and rule.code not in _EXPORT_CODES:
                    continue
                if _part_of_another(event, calls):
                    continue
                flag = rule.flag(event)
                if flag is None:
                    continue
                key = (rule.code, id(flag.node), id(event.node))
                known = hits.get(key)
                if known is None:
                    hits[key] = _Hit(rule, flag, event, entry, facts, engine)
                elif entry.fullgraph and not known.entry.fullgraph:
                    known.entry = entry

    # -- findings --------------------------------------------------------------------------------

    def _finding(self, hit: _Hit) -> tuple[Finding, Site | None]:
        event = hit.event
        site = Site(hit.rule.code, event, hit.facts, tuple(hit.others), self.callers, hit.engine, self.module)
        chunk = event.function.chunk
        shift = self.parsed.by_id[chunk.id].shift
        offers, refusals = mending.proposals(site)
        statement = chunk.span(event.stmt)
        finding = Finding(
            hit.rule.code,
            hit.rule.name,
            self.path,
            chunk.span(hit.flag.node).shifted(shift),
            hit.flag.message.replace("{origin}", self._origin(hit.flag.why, hit.engine)),
            self._severity(hit),
            event.function.qualname,
            hit.entry.name,
            "explicit" if hit.entry.explicit else "implied",
            self._evidence(hit),
            offers,
            tuple(replace(r, span=r.span.shifted(shift) if r.span is not None else None) for r in refusals),
            hit.rule.gb or None,
            statement.shifted(shift),
            _header_end(event.stmt) + shift,
        )
        return finding, site

    def _severity(self, hit: _Hit) -> Severity:
        chosen = self.settings.severity.get(hit.rule.code)
        if chosen is not None:
            return chosen
        if hit.entry.fullgraph:
            return "error"
        return "warning" if hit.entry.explicit else "information"

    def _origin(self, why: Why | None, engine: Engine) -> str:
        """Where a value comes from, for the message: " (`mask`: a parameter, line 41)"."""
        if why is None:
            return ""
        while why.parent is not None and why.path == self.path and why.parent.path == self.path:
            why = why.parent
        span = self._span(why.place, why.path, engine)
        words = why.message.replace(" is a parameter", ": a parameter", 1)
        line = f", line {span.line}" if span is not None else ""
        return f" ({words}{line})"

    def _evidence(self, hit: _Hit) -> tuple[Evidence, ...]:
        chain: list[Evidence] = []
        why = hit.flag.why
        while why is not None and len(chain) < _MAX_EVIDENCE:
            self._add(chain, why.place, why.path, why.message, hit.engine)
            why = why.parent
        entry = hit.entry
        if entry.place is not None:
            self._add(chain, entry.place, entry.function.module.path, entry.message, hit.engine)
        return tuple(chain)

    def _add(self, chain: list[Evidence], place: Place, path: str, message: str, engine: Engine) -> None:
        span = self._span(place, path, engine)
        if span is not None:
            item = Evidence(span, message, None if path == self.path else path)
            if item not in chain:
                chain.append(item)

    def _span(self, place: Place, path: str, engine: Engine) -> Span | None:
        if path == self.path:
            return self.parsed.resolve(place)
        return engine.loader.resolve(place, path)


def _header_end(stmt: ast.stmt) -> int:
    """Last line of a statement, of a compound one that of its header."""
    body = getattr(stmt, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(stmt.lineno, body[0].lineno - 1)
    return stmt.end_lineno or stmt.lineno


def _part_of_another(event: Event, calls: frozenset[int]) -> bool:
    """Whether the statement around an event is reported in its place (one site, one code)."""
    if event.in_test and event.kind in ("extract", "dynamic", "index"):
        return True
    if event.kind == "text" and isinstance(event.stmt, ast.Expr) and id(event.stmt.value) in calls:
        return True  # text made for a print or log call
    if event.context.data_branches and event.kind in ("print", "log", "warn"):
        return any(only_effects(stmt, calls) for stmt in event.context.data_branches)
    return False


def _silent_functions(parsed: Parsed, module: Module) -> set[str]:
    """Functions the file adds to ``torch._dynamo.config.reorderable_logging_functions`` and the like."""
    found: set[str] = set()
    for chunk in parsed.chunks:
        if not any(name in chunk.text for name in SILENT_REGISTRIES):
            continue
        for top in chunk.nodes:
            for node in ast.walk(top):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                    owner = module.dotted(node.func.value) or ""
                    if owner.rpartition(".")[2] in SILENT_REGISTRIES:
                        items = (
                            node.args[0].elts if isinstance(node.args[0], (ast.Set, ast.List, ast.Tuple)) else node.args
                        )
                        found |= {name for item in items if (name := module.dotted(item)) is not None}
    return found


# -- mending -----------------------------------------------------------------------------------------


def resolve(
    analysis: Analysis,
    finding: Finding,
    offer: Offer,
    *,
    program: ProgramView | None = None,
) -> Change | Refusal:
    """The edits of one offer, proved again on this text; a refusal if it no longer holds."""
    site = analysis.site(finding)
    if site is None or analysis.parsed is None:
        return Refusal(offer.kind, "unsupported", "the code has changed: the finding is gone")
    made = mending.draft(site, offer)
    if isinstance(made, Refusal):
        return made
    from graphmend_lsp.mend.splice import splice

    place = (program or NoProgram()).runtime(analysis.path)
    return splice(analysis.text, analysis.parsed, [(site, made)], place)


@dataclass(frozen=True)
class Mended:
    """Result of ``mend``: the new text, what was applied (in order), and the check of the new text.

    ``rounds`` holds for each round how much of ``applied`` it applied, and its edits: places in a finding are
    those of the text that its round changed.
    """

    text: str
    applied: tuple[tuple[Finding, Offer], ...]
    analysis: Analysis
    creates: tuple[NewFile, ...] = ()
    rounds: tuple[tuple[int, tuple[Edit, ...]], ...] = ()


def _safe(finding: Finding, offer: Offer) -> bool:
    del finding
    return offer.safety == "safe"


def mend(
    text: str,
    path: str = "<stdin>",
    *,
    program: ProgramView | None = None,
    settings: Settings | None = None,
    accept: Callable[[Finding, Offer], bool] = _safe,
) -> Mended:
    """Apply for each finding its first accepted offer, until nothing is left to apply.

    Each round applies what can be applied together (see ``_round``) and checks the new text, so that every
    offer is proved on the text it changes; what one round changed may make more possible in the next.
    """
    applied: list[tuple[Finding, Offer]] = []
    creates: dict[str, NewFile] = {}
    rounds: list[tuple[int, tuple[Edit, ...]]] = []
    analysis = check(text, path, program=program, settings=settings)
    failed: set[_Mark] = set()
    for _ in range(_MAX_ROUNDS):
        step = _round(analysis, accept, failed, program)
        if step is None:
            break
        chosen, change = step
        applied.extend(chosen)
        rounds.append((len(chosen), change.edits))
        creates.update({new.path: new for new in change.creates})
        changed = apply_edits(analysis.text, change.edits)
        analysis = check(changed, path, program=program, settings=settings, previous=analysis)
    return Mended(analysis.text, tuple(applied), analysis, tuple(creates.values()), tuple(rounds))


_Mark = tuple[str, str, str]


def _round(
    analysis: Analysis, accept: Callable[[Finding, Offer], bool], failed: set[_Mark], program: ProgramView | None
) -> tuple[list[tuple[Finding, Offer]], Change] | None:
    """Offers that can be applied together, and their common change; None if there is none left.

    Each is proved on the same text and keeps behaviour, so together they do, if none touches lines that
    another one rewrites or relies on.  What remains comes in the next round.
    """
    from graphmend_lsp.mend.splice import splice

    place = (program or NoProgram()).runtime(analysis.path)
    jobs: list[tuple[Finding, Offer, Site, mending.Draft]] = []
    reserved: set[str] = set()
    for finding in _inner_first(analysis.findings):
        site = analysis.site(finding)
        for offer in finding.offers:
            mark = (finding.function, finding.message, offer.kind)
            if site is None or mark in failed or not accept(finding, offer):
                continue
            made = mending.draft(replace(site, reserved=reserved), offer)
            if isinstance(made, Refusal) or _lines_meet(site, made, jobs):
                if isinstance(made, Refusal):
                    failed.add(mark)
                break
            jobs.append((finding, offer, site, made))
            reserved |= {h.name for h in made.helpers} | set(made.names)
            break
    while jobs and analysis.parsed is not None:
        change = splice(analysis.text, analysis.parsed, [(site, made) for _, _, site, made in jobs], place)
        if isinstance(change, Change):
            return [(finding, offer) for finding, offer, _, _ in jobs], change
        # One of them cannot be written: find out which, alone.
        alone = [splice(analysis.text, analysis.parsed, [(j[2], j[3])], place) for j in jobs]
        bad = [j for j, result in zip(jobs, alone, strict=True) if isinstance(result, Refusal)] or jobs[1:] or jobs
        failed |= {(j[0].function, j[0].message, j[1].kind) for j in bad}
        jobs = [j for j in jobs if j not in bad]
    return None


def _lines_meet(site: Site, made: mending.Draft, jobs: list[tuple[Finding, Offer, Site, mending.Draft]]) -> bool:
    first, last = made.lines
    for _, _, other, draft in jobs:
        begin, end = draft.lines
        if other.chunk.id == site.chunk.id and first <= end and begin <= last:
            return True
    return False


def _inner_first(findings: tuple[Finding, ...]) -> list[Finding]:
    """In order of position, but what lies inside another finding's statement before it."""
    result: list[Finding] = []
    stack: list[Finding] = []
    for finding in findings:
        while stack and not stack[-1].statement.contains(finding.statement):
            result.append(stack.pop())
        stack.append(finding)
    return result + stack[::-1]
