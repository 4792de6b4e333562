"""The pure core's front door: text in, findings out; findings in, edits out.  TEMPORARY STUB (the real one keeps these signatures)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from graphmend_lsp.finding import Change, Evidence, Finding, Offer, Problem, Refusal
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import Edit, Span, apply_edits


class ProgramView(Protocol):
    """What the analysis may ask about the program around one file.  Implemented in ``project``."""

    def source(self, module: str) -> tuple[str, str] | None:
        """``(path, text)`` of a module of the same project by absolute dotted name, or None."""
        ...

    def module_name(self, path: str) -> tuple[str, bool]:
        """``(absolute dotted name, is it a package's __init__)`` of a file."""
        ...

    def runtime(self, path: str) -> "RuntimePlace":
        """Where mended code in ``path`` finds ``graph_effect`` and ``select``."""
        ...


@dataclass(frozen=True)
class RuntimePlace:
    """``module``: what to write after ``from`` (e.g. ``..._graphmend`` or ``_graphmend``); ``path``/``text``: the
    file that must be created for it, None if it exists already (up to date) or comes from the package."""

    module: str
    path: str | None = None
    text: str | None = None


class NoProgram:
    """A file on its own."""

    def source(self, module: str) -> tuple[str, str] | None:
        return None

    def module_name(self, path: str) -> tuple[str, bool]:
        return "", False

    def runtime(self, path: str) -> RuntimePlace:
        return RuntimePlace("graphmend_lsp.runtime._graphmend")


@dataclass(frozen=True)
class Analysis:
    """Everything known about one version of one file.  Immutable; pass it as ``previous`` to the next check."""

    path: str
    text: str
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]      # syntax error: findings of untouched functions are kept from ``previous``
    unused_suppressions: tuple[Span, ...] = ()


def check(text: str, path: str = "<stdin>", *, program: ProgramView = NoProgram(), settings: Settings = Settings(),
          previous: Analysis | None = None) -> Analysis:
    """Findings of one file, in order of position.  Never raises on bad input: see ``Analysis.problems``."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Analysis(path, text, previous.findings if previous else (), (Problem(path, getattr(error, "lineno", None), str(error)),))
    found = []
    for fn in ast.walk(tree):
        if isinstance(fn, ast.FunctionDef) and fn.name == "forward":
            for node in ast.walk(fn):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                    span = Span(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
                    found.append(Finding("GM201", "print-in-graph", path, span, "`print` runs on the host; torch.compile splits the graph here",
                        "warning", "forward", "forward", "implied", (Evidence(Span(fn.lineno, 0, fn.lineno, 3), "compiled as nn.Module.forward"),),
                        (Offer("defer", "Defer the print out of the graph", "safe"),
                         Offer("delete", "Delete this print", "unsafe", "the text is no longer printed")), (Refusal("move", "side-effect", "another print follows"),) , "GB0059"))
    return Analysis(path, text, tuple(f for f in found if settings.wants(f.code)), ())


def resolve(analysis: Analysis, finding: Finding, offer: Offer, *, program: ProgramView = NoProgram(), settings: Settings = Settings()) -> Change | Refusal:
    """The edits of one offer, proved again on this text; a refusal if it no longer holds."""
    return Change((Edit(finding.span, "pass"),))


@dataclass(frozen=True)
class Mended:
    """Result of ``mend``: the new text, what was applied (in order), and the check of the new text."""

    text: str
    applied: tuple[tuple[Finding, Offer], ...]
    analysis: Analysis
    creates: tuple = ()                # NewFile


def mend(text: str, path: str = "<stdin>", *, program: ProgramView = NoProgram(), settings: Settings = Settings(),
         accept: Callable[[Finding, Offer], bool] = lambda finding, offer: offer.safety == "safe") -> Mended:
    """Apply for each finding its first accepted offer, all together, until nothing is left to apply."""
    analysis = check(text, path, program=program, settings=settings)
    applied = [(f, o) for f in analysis.findings for o in f.offers[:1] if accept(f, o)]
    new = apply_edits(text, [e for f, o in applied for e in (Edit(f.span, "pass"),)])
    return Mended(new, tuple(applied), check(new, path, program=program, settings=settings))
