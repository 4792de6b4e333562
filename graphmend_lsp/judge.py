"""Findings of one file: what the rules flag in its regions, with evidence, offers and refusals."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field, replace

from graphmend_lsp import mend as mending
from graphmend_lsp.finding import Cost, EntryName, Evidence, Finding, Internal, Offer, Refusal, Severity
from graphmend_lsp.flow.carried import is_carried, is_passed_in, setting_for
from graphmend_lsp.flow.cost import Callers, callers_in, cost_of
from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.events import Event, Facts, Growth, Test
from graphmend_lsp.flow.growth import settles
from graphmend_lsp.flow.host import SILENT_REGISTRIES
from graphmend_lsp.flow.values import Why
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.effects import effect_calls, only_effects
from graphmend_lsp.model.module import Module
from graphmend_lsp.model.regions import Entry
from graphmend_lsp.parse import Chunk, Parsed, Place
from graphmend_lsp.reach import Kept, Reach, Region
from graphmend_lsp.rules import Flag, Rule, all_rules
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import Span

_EXPORT_CODES = frozenset({"GM101", "GM102", "GM103", "GM301"})
_READS = ("extract", "dynamic", "index")
_SCALARS = "capture_scalar_outputs"
_SHAPES = "capture_dynamic_output_shape_ops"
_CAPTURES = (_SCALARS, _SHAPES)
"""Settings of ``torch._dynamo.config`` that let TorchDynamo carry values through the graph which are data."""
_SYMBOLIC = "allow_unspec_int_on_nn_module"
"""The setting under which the numbers of modules are not guarded by their value."""
_CAPTURED = frozenset({"GM302", "GM401", "GM402", "GM501"})
"""Rules about what such a setting can keep in the graph."""
_CAPTURING = (2, 12)
"""The first release in which ``fullgraph=True`` does what these settings do."""
_NUMBER = Refusal(
    "where", "host-value", "the test is on a Python number: keep the tensor it was read from, and test that"
)
_SIZE = Refusal(
    "where",
    "host-value",
    "the test is on a size that is data: ask the mask or the condition it comes from, or tell TorchDynamo with"
    " `torch._check` where it is never zero",
)
_ROWS = Refusal("where", "host-value", "how often the loop runs is a size that is data: work on all rows at once")
_MAX_EVIDENCE = 8
_MAX_ENTRIES = 3
"""Entries beside the first that the evidence names one by one."""


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
    entries: list[Entry] = field(default_factory=list[Entry])
    """The entries that a break here costs."""
    costs: dict[str, Cost] = field(default_factory=dict[str, Cost])
    """What it costs each of them, by name."""

    def prices(self) -> tuple[Cost, ...]:
        return tuple(sorted(self.costs.values(), key=lambda cost: (not cost.whole, not cost.drops, -cost.graphs)))


@dataclass(frozen=True, eq=False)
class _Made:
    """What is reported, before its place in the text is known; spans of ``refusals`` are raw ones."""

    hit: _Hit
    site: Site
    offers: tuple[Offer, ...]
    refusals: tuple[Refusal, ...]


class Judge:
    """Applies the rules to the regions of one file."""

    def __init__(self, reach: Reach, parsed: Parsed, settings: Settings) -> None:
        self.path = reach.path
        self.reach = reach
        self.parsed = parsed
        self.settings = settings
        self.rules = {kind: [r for r in all_rules() if kind in r.kinds] for r in all_rules() for kind in r.kinds}
        self._failures: dict[tuple[str, str], Internal] = {}
        self._captured = frozenset(setting for setting in _CAPTURES if _sets(parsed, setting))
        self._callers_in: dict[int, Callers] = {}
        self._settled: dict[int, set[str]] = {}
        self._entries: frozenset[ast.AST] = frozenset()
        self._symbolic = _sets(parsed, _SYMBOLIC)
        self._made: list[_Made] = []

    def run(self) -> tuple[list[tuple[Finding, Site | None]], Kept]:
        """The findings, each with its site, and what the next check of the file may use again."""
        regions, kept = self.reach.regions(frozenset(_silent_functions(self.parsed, self.reach.module)))
        hits: dict[tuple[str, int, int], _Hit] = {}
        contexts: dict[int, list[Facts]] = {}
        self._entries = frozenset(region.entry.function.node for region in regions)
        for region in regions:
            for facts in region.facts:
                known = contexts.setdefault(id(facts.function.node), [])
                if facts not in known:
                    known.append(facts)
        for region in regions:
            for facts in region.facts:
                if facts.function.module.path == self.path and facts.function.chunk.id in self.parsed.by_id:
                    self._flag(region, facts, hits)
        for hit in hits.values():
            key = id(hit.event.function.node)
            hit.others = [f for f in contexts.get(key, []) if f is not hit.facts]
        for hit in hits.values():
            proposed = self._proposed(hit)
            if proposed is not None:
                self._made.append(proposed)
        return self._findings(), kept

    def again(self, parsed: Parsed) -> list[tuple[Finding, Site | None]]:
        """The findings as they stand in another text whose chunks are seen as the same ones (``Parsed.seen``)."""
        other = copy.copy(self)
        other.parsed = parsed
        other._failures = {}
        return other._findings()

    def _findings(self) -> list[tuple[Finding, Site | None]]:
        return [
            (finding, made.site)
            for made in self._made
            if made.site.chunk.id in self.parsed.by_id and (finding := self._worded(made)) is not None
        ]

    @property
    def internal(self) -> tuple[Internal, ...]:
        """Errors of our own, each once however many places it was met at."""
        found = {(failure.what, failure.error): failure for failure in self.reach.internal}
        return tuple({**found, **self._failures}.values())

    def _failed(self, what: str, event: Event, error: Exception) -> None:
        chunk = event.function.chunk
        line = chunk.span(event.stmt).line + self.parsed.by_id[chunk.id].shift
        failure = Internal.of(self.path, line, what, error)
        known = self._failures.get((failure.what, failure.error))
        if known is None or line < (known.line or line):
            self._failures[failure.what, failure.error] = failure

    def _verdict(self, rule: Rule, event: Event) -> Flag | None:
        """What a rule says of an event; a mistake in a rule must not cost the other findings."""
        try:
            return rule.flag(event)
        except Exception as error:
            self._failed(f"rule {rule.code} {rule.name}", event, error)
            return None

    def _proposed(self, hit: _Hit) -> _Made | None:
        try:
            return self._proposals(hit)
        except Exception as error:
            self._failed(f"a finding of {hit.rule.code} {hit.rule.name}", hit.event, error)
            return None

    def _worded(self, made: _Made) -> Finding | None:
        try:
            return self._finding(made)
        except Exception as error:
            self._failed(f"a finding of {made.hit.rule.code} {made.hit.rule.name}", made.hit.event, error)
            return None

    def _flag(self, region: Region, facts: Facts, hits: dict[tuple[str, int, int], _Hit]) -> None:
        entry = region.entry
        calls = effect_calls(facts.events)
        for event in facts.events:
            if event.grows is not None and self._stays(region, event.grows):
                continue
            if event.test is not None and event.test.is_carried and not self._carries(entry, event):
                continue
            if self._taken_from_the_call(entry, facts, event):
                continue
            for rule in self.rules.get(event.kind, ()):
                if not self.settings.wants(rule.code):
                    continue
                if rule.code in _CAPTURED and self._stays_in_graph(region, event):
                    continue
                if entry.kind == "export" and rule.code not in _EXPORT_CODES:
                    continue
                if _part_of_another(event, calls):
                    continue
                flag = self._verdict(rule, event)
                if flag is None:
                    continue
                key = (rule.code, id(flag.node), id(event.node))
                known = hits.get(key)
                if known is None:
                    known = hits[key] = _Hit(rule, flag, event, entry, facts, region.engine)
                elif entry.fullgraph and not known.entry.fullgraph:
                    known.entry = entry
                if id(facts) in region.direct and all(entry.function is not e.function for e in known.entries):
                    known.entries.append(entry)
                    self._price(known, region, facts)

    def _price(self, hit: _Hit, region: Region, facts: Facts) -> None:
        """Estimate what a break costs the entry of a region; of many entries those that the evidence names."""
        if len(hit.entries) > _MAX_ENTRIES + 1:
            return
        callers = self._callers_in.get(id(region))
        if callers is None:
            callers = self._callers_in[id(region)] = callers_in(region.facts)
        name = region.entry.name
        cost = cost_of(hit.event, facts, region.facts[0], callers, name)
        if cost is not None:
            hit.costs[name] = cost

    def _stays(self, region: Region, growth: Growth) -> bool:
        """Whether state that grows in one place is not reported: set back elsewhere, or made symbolic by a setting.

        What a container collects is mostly taken out by whoever collects it, which the region does not show.
        """
        if growth.what == "length" and not self.settings.asks_for("GM701"):
            return True
        if growth.what == "number" and growth.owner == "module" and self._symbolic:
            return True
        settled = self._settled.get(id(region))
        if settled is None:
            settled = self._settled[id(region)] = {key for facts in region.facts for key in facts.settled}
        return settles(settled, growth)

    def _carries(self, entry: Entry, event: Event) -> bool:
        """Whether a number from the device is still one of the graph where it is tested: else the read was the break.

        What ``torch._check`` says of it decides the test; who calls that knows.
        """
        if "_check" in event.function.chunk.source_of(event.function.node):
            return False
        sizes = event.test is not None and _asks_for_sizes(event.test)
        return self._captures(entry, _SHAPES if sizes else _SCALARS)

    def _taken_from_the_call(self, entry: Entry, facts: Facts, event: Event) -> bool:
        """Whether a test only reads numbers that TorchDynamo knows while tracing, where it captures reads."""
        test = event.test
        if test is None or not test.data or test.carried or not self._captures(entry, _SCALARS):
            return False
        reads = {id(read.node): read for read in facts.events if read.kind == "extract"}
        return all(
            datum.kind == "read"
            and is_passed_in(datum.value)
            and id(datum.node) in reads
            and is_carried(reads[id(datum.node)], frozenset())
            for datum in test.data
        )

    def _stays_in_graph(self, region: Region, event: Event) -> bool:
        """Whether what the event reads, or its shape that is data, is captured here."""
        setting = setting_for(event)
        if setting is None or not self._captures(region.entry, setting):
            return False
        return is_carried(event, region.engine.made_of_numbers)

    def _captures(self, entry: Entry, setting: str) -> bool:
        """Whether values that are data stay in the graph of an entry."""
        return setting in self._captured or (entry.fullgraph and self.settings.torch_version >= _CAPTURING)

    # -- findings --------------------------------------------------------------------------------

    def _proposals(self, hit: _Hit) -> _Made:
        event = hit.event
        site = Site(
            hit.rule.code,
            event,
            hit.facts,
            tuple(hit.others),
            self.reach.callers,
            hit.engine,
            self.reach.module,
            entries=self._entries,
            symbols=self.settings.symbols,
        )
        if event.test is not None and event.test.is_carried:
            offers, refusals = (), (_why_not(event, event.test),)
        else:
            offers, refusals = mending.proposals(
                site, lambda name, error: self._failed(f"transformation {name}", event, error)
            )
        return _Made(hit, site, offers, refusals)

    def _finding(self, made: _Made) -> Finding:
        hit, event = made.hit, made.hit.event
        chunk = event.function.chunk
        shift = self.parsed.by_id[chunk.id].shift
        statement = chunk.span(event.stmt)
        origin, named_line = self._origin(hit.flag.why, hit.engine)
        return Finding(
            hit.rule.code,
            hit.rule.name,
            self.path,
            _header(chunk, hit.flag.node).shifted(shift),
            hit.flag.message.replace("{origin}", origin),
            self._severity(hit),
            event.function.qualname,
            hit.entry.name,
            "explicit" if hit.entry.explicit else "implied",
            self._evidence(hit),
            made.offers,
            tuple(replace(r, span=r.span.shifted(shift) if r.span is not None else None) for r in made.refusals),
            hit.rule.gb or None,
            statement.shifted(shift),
            _header_end(event.stmt) + shift,
            self._entry_names(hit),
            named_line if "{origin}" in hit.flag.message else 0,
            hit.prices(),
        )

    def _severity(self, hit: _Hit) -> Severity:
        chosen = self.settings.severity.get(hit.rule.code)
        if chosen is not None:
            return chosen
        if hit.entry.fullgraph:
            return "error"
        if hit.rule.deliberate:
            return "information"
        if any(cost.whole for cost in hit.costs.values()):  # one break costs the graphs of the whole function
            return "error" if hit.entry.explicit else "warning"
        return "warning" if hit.entry.explicit else "information"

    def _origin(self, why: Why | None, engine: Engine) -> tuple[str, int]:
        """Where a value comes from, for the message: " (`mask`: a parameter, line 41)"; and that line if it is of
        this file, else 0."""
        if why is None:
            return "", 0
        here: Why | None = why
        while here is not None and here.path != self.path:
            here = here.parent
        why = here or why
        while why.parent is not None and why.path == self.path and why.parent.path == self.path:
            why = why.parent
        span = self._span(why.place, why.path, engine)
        words = why.message.replace(" is a parameter", ": a parameter", 1)
        line = f", line {span.line}" if span is not None else ""
        return f" ({words}{line})", span.line if span is not None and why.path == self.path else 0

    def _evidence(self, hit: _Hit) -> tuple[Evidence, ...]:
        chain: list[Evidence] = []
        why = hit.flag.why
        while why is not None and len(chain) < _MAX_EVIDENCE:
            self._add(chain, why.place, why.path, why.message, hit.engine)
            why = why.parent
        entry = hit.entry
        if entry.place is not None:
            self._add(chain, entry.place, entry.path, entry.message, hit.engine)
        others = [other for other in self._costs(hit) if other is not entry and other.place is not None]
        for count, other in enumerate(others[:_MAX_ENTRIES], 1):
            more = f", and {len(others) - count} more entries" if count == _MAX_ENTRIES < len(others) else ""
            if other.place is not None:
                self._add(chain, other.place, other.path, f"also reached from `{other.name}`{more}", hit.engine)
        return tuple(chain)

    def _costs(self, hit: _Hit) -> list[Entry]:
        """The entries that a break in a helper costs; of one in an entry itself only that one."""
        own = hit.event.function.node
        if any(entry.function.node is own for entry in hit.entries):
            return [hit.entry]
        return hit.entries or [hit.entry]

    def _entry_names(self, hit: _Hit) -> tuple[EntryName, ...]:
        return tuple(
            EntryName(entry.name, None if entry.path == self.path else entry.path) for entry in self._costs(hit)
        )

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


def _why_not(event: Event, test: Test) -> Refusal:
    """Why there is no fix for what numbers or sizes decide that are carried through the graph."""
    if not _asks_for_sizes(test):
        return _NUMBER
    return _ROWS if isinstance(event.node, (ast.For, ast.AsyncFor)) else _SIZE


def _asks_for_sizes(test: Test) -> bool:
    """Whether what a test needs from the device are sizes alone, no numbers that were read."""
    return all(datum.kind == "size" for datum in test.carried)


def _header(chunk: Chunk, node: ast.expr | ast.stmt) -> Span:
    """The range of a node; of a statement with a block that of its first line, without the colon."""
    span = chunk.span(node)
    if not isinstance(node, ast.ClassDef):
        return span
    text = chunk.raw_text(span.line).split("#", 1)[0].rstrip()
    return Span(span.line, span.column, span.line, max(len(text.removesuffix(":")), span.column + 1))


def _header_end(stmt: ast.stmt) -> int:
    """Last line of a statement, of a compound one that of its header."""
    body = getattr(stmt, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(stmt.lineno, body[0].lineno - 1)
    return stmt.end_lineno or stmt.lineno


def _part_of_another(event: Event, calls: frozenset[int]) -> bool:
    """Whether the statement around an event is reported in its place (one site, one code)."""
    if event.kind in _READS and (event.in_test or isinstance(event.stmt, (ast.Raise, ast.Assert))):
        return True  # of a test; of the message of an exception
    if event.kind in (*_READS, "host", "text") and isinstance(event.stmt, ast.Expr):
        if id(event.stmt.value) in calls:
            return True  # what is made for a print or log call
    if event.context.data_branches and event.kind in ("print", "log", "warn"):
        return any(only_effects(stmt, calls) for stmt in event.context.data_branches)
    return False


def _sets(parsed: Parsed, setting: str) -> bool:
    """Whether a file makes a setting true, by an assignment or a keyword."""
    for chunk in parsed.seen:
        if setting not in chunk.text:
            continue
        for top in chunk.nodes:
            for node in ast.walk(top):
                names: list[str | None] = []
                value: ast.expr | None = None
                if isinstance(node, ast.Assign):
                    names = [each.attr for each in node.targets if isinstance(each, ast.Attribute)]
                    value = node.value
                elif isinstance(node, ast.keyword):
                    names, value = [node.arg], node.value
                if setting in names and isinstance(value, ast.Constant) and value.value is True:
                    return True
    return False


def _silent_functions(parsed: Parsed, module: Module) -> set[str]:
    """Functions the file adds to ``torch._dynamo.config.reorderable_logging_functions`` and the like."""
    found: set[str] = set()
    for chunk in parsed.seen:
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
