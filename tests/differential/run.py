"""Mend a generated module by each safe offer and by all, run it before and after, compare.

What a run shows, and how two runs are compared, is ``graphmend verify``'s (``worker/observe.py``, ``compare.py``). All
calls of a module are made one after the other on one instance, within one run, so that a compiled run costs one
compilation of each function; an exception is an output like another.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import linecache
import logging
import re
import types
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo
from generate import Module
from guards import WORDS

from graphmend_lsp.check import Analysis, check, mend, resolve
from graphmend_lsp.finding import Change, Finding, Offer
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import apply_edits
from graphmend_lsp.worker.compare import Difference, differences
from graphmend_lsp.worker.observe import Behaviour, observe

NAME = "generated"
FILE = f"{NAME}.py"
TRANSFORMATION = {"GM1": "where", "GM2": "defer", "GM3": "trap"}


@dataclasses.dataclass(frozen=True)
class Mend:
    """One way of mending: what was applied, and the text."""

    applied: tuple[str, ...]
    text: str
    together: bool = False


@dataclasses.dataclass(frozen=True)
class Site:
    """One finding: its transformation, and what became of it ("safe", "unsafe" or the reason of the refusal)."""

    transformation: str
    code: str
    outcome: str


@dataclasses.dataclass(frozen=True)
class Failure:
    """A difference in behaviour, or a crash of the analysis or of what it wrote (``mend`` may then be missing)."""

    kind: str
    what: str
    mend: Mend | None = None


@dataclasses.dataclass
class Outcome:
    """What came of one module."""

    sites: list[Site] = dataclasses.field(default_factory=list[Site])
    failures: list[Failure] = dataclasses.field(default_factory=list[Failure])
    mends: int = 0
    runs: int = 0
    raised: bool = False
    """Whether a call of the original raised."""
    breaks: tuple[int, int] | None = None
    """Graph breaks before and after all mends, where they were counted."""


# -- mending ----------------------------------------------------------------------------------------------


def settings(module: Module) -> Settings:
    return Settings(entries=(module.entry,), runtime="package")


def sites(analysis: Analysis) -> list[Site]:
    return [
        Site(TRANSFORMATION[f.code[:3]], f.code, _outcome(f)) for f in analysis.findings if f.code[:3] in TRANSFORMATION
    ]


def _outcome(finding: Finding) -> str:
    if any(offer.safety == "safe" for offer in finding.offers):
        return "safe"
    reasons = [r.reason for r in finding.refusals] or [r for o in finding.offers for r in o.reasons]
    unsafe = any(o.kind in ("where", "select", "copy", "defer", "trap") for o in finding.offers)
    return f"unsafe: {reasons[0]}" if unsafe and reasons else reasons[0] if reasons else "none"


def mends(module: Module, analysis: Analysis) -> Iterator[Mend]:
    """Every safe offer alone, then all together."""
    seen: set[str] = set()
    for finding in analysis.findings:
        for offer in finding.offers:
            if offer.safety != "safe":
                continue
            change = resolve(analysis, finding, offer)
            if not isinstance(change, Change):
                raise AssertionError(f"{named(finding, offer)} is offered and then refused: {change.message}")
            text = apply_edits(module.text, change.edits)
            seen.add(text)
            yield Mend((named(finding, offer),), text)
    mended = mend(module.text, FILE, settings=settings(module))
    if mended.analysis.problems:
        yield Mend(("all",), mended.text, True)
    elif mended.text not in seen and mended.text != module.text:
        yield Mend(tuple(named(f, o) for f, o in mended.applied), mended.text, True)


def named(finding: Finding, offer: Offer) -> str:
    return f"{offer.kind} of {finding.code} in line {finding.span.line}"


# -- running ----------------------------------------------------------------------------------------------


class Calls(torch.nn.Module):
    """The entry called with one set of arguments after the other; what it raises is an output."""

    def __init__(self, entry: Any, call: Callable[..., Any]) -> None:
        super().__init__()
        self.entry = entry
        self.call = lambda *arguments: call(*arguments)  # a function is no state of the module

    def forward(self, *sets: tuple[Any, ...]) -> list[Any]:
        outputs: list[Any] = []
        with torch.compiler.set_stance("default"):
            for arguments in sets:
                try:
                    outputs.append(self.call(*arguments))
                except Exception as error:
                    compiler = type(error).__module__.startswith("torch._dynamo")
                    kind = "compiler" if compiler else type(error).__name__
                    outputs.append(("raised", kind, text_of(error)))
        return outputs


def text_of(error: Exception) -> str:
    return str(error).partition("\n\nfrom user code")[0].partition("\n\nSet TORCHDYNAMO_VERBOSE")[0]


def arguments(module: Module, *, ordinary: bool = False) -> list[tuple[Any, ...]]:
    names = {"torch": torch}
    return [eval(c, names) for c, plain in zip(module.calls, module.ordinary, strict=True) if plain or not ordinary]


def run(module: Module, text: str, backend: str | None, *, gradients: bool = False) -> Behaviour:
    """One run of all calls on one instance of a freshly loaded module; ``gradients``: of those with ordinary inputs."""
    effects: Any = vars(torch.ops).get("_graphmend_v1")
    for name in [] if effects is None else [n for n in effects.effects if n.startswith(f"{NAME}.")]:
        del effects.effects[name]  # a helper of a module that was run before
    code = _compiled(text)
    loaded: list[Any] = []

    def build() -> Any:
        made: Any = types.ModuleType(NAME)
        made.__file__ = FILE
        exec(code, made.__dict__)
        loaded.append(made)
        torch.manual_seed(0)
        target = getattr(made, module.entry)
        entry = target() if isinstance(target, type) else target
        if isinstance(entry, torch.nn.Module) and module.dtype not in ("float32", "int64"):
            entry.to(getattr(torch, module.dtype))
        call = entry if backend is None else torch.compile(entry, backend=backend)
        return Calls(entry if isinstance(entry, torch.nn.Module) else None, call)

    if backend is not None:
        torch._dynamo.reset()
    sets = arguments(module, ordinary=gradients)
    return observe(build, sets, calls=1, gradients=gradients, training=module.training, modules=loaded)


def _compiled(text: str) -> types.CodeType:
    linecache.cache[FILE] = (len(text), None, text.splitlines(True), FILE)
    return compile(text, FILE, "exec")


@dataclasses.dataclass(frozen=True)
class Effort:
    """What is run of each module.

    Every mend runs in eager mode, without and with gradients.  ``compiled`` adds aot_eager, where most of the time
    goes: for all together and for one of the single offers, each in one of both ways, by turns; ``thorough`` compiles
    every single offer, and all together in both ways.  ``inductor`` compiles all together with inductor, too.
    """

    compiled: bool = True
    thorough: bool = False
    inductor: bool = False
    count_breaks: bool = False


class Originals:
    """The runs of the original, made when they are needed."""

    def __init__(self, module: Module, outcome: Outcome) -> None:
        self.module = module
        self.outcome = outcome
        self.known: dict[tuple[str | None, bool], Behaviour] = {}

    def run(self, backend: str | None, gradients: bool) -> Behaviour:
        key = backend, gradients
        if key not in self.known:
            self.outcome.runs += 1
            self.known[key] = run(self.module, self.module.text, backend, gradients=gradients)
        return self.known[key]


def examine(module: Module, effort: Effort) -> Outcome:
    """Mend, run and compare one module."""
    outcome = Outcome()
    try:
        analysis = check(module.text, FILE, settings=settings(module))
        if analysis.problems:
            raise AssertionError(analysis.problems[0].message)
        outcome.sites = sites(analysis)
        changed = list(mends(module, analysis))
        outcome.mends = len(changed)
    except Exception as error:
        outcome.failures.append(Failure("crash", f"{type(error).__name__}: {error}"))
        return outcome
    originals = Originals(module, outcome)
    with quietly():
        for item in changed:
            try:
                compile(item.text, FILE, "exec")
            except SyntaxError as error:
                outcome.failures.append(Failure("syntax", str(error), item))
                continue
            ways = _compiled_ways(changed, item, effort)
            inductor = effort.inductor and item is changed[-1]
            outcome.failures += _compare(module, item, originals, outcome, inductor, ways)
        if effort.count_breaks and changed:
            outcome.breaks = (breaks(module, module.text), breaks(module, changed[-1].text))
    eager = originals.known.get((None, False))
    outcome.raised = eager is not None and (eager.error is not None or "'raised'" in repr(eager.outputs))
    return outcome


def _compiled_ways(changed: list[Mend], item: Mend, effort: Effort) -> tuple[bool, ...]:
    """In which ways a mend runs compiled: without gradients (False), with them (True)."""
    if not effort.compiled:
        return ()
    turn = zlib.crc32(item.text.encode())
    if item is changed[-1]:
        return (False, True) if effort.thorough else (bool(turn & 1),)
    singles = changed[:-1]
    chosen = singles[zlib.crc32(changed[-1].text.encode()) % len(singles)]
    return (bool(turn & 1),) if effort.thorough or item is chosen else ()


def compare(module: Module, item: Mend, effort: Effort) -> list[Failure]:
    """How one changed text differs in behaviour."""
    outcome = Outcome()
    return _compare(module, item, Originals(module, outcome), outcome, False, (False, True) if effort.compiled else ())


def _compare(
    module: Module, item: Mend, originals: Originals, outcome: Outcome, inductor: bool, compiled: tuple[bool, ...]
) -> list[Failure]:
    """``compiled``: without gradients (False), with them (True)."""
    found: list[Failure] = []
    runs: list[tuple[str | None, bool]] = [(None, False), (None, True), *(("aot_eager", way) for way in compiled)]
    if compiled and inductor:
        runs += [("inductor", way) for way in compiled]
    for backend, gradients in runs:
        if gradients and not any(module.ordinary):
            continue
        outcome.runs += 1
        after = run(module, item.text, backend, gradients=gradients)
        changed = _changed(originals, item, after, backend, gradients)
        if changed and backend is not None and _loses_gradients(module, item, originals, changed):
            continue
        for difference in changed:
            label = (backend or "eager") + (" with gradients" if gradients else "")
            found.append(Failure(difference.part, f"{label}: {difference.message}", item))
    return found


def _changed(
    originals: Originals, mend: Mend, after: Behaviour, backend: str | None, gradients: bool
) -> list[Difference]:
    """What is neither as the original does it in eager mode, nor, compiled, as the original does it compiled.

    Of gradient histories only gradients count (rules GM101 and GM201, "Fix safety"): a selection has a history where
    one of its sides has, and where autograd refuses the original's in-place writes there is no gradient to compare.
    A compiled selection goes back through both sides: one that is never to be differentiated makes it fail.
    """
    before = originals.run(None, gradients)
    refused = [run.error is not None and _REFUSED_BACKWARD in run.error[1] for run in (before, after)]
    if refused == [True, False] or (
        refused == [False, True] and (backend is not None or _has_more_history(before.outputs, after.outputs))
    ):
        return []
    if backend is not None and _failed_to_compile(before, after):
        return []
    if backend is not None and _OVERLAPPING in repr(before.outputs):
        return []  # a compiler makes a new tensor of what eager refuses to write into, an expanded one
    if backend is not None and _OVERLAPPING in repr(after.outputs):
        if _OVERLAPPING in repr(originals.run(backend, gradients).outputs):
            return []  # an expanded input that a compiler refuses to write to: before what is deferred, then
    if backend is not None and _is_not_differentiable(after):
        return []
    if backend is not None and _drops_what_is_unused(before, after):
        return []
    exact = backend != "inductor"
    selects = any(name.startswith(_NEW_HISTORY) for name in mend.applied)
    if selects or backend is not None:
        before, after = (without_history(run, compiled=backend is not None) for run in (before, after))
    found = [d for d in differences(before, after, exact) if not _only_requires(d)]
    if backend is not None:  # a compiler drops draws that nobody uses, and makes other views of its inputs
        found = [d for d in found if d.part not in ("random", "aliasing") and _NO_DERIVATIVE not in d.message]
    if selects and any(d.part == "outputs" for d in found) and _OVERLAPS in "".join(originals.module.calls):
        wrong = {d.message for d in differences(before, after, exact=False) if d.part == "outputs"}
        # a dense tensor may round as an expanded one does not (rule GM101, "Fix safety")
        found = [d for d in found if d.part != "outputs" or wrong]
    if found and backend is not None:
        known = {
            d.part for d in differences(without_history(originals.run(backend, gradients), compiled=True), after, exact)
        }
        found = [difference for difference in found if difference.part in known]
    return found


def _loses_gradients(module: Module, mend: Mend, originals: Originals, changed: list[Difference]) -> bool:
    """Whether it is AOT that loses the gradient of a value whose view is written under ``torch.no_grad``.

    It does so wherever both are in one graph, in an original without its prints, too.  The same graphs run by the
    backend "eager" then have all gradients.
    """
    if "no_grad" not in module.text or any(d.part != "gradients" for d in changed):
        return False
    after = run(module, mend.text, "eager", gradients=True)
    return not _changed(originals, mend, after, "eager", True)


def _is_not_differentiable(after: Behaviour) -> bool:
    """Whether a graph was not compiled because autograd refuses what is in it (AOT differentiates a graph at once).

    It would in eager mode, too, if somebody asked for that gradient: of a value that nobody uses, or on the path not
    taken, which a selection has in its graph.  What mending does to gradients that are asked for shows in eager mode.
    """
    told = repr(after.outputs) if "'compiler'" in repr(after.outputs) else repr(after.error)
    return _NO_DERIVATIVE in told or ("'compiler'" in told and _REFUSED_BACKWARD in told)


def _drops_what_is_unused(before: Behaviour, after: Behaviour) -> bool:
    """Whether calls differ in which an operator of torch raised and now is not run: nobody uses it, the call goes on.

    A break keeps such an operator alive, a compiler of the whole drops it.  What guards raise has other words.
    """
    pairs = list(zip(_calls(before), _calls(after), strict=True))
    lost = [old for old, new in pairs if "'raised'" in repr(old) and repr(old) != repr(new)]
    return bool(lost) and not any(word in repr(old) for old in lost for word in WORDS)


def _has_more_history(before: Any, after: Any) -> bool:
    """Whether a tensor of the outputs requires a gradient where it did not: the side not taken does."""
    if not isinstance(before, (list, tuple)) or not isinstance(after, (list, tuple)):
        return False
    if before[:1] == ("tensor",) == after[:1]:
        return bool(after[6] and not before[6])
    return any(_has_more_history(old, new) for old, new in zip(before, after, strict=False))


def _failed_to_compile(before: Behaviour, after: Behaviour) -> bool:
    """Whether code that raises anyway failed while it was compiled: sooner, and as another error (rule GM201)."""
    if "'compiler'" not in repr(after.outputs):
        return False
    pairs = zip(_calls(before), _calls(after), strict=True)
    return all("'raised'" in repr(old) for old, new in pairs if "'compiler'" in repr(new))


def _calls(run: Behaviour) -> list[Any]:
    return run.outputs[0][3] if run.outputs else []


def _only_requires(difference: Difference) -> bool:
    return difference.part == "outputs" and difference.message.endswith(" requires a gradient")


_NEW_HISTORY = ("where", "select", "masked", "reduction", "row")
"""Kinds of offers whose results have a gradient history of another form."""
_OVERLAPS = ".expand("
_OVERLAPPING = "more than one element of the written-to tensor refers to a single memory location"
_NO_DERIVATIVE = "derivative for "
_REFUSED_BACKWARD = "has been modified by an inplace operation"
_HISTORY = re.compile(
    r",(?:\s|\\n)*(?:grad_fn=<\w+>|requires_grad=True)|(?<=inplace operation): .*",  # in a repr, too
    re.DOTALL,
)


def without_history(run: Behaviour, *, compiled: bool) -> Behaviour:
    """The same without what the texts of tensors say of their gradient history.

    Nor does a compiled run say where ``stacklevel`` leads, since Dynamo has frames of its own, nor that a raised
    AssertionError with a constant text was one: Dynamo makes an assertion of the graph of it, which raises a
    RuntimeError.
    """
    said: list[Any] = [tuple(_HISTORY.sub("", part) for part in item) for item in run.said]
    outputs: Any = _without_history(run.outputs)
    error: Any = _without_history(run.error)
    if compiled:
        said = [(*item[:-1], "") if item[0] in ("record", "warning") else item for item in said]
        outputs = _without_assertions(outputs)
    return dataclasses.replace(run, said=said, outputs=outputs, error=error)


_ASSERTION = [("value", "raised"), ("value", "AssertionError")]


def _without_history(value: Any) -> Any:
    if isinstance(value, str):
        return _HISTORY.sub("", value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_history, value))
    return value


def _without_assertions(value: Any) -> Any:
    if isinstance(value, list) and value[:2] == _ASSERTION and value[2][1] in WORDS:
        return [value[0], ("value", "RuntimeError"), value[2]]
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_assertions, value))
    return value


def breaks(module: Module, text: str) -> int:
    """How often the graph breaks, over all calls."""
    counted = torch._dynamo.utils.counters["graph_break"]
    counted.clear()
    run(module, text, "eager")
    return sum(counted.values())


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without what torch says of its compiling, and the measurement of guards, for which Dynamo flushes CPU caches.

    Inductor draws random numbers as eager does: its own depend on the number of graphs.
    """
    inductor: Any = importlib.import_module("torch._inductor.config")
    drawn, inductor.fallback_random = inductor.fallback_random, True
    guards: Any = torch._dynamo.guards
    kept = getattr(guards, "profile_guard_manager", None)
    if kept is not None:
        guards.profile_guard_manager = lambda *_: 0.0
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    talkers = [logging.getLogger(name) for name in ("torch", "torch.__trace", "torch._dynamo", "torch._subclasses")]
    for logger in talkers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in talkers:
            logger.disabled = False
        torch.set_num_threads(threads)
        inductor.fallback_random = drawn
        if kept is not None:
            guards.profile_guard_manager = kept
