"""Every rule's fixtures: what is flagged, what is not, what mending gives; and torch agrees with all of it.

``GMxxx/flag_*.py`` carries ``# GMxxx`` behind each statement that must be flagged; nothing else may be.
``GMxxx/pass_*.py`` must not be flagged.  ``flag_x.fixed.py`` is what the safe offers make of ``flag_x.py`` and
``flag_x.snap`` what ``graphmend check`` prints for it.
"""

from __future__ import annotations

import io
import itertools
import re
from contextlib import redirect_stdout
from pathlib import Path

import execute
import markers
import pytest
from snapshots import Snapshots

from graphmend_lsp.check import Analysis, check, mend
from graphmend_lsp.cli import main
from graphmend_lsp.rules import all_rules
from graphmend_lsp.settings import Settings

HERE = Path(__file__).resolve().parent
FLAG = sorted(HERE.glob("GM*/flag_*.py"))
PASS = sorted(HERE.glob("GM*/pass_*.py"))
FIXED = [p for p in FLAG if p.name.endswith(".fixed.py")]
FLAG = [p for p in FLAG if p not in FIXED]


def label(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def entry_names(path: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys(case.entry for case in execute.cases(loaded(path))))


def loaded(path: Path):
    return execute.load(path, execute.module_name(path))


def analysed(path: Path) -> Analysis:
    analysis = check(read(path), path.name, settings=Settings(select=("GM",), entries=entry_names(path)))
    assert not analysis.problems
    return analysis


def rows(path: Path) -> set[tuple[int, str]]:
    """(first line of the statement, code) of every finding; a finding lies inside the statement's header."""
    text = read(path)
    statements = markers.Statements(text)
    found: set[tuple[int, str]] = set()
    for finding in analysed(path).findings:
        header = statements.at(finding.span.line)
        assert header is not None and finding.span.end_line <= header[1], (
            f"{finding.code} covers a block: {finding.span}"
        )
        found.add((header[0], finding.code))
    return found


def parametrize(paths: list[Path]):
    return pytest.mark.parametrize("path", paths, ids=label)


_AGAIN = "Uninitialized nn.Module"
"""Said of the constructor of a module that was broken out of, when it is tried as a function of its own."""

# -- what is flagged ---------------------------------------------------------------------------------


@parametrize(FLAG)
def test_flagged(path: Path) -> None:
    assert rows(path) == markers.expected(read(path))


@parametrize(PASS)
def test_not_flagged(path: Path) -> None:
    assert rows(path) == set()


@parametrize(FLAG)
def test_a_flag_fixture_is_about_its_rule(path: Path) -> None:
    assert path.parent.name in {code for _, code in markers.expected(read(path))}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_fixtures(rule) -> None:
    folder = HERE / rule.code
    assert [p for p in FLAG if p.parent == folder]
    assert [p for p in PASS if p.parent == folder]


# -- torch agrees ------------------------------------------------------------------------------------


RECOMPILES = [p for p in FLAG + PASS if p.parent.name == "GM701"]


@parametrize([p for p in RECOMPILES if p in FLAG])
def test_torch_compiles_again_where_flagged(path: Path) -> None:
    """Every entry is compiled in each call up to the limit, and the guard of every marked state has failed."""
    reasons: list[str] = []
    for entry, compiled in execute.compilations(path).items():
        growth = [after - before for before, after in itertools.pairwise(compiled.after)]
        assert len(growth) >= 8 and all(growth[:7]), f"{entry}: {compiled.after}"
        assert not growth[-1], f"{entry} does not reach the limit: {compiled.after}"
        reasons += compiled.reasons
    statements = markers.Statements(read(path))
    for line in {line for line, _ in markers.expected(read(path))}:
        header = statements.at(line)
        assert header is not None
        names = set(re.findall(r"[A-Za-z_]\w*", read(path).splitlines()[header[0] - 1].partition("#")[0]))
        assert any(names & set(re.findall(r"[A-Za-z_]\w*", reason)) - {"self"} for reason in reasons), line


@parametrize([p for p in RECOMPILES if p in PASS])
def test_torch_does_not_compile_again(path: Path) -> None:
    for entry, compiled in execute.compilations(path).items():
        assert len(set(compiled.after[-5:])) == 1, f"{entry}: {compiled.after}"


@parametrize([p for p in FLAG if p.parent.name not in ("GM001", "GM701")])
def test_torch_breaks_where_flagged(path: Path) -> None:
    """TorchDynamo breaks on every marked line, and on no other (the block of a marked test or loop aside)."""
    statements = markers.Statements(read(path))
    wanted = {line for line, code in markers.expected(read(path)) if code != "GM701"}
    seen: set[int] = set()
    for entry, found in execute.breaks(path).items():
        assert found, f"{entry} does not break"
        for line, reason in found:
            header = statements.at(line)
            assert header is not None
            if _AGAIN in reason:
                continue
            if header[0] not in wanted:
                assert wanted & set(statements.blocks_around(line)), f"{entry}: no mark on line {line}: {reason}"
            seen.add(header[0])
    assert wanted <= seen, f"no break on lines {sorted(wanted - seen)}"


@parametrize(PASS)
def test_torch_does_not_break(path: Path) -> None:
    assert not {entry: found for entry, found in execute.breaks(path).items() if found}
    for case in execute.cases(loaded(path)):
        for maker in case.makers:  # the arguments are such that something is computed
            outcome = execute.behave(path, case, maker())
            assert outcome.error is None or case.options.get("raises"), f"{case.entry}: {outcome.error!r}"


# -- mending -----------------------------------------------------------------------------------------


def fixed_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".py") + ".fixed.py")


