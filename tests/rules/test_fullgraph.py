"""Numbers carried through the graph under ``fullgraph=True``: what is flagged there raises, what is not compiles."""

from __future__ import annotations

import re
from pathlib import Path

import execute
import pytest
import torch

from graphmend_lsp.check import check

HERE = Path(__file__).resolve().parent
PATCH = re.compile(r"@torch\._dynamo\.config\.patch\(.*\)")


def outcomes(path: Path) -> dict[str, bool]:
    """Whether each entry of a fixture compiles with ``fullgraph=True`` and without the setting."""
    found: dict[str, bool] = {}
    module = execute.load(path, execute.module_name(path))
    for case in execute.cases(module):
        torch._dynamo.reset()
        function = torch.compile(getattr(module, case.entry).__wrapped__, fullgraph=True, backend="eager")
        with execute.quiet():
            try:
                function(*case.makers[0]())
            except Exception:
                found[case.entry] = False
            else:
                found[case.entry] = True
    return found


def flagged(path: Path) -> dict[str, str]:
    text = PATCH.sub("@torch.compile(fullgraph=True)", path.read_text(encoding="utf-8"))
    return {finding.entry: finding.severity for finding in check(text, path.name).findings}


FIXTURES = ["GM101/flag_carried.py", "GM101/pass_carried.py", "GM401/flag_captured.py", "GM401/pass_captured.py"]


@pytest.mark.parametrize("name", FIXTURES)
def test_an_error_where_compiling_raises(name: str) -> None:
    path = HERE / name
    found, severities = outcomes(path), flagged(path)
    assert {entry for entry, compiles in found.items() if not compiles} == set(severities)
    assert set(severities.values()) <= {"error"}


SIZES = """
import torch

@torch.compile(fullgraph=True, backend="eager")
def fn(x: torch.Tensor):
    {before}
    return x * 2 if {test} else x
"""


@pytest.mark.parametrize(
    ("before", "test", "raises"),
    [
        ("y = x[x > 1]", "y.numel()", True),
        ("y = x[x > 1] + 1", "not len(y)", True),
        ("y = torch.where(x > 1)[0]", "y.size()[0] == 0 and x.dim() == 1", True),
        ("y = torch.nonzero(x)", "y.shape[1]", False),
        ("y = x[x > 1]", "y.numel() >= 0", False),
        ("y = x[x > 1]", "y.numel() < 0", False),
        ("y = x.reshape(2, 2)[:, x[:2] > 1]", "y.shape[0]", False),
    ],
)
def test_sizes_that_are_data(before: str, test: str, raises: bool, tmp_path: Path) -> None:
    path = tmp_path / "sizes.py"
    path.write_text(SIZES.format(before=before, test=test))
    torch._dynamo.reset()
    entry = execute.load(path, "sizes").fn
    if raises:
        with pytest.raises(Exception, match="data-dependent"), execute.quiet():
            entry(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    else:
        entry(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert [finding.severity for finding in check(path.read_text(), path.name).findings] == ["error"] * raises


def test_older_releases_do_not_carry_them() -> None:
    from graphmend_lsp.settings import Settings

    text = (HERE / "GM101" / "flag_carried.py").read_text(encoding="utf-8")
    text = PATCH.sub("@torch.compile(fullgraph=True)", text)
    findings = check(text, "old.py", settings=Settings(torch_version=(2, 8))).findings
    in_the_test = {finding.function for finding in findings if finding.code == "GM101"}
    assert in_the_test == {"passed_and_changed", "item_of_passed"}
    assert {finding.code for finding in findings} == {"GM101", "GM401", "GM501"}
