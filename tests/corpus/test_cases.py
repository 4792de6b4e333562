"""The cases and patterns of ``../shared``, where that folder stands next to the repository.

Detection is judged by the matching rule of the cases' README, for codes GM1xx to GM3xx; rewrites by running both
versions (``../shared/tools/verify_cases.py --mended``).
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import markers
import pytest

from graphmend_lsp.check import Analysis, Mended, check, mend
from graphmend_lsp.finding import Finding, Offer
from graphmend_lsp.model.program import NoProgram, RuntimePlace
from graphmend_lsp.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
CASES = SHARED / "cases"
PATTERNS = SHARED / "patterns.json"
RUNTIME = ROOT / "graphmend_lsp" / "runtime" / "_graphmend.py"
SCOPE = ("GM1", "GM2", "GM3")
NAMES = sorted(p.parent.name for p in CASES.glob("*/case.json"))

pytestmark = pytest.mark.skipif(not NAMES, reason="the shared cases are not here")
each_case = pytest.mark.parametrize("name", NAMES)


class Beside(NoProgram):
    """A file on its own whose runtime lies next to it."""

    def runtime(self, path: str) -> RuntimePlace:
        place = Path(path).with_name("_graphmend.py")
        return RuntimePlace("_graphmend", str(place), RUNTIME.read_text(encoding="utf-8"))


def meta(name: str) -> dict[str, Any]:
    return json.loads((CASES / name / "case.json").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (CASES / name / "before.py").read_bytes().decode("utf-8")


def settings(name: str) -> Settings:
    return Settings(entries=(meta(name)["entry"],))


@cache
def analysed(name: str) -> Analysis:
    analysis = check(text(name), "before.py", settings=settings(name))
    assert not analysis.problems
    return analysis


def accept_safe(finding: Finding, offer: Offer) -> bool:
    del finding
    return offer.safety == "safe"


def accept_unsafe(finding: Finding, offer: Offer) -> bool:
    del finding
    return offer.kind != "delete"


def mended(name: str, folder: Path, *, unsafe: bool) -> Mended:
    accept = accept_unsafe if unsafe else accept_safe
    return mend(text(name), str(folder / "before.py"), program=Beside(), settings=settings(name), accept=accept)


def matching(name: str, expect: dict[str, Any]) -> list[Finding]:
    """The findings that start in the header of the expected line's statement and end in it."""
    header = markers.Statements(text(name)).at(expect["line"])
    assert header is not None
    codes = {expect["code"], *expect.get("also", [])}
    return [
        f
        for f in analysed(name).findings
        if header[0] <= f.span.line and f.span.end_line <= header[1] and f.code in codes
    ]


# -- detection ---------------------------------------------------------------------------------------


@each_case
def test_expected_lines_are_flagged(name: str) -> None:
    missed = [e for e in meta(name)["expect"] if e["code"].startswith(SCOPE) and not matching(name, e)]
    assert not missed


@each_case
def test_no_other_line_is_flagged(name: str) -> None:
    right = [f for e in meta(name)["expect"] for f in matching(name, e)]
    allowed = set(meta(name).get("may_flag", []))
    wrong = [f for f in analysed(name).findings if f not in right and f.span.line not in allowed]
    assert not wrong
    assert not {f.span.line for f in analysed(name).findings} & set(meta(name)["must_not_flag"])


# -- offers and refusals -----------------------------------------------------------------------------


@each_case
def test_reasons(name: str) -> None:
    case = meta(name)
    if case["offer"] == "safe" or not case["refuse_reasons"]:
        pytest.skip("nothing to give a reason for")
    allowed = set(case.get("may_flag", []))
    for finding in analysed(name).findings:
        if finding.span.line in allowed:
            continue
        given = {r.reason for r in finding.refusals} | {x for o in finding.offers for x in o.reasons}
        assert given & set(case["refuse_reasons"]), f"line {finding.span.line}: {sorted(given)}"


@each_case
def test_refused_cases_get_no_offer(name: str) -> None:
    case = meta(name)
    if case["offer"] != "refuse" or case.get("change_ok"):
        pytest.skip("may be changed")
    offered = [(f.span.line, o.title) for f in analysed(name).findings for o in f.offers]
    assert not offered