@parametrize(FLAG)
def test_mended_text(path: Path, snapshots: Snapshots) -> None:
    mended = mend(read(path), path.name, settings=Settings(entries=entry_names(path)))
    assert not mended.analysis.problems
    snapshots.compare(fixed_path(path), mended.text if mended.text != read(path) else None)


@parametrize(FIXED)
def test_mended_text_is_done(path: Path) -> None:
    settings = Settings(entries=entry_names(path))
    assert mend(read(path), path.name, settings=settings).text == read(path)


@parametrize(FIXED)
def test_mended_code_breaks_on_fewer_lines(path: Path) -> None:
    before = execute.breaks(path.with_name(path.name.replace(".fixed.py", ".py")))
    after = execute.breaks(path)
    for entry in after:
        lines = {line for line, _ in before[entry]}, {line for line, _ in after[entry]}
        assert len(lines[1]) <= len(lines[0]), f"{entry}: {lines}"
    assert sum(not after[entry] for entry in after) > 0, "no entry has lost all its breaks"


@parametrize(FIXED)
def test_mended_code_breaks_where_findings_are_left(path: Path) -> None:
    """What mending leaves unflagged does not break; only ``select`` takes the branch where its sides differ."""
    text = read(path)
    statements = markers.Statements(text)
    left = {line for line, _ in rows(path)}
    for entry, found in execute.breaks(path).items():
        for line, reason in found:
            header = statements.at(line)
            assert header is not None
            if _AGAIN in reason:
                continue
            selects = "select(" in "".join(text.splitlines(keepends=True)[header[0] - 1 : header[1]])
            inside = left & {header[0], *statements.blocks_around(line)}
            assert inside or selects, f"{entry}: line {line}: {reason}"


@parametrize(FIXED)
def test_mended_code_behaves_the_same(path: Path) -> None:
    original = path.with_name(path.name.replace(".fixed.py", ".py"))
    touched = markers.touched(read(original), read(path))
    changed = [
        f"{case.entry}: {difference}"
        for case in execute.cases(loaded(path))
        if case.entry in touched
        for difference in execute.compare(original, path, case)
    ]
    assert not changed, "\n".join(changed)


def test_containers_that_grow_are_flagged_on_request() -> None:
    path = next(path for path in FLAG if path.name == "flag_containers.py")

    def found(*select: str) -> int:
        return len(check(read(path), path.name, settings=Settings(select=select, entries=entry_names(path))).findings)

    assert found() == found("GM1") == 0
    assert found("GM701") == found("GM") > 10


# -- what the command line prints ----------------------------------------------------------------------


@parametrize(FLAG)
def test_printed(path: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("NO_COLOR", "1")
    arguments = ["check", "--output-format", "full", "--select", "ALL"]
    for name in entry_names(path):
        arguments += ["--entry", name]
    out = io.StringIO()
    with redirect_stdout(out):
        code = main([*arguments, path.name])
    assert code == 1
    snapshots.compare(path.with_suffix(".snap"), out.getvalue())
