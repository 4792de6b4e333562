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


def test_older_releases_do_not_carry_them() -> None:
    from graphmend_lsp.settings import Settings

    text = (HERE / "GM101" / "flag_carried.py").read_text(encoding="utf-8")
    text = PATCH.sub("@torch.compile(fullgraph=True)", text)
    findings = check(text, "old.py", settings=Settings(torch_version=(2, 8))).findings
    assert {finding.code for finding in findings} == {"GM401"}
