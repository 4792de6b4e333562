"""An error of our own costs one rule, transformation or function; the rest of the file is found, and it is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from graphmend_lsp import judge, reach
from graphmend_lsp import mend as mending
from graphmend_lsp.check import check, mend
from graphmend_lsp.cli.main import main
from graphmend_lsp.flow.engine import Engine

MODEL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        print("a")
        print("b")
        if x.sum() > 0:
            x = x * 2
        return x


@torch.compile
def other(x):
    print("hidden")  # graphmend: ignore[GM201]
    print(x)
    return x
"""


def _broken(*_: Any) -> Any:
    raise KeyError("a mistake")


@pytest.fixture
def break_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes one rule raise."""
    real = judge.all_rules()

    def broken(code: str) -> None:
        rules = tuple(dataclasses.replace(r, flag=_broken) if r.code == code else r for r in real)
        monkeypatch.setattr(judge, "all_rules", lambda: rules)

    return broken


def test_a_rule_that_raises(break_rule: Callable[[str], None]) -> None:
    before = [f for f in check(MODEL).findings if f.code != "GM201"]
    assert len(before) == 1
    break_rule("GM201")
    analysis = check(MODEL)
    assert list(analysis.findings) == before
    (failure,) = analysis.internal  # three places, one message
    assert (failure.what, failure.line) == ("rule GM201 print-in-graph", 6)
    assert failure.error.startswith("KeyError: 'a mistake' at test_isolation.py:")
    assert "Traceback" in failure.trace and "please report" in failure.problem.message


def test_a_comment_is_not_called_unused_for_it(break_rule: Callable[[str], None]) -> None:
    assert check(MODEL).unused_suppressions == ()
    break_rule("GM201")
    analysis = check(MODEL)
    assert analysis.unused_suppressions == () and all(f.code != "GM001" for f in analysis.findings)


def test_the_command_prints_it_and_goes_on(
    break_rule: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    break_rule("GM101")
    assert main(["check", "--output-format", "concise"]) == 2
    out, err = capsys.readouterr()
    assert out.count("GM201") == 3 and "Found 3 findings" in out
    assert err.startswith("error: model.py:8: internal error in rule GM101") and err.count("\n") == 1
    assert main(["fix"]) == 2
    out, err = capsys.readouterr()
    assert "Mended 3 findings" in out and "internal error in rule GM101" in err
    assert "print" in (tmp_path / "model.py").read_text()


def test_a_transformation_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = next(each for each in mending.transformations() if getattr(each, "__name__", "").endswith(".defer"))
    monkeypatch.setattr(broken, "propose", _broken)
    analysis = check(MODEL)
    assert [f.code for f in analysis.findings] == ["GM201", "GM201", "GM101", "GM201"]
    assert [failure.what for failure in analysis.internal] == ["transformation defer"]
    assert [len(f.offers) for f in analysis.findings] == [0, 0, 1, 0]
    mended = mend(MODEL, accept=lambda finding, offer: True)  # drafting asks it again
    assert [offer.kind for _, offer in mended.applied] == ["where"]


def test_a_function_whose_analysis_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Engine.generic

    def generic(self: Engine, function: Any) -> Any:
        return _broken() if function.qualname == "other" else real(self, function)

    monkeypatch.setattr(Engine, "generic", generic)
    analysis = check(MODEL)
    assert [f.function for f in analysis.findings if f.code != "GM001"] == ["Net.forward"] * 3
    assert [failure.what for failure in analysis.internal] == ["the analysis of `other`"]


def test_a_search_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach.Search, "run", _broken)
    analysis = check(MODEL)
    assert len(analysis.findings) == 4
    assert [failure.what for failure in analysis.internal] == ["the search for callers"]


def test_deeply_nested_code_is_no_mistake() -> None:
    deep = "import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x" + " + 1" * 3000 + "\n"
    assert check(deep).internal == ()
