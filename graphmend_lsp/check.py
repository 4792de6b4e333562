"""The pure core's front door: text in, findings out; findings in, edits out.

Nothing here reads a file, runs the user's code or knows a protocol.  Other files of the program are seen
through the ``ProgramView`` that is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from graphmend_lsp import mend as mending
from graphmend_lsp.finding import Change, Finding, Internal, NewFile, Offer, Problem, Refusal
from graphmend_lsp.judge import Judge
from graphmend_lsp.mend.base import Site
from graphmend_lsp.model.program import NoProgram, ProgramView, RuntimePlace
from graphmend_lsp.parse import Parsed, parse
from graphmend_lsp.reach import Kept, Reach, Superseded
from graphmend_lsp.settings import Settings
from graphmend_lsp.suppress import Suppression, suppressions
from graphmend_lsp.text import Edit, Span, apply_edits

__all__ = [
    "Accept",
    "Analysis",
    "Mended",
    "NoProgram",
    "ProgramView",
    "RuntimePlace",
    "Superseded",
    "check",
    "mend",
    "resolve",
]

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
    kept: Kept | None = field(default=None, repr=False)
    """What the next check of the file may use again."""
    judge: Judge | None = field(default=None, repr=False)
    internal: tuple[Internal, ...] = ()
    """Errors of our own, each of which cost one rule or function only."""

    def site(self, finding: Finding) -> Site | None:
        for known, site in zip(self.findings, self.sites, strict=False):
            if known == finding:
                return site
        return None


_RUNTIME_HEADER = re.compile(r"\bVersion (\d+(?:\.\d+)*)\. Made by graphmend-lsp\b")
_HEADER_LINES = 6


def is_runtime_file(text: str) -> bool:
    """Whether a text is the runtime that mending puts into a project."""
    return runtime_version(text) is not None


def runtime_version(text: str) -> str | None:
    """The version of the runtime, if the text is one."""
    found = _RUNTIME_HEADER.search("\n".join(text.split("\n", _HEADER_LINES)[:_HEADER_LINES]))
    return None if found is None else found[1]


def check(
    text: str,
    path: str = "<stdin>",
    *,
    program: ProgramView | None = None,
    settings: Settings | None = None,
    previous: Analysis | None = None,
    wanted: Callable[[], bool] | None = None,
) -> Analysis:
    """Findings of one file, in order of position.  Never raises on bad input: see ``Analysis.problems``.

    Raises:
        Superseded: ``wanted``, which is asked now and then, said that nobody waits for the result any more.
    """
    settings = settings or Settings()
    parsed = parse(text, previous.parsed if previous is not None and previous.path == path else None)
    problems: tuple[Problem, ...] = ()
    if parsed.failure is not None:
        problems = (Problem(path, parsed.failure.line, parsed.failure.message),)
    if is_runtime_file(text):
        return Analysis(path, text, (), problems, parsed=parsed)  # it leaves the graph where it must
    program = program or NoProgram()
    previous = previous if previous is not None and previous.path == path else None
    kept = previous.kept if previous is not None else None
    judge = _held(parsed, program, settings, previous)
    if judge is not None:
        found = judge.again(parsed)
    else:
        judge = Judge(Reach(path, parsed, program, settings, kept, wanted), parsed, settings)
        found, kept = judge.run()
    internal = judge.internal
    marks = _marks(parsed)
    shown = [(f, s) for f, s in found if not _suppressed(f, marks)]
    # a comment may hide what an error of ours has cost, or what does not parse just now
    unused = [
        mark for mark in marks if mark.unused and _judged(mark, settings) and not internal and not _broken(mark, parsed)
    ]
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
        judge,
        internal,
    )


def _held(parsed: Parsed, program: ProgramView, settings: Settings, previous: Analysis | None) -> Judge | None:
    """Who has judged the last text, where a text does not parse and what does is still the same.

    Callers in other files are then not looked for again.
    """
    if parsed.failure is None or previous is None or previous.judge is None or previous.kept is None:
        return None
    before = previous.parsed
    if before is None or [chunk.id for chunk in before.seen] != [chunk.id for chunk in parsed.seen]:
        return None
    same = previous.judge.settings == settings and previous.kept.holds(program, previous.kept.silent)
    return previous.judge if same else None


def _judged(mark: Suppression, settings: Settings) -> bool:
    """Whether the rules a comment could hide were all run: else nobody knows what it hides."""
    if mark.codes:
        return all(settings.wants(code) for code in mark.codes)
    return not settings.select and not settings.ignore


def _marks(parsed: Parsed) -> list[Suppression]:
    """The suppression comments; those behind a part that does not parse, too."""
    if parsed.failure is None:
        return suppressions(parsed.text)
    return [mark.moved(chunk.line - 1) for chunk in parsed.chunks for mark in suppressions(chunk.text)]


def _broken(mark: Suppression, parsed: Parsed) -> bool:
    """Whether a comment covers lines that do not parse."""
    if parsed.failure is None:
        return False
    lines = {mark.span.line, mark.line}
    return mark.line is None or any(
        chunk.broken and not lines.isdisjoint(range(chunk.line, chunk.line + len(chunk.lines)))
        for chunk in parsed.chunks
    )


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


@dataclass(frozen=True)
class Accept:
    """Which offers to apply: safe ones; with ``unsafe`` also the first other one, but no deletion."""

    unsafe: bool = False

    def __call__(self, finding: Finding, offer: Offer) -> bool:
        if offer.safety == "safe":
            return True
        return self.unsafe and offer.kind != "delete" and all(other.safety != "safe" for other in finding.offers)


def mend(
    text: str,
    path: str = "<stdin>",
    *,
    program: ProgramView | None = None,
    settings: Settings | None = None,
    accept: Callable[[Finding, Offer], bool] = Accept(),
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