SYMBOLS = {"arange-up-to-longest-duration", "position-grid-from-image-sizes"}
"""Labelled "refuse", which is right unless the user asks for symbols."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SYMBOLS & set(NAMES)))
def test_symbols_behave_the_same(name: str) -> None:
    before = CASES / name / "before.py"
    command = [sys.executable, "-m", "graphmend_lsp", "verify", f"{before}::{meta(name)['entry']}", "--unsafe"]
    command += ["--symbols", "--backend", "inductor", "--python", sys.executable]
    command += ["--inputs", f"{before}::example_inputs"]
    done = subprocess.run([*command, "--output-format", "json"], capture_output=True, text=True)
    (entry,) = json.loads(done.stdout)["files"][0]["entries"]
    assert (done.returncode, entry["verdict"]) == (0, "same"), done.stdout


@each_case
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_mending_is_idempotent_and_parses(name: str, unsafe: bool, tmp_path: Path) -> None:
    once = mended(name, tmp_path, unsafe=unsafe)
    ast.parse(once.text.removeprefix("\ufeff"))
    accept = accept_unsafe if unsafe else accept_safe
    path = str(tmp_path / "before.py")
    twice = mend(once.text, path, program=Beside(), settings=settings(name), accept=accept)
    assert twice.text == once.text
    assert all(new.path == str(tmp_path / "_graphmend.py") for new in once.creates)


# -- verified by running -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in NAMES if (CASES / name / "wrong.py").exists()])
def test_verify_finds_what_a_tempting_rewrite_changes(name: str) -> None:
    before = CASES / name / "before.py"
    command = [sys.executable, "-m", "graphmend_lsp", "verify", f"{before}::{meta(name)['entry']}"]
    command += ["--against", str(before.with_name("wrong.py")), "--backend", "none", "--python", sys.executable]
    for function in ("example_inputs", "more_inputs", "failing_inputs"):
        if f"def {function}(" in text(name):
            command += ["--inputs", f"{before}::{function}"]
    done = subprocess.run([*command, "--output-format", "json"], capture_output=True, text=True)
    (entry,) = json.loads(done.stdout)["files"][0]["entries"]
    assert (done.returncode, entry["verdict"]) == (1, "different"), done.stderr


# -- rewrites, run ------------------------------------------------------------------------------------


def judged(folder: Path, *, unsafe: bool) -> str:
    """Mend what may be mended, and run both versions of what changed."""
    names: list[str] = []
    for name in NAMES:
        case = meta(name)
        if case["offer"] not in (("safe", "unsafe") if unsafe else ("safe",)):
            continue
        target = folder / name
        made = mended(name, target, unsafe=unsafe)
        if made.text == text(name):
            continue
        if unsafe and made.text == mended(name, target, unsafe=False).text:
            continue  # judged there
        target.mkdir(parents=True)
        (target / "before.py").write_bytes(made.text.encode("utf-8"))
        for new in made.creates:
            Path(new.path).write_text(new.text, encoding="utf-8")
        names.append(name)
    assert names
    command = [sys.executable, str(SHARED / "tools" / "verify_cases.py"), str(CASES), *names, "--mended", str(folder)]
    command += ["--jobs", str(min(2, os.cpu_count() or 1)), *(["--unsafe"] if unsafe else [])]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_safe_rewrites_behave_the_same(tmp_path: Path) -> None:
    judged(tmp_path, unsafe=False)


@pytest.mark.slow
def test_unsafe_rewrites_change_what_they_say(tmp_path: Path) -> None:
    judged(tmp_path, unsafe=True)


# -- patterns ----------------------------------------------------------------------------------------

# Entries of patterns.json whose parameter may be a tensor or a Python value; nothing in the source says which.
UNKNOWABLE = {
    "for-range-tensor": "`for i in range(n)`: n is an unannotated parameter that is used for nothing else",
    "if-shape1-cond": "`if g`: an unannotated parameter, as likely a flag",
    "in-tensor": "`2 in t`: an unannotated parameter, as likely a list",
    "slice-tensor": "`x[:n]`: n is an unannotated parameter, as likely a number",
    "list-slice-tensor": "`xs[:n]`: the same",
    "index-fn": "`operator.index(n)`: the same",
    "repeat-interleave-tensor": "`torch.repeat_interleave(x, r)`: the same",
    "np-scalar": "`float(s)`: an unannotated parameter, as likely a number",
    "sorted-tensors": "`sorted(xs)`: an unannotated parameter, as likely a list of numbers",
}


def patterns() -> list[dict[str, Any]]:
    return json.loads(PATTERNS.read_text(encoding="utf-8")) if PATTERNS.exists() else []


def flagged(pattern: dict[str, Any]) -> list[Finding]:
    return list(check(pattern["code"], "pattern.py", settings=Settings(entries=("fn",))).findings)


def test_patterns_that_do_not_break_are_not_flagged() -> None:
    wrong = {p["id"]: flagged(p) for p in patterns() if not p["breaks_in_2_13"]}
    # a compilation at each call is no break; tests/rules/GM701 counts them
    wrong.pop("global-int", None)
    assert not {name: found for name, found in wrong.items() if found}


def test_patterns_that_break_are_flagged() -> None:
    missed: set[str] = set()
    for pattern in patterns():
        if not pattern["breaks_in_2_13"]:
            continue
        header = markers.Statements(pattern["code"]).at(pattern["break_line"])
        assert header is not None
        if not any(header[0] <= f.span.line <= header[1] for f in flagged(pattern)):
            missed.add(pattern["id"])
    assert missed == set(UNKNOWABLE)
