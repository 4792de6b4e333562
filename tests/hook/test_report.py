"""What ``--report`` says, and that it says it however the program ends."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run, Write

MIXED = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("step")
        if x.sum() > 0:
            self.seen = True
        y = x + 1
        if y.max() > 10:
            y = y.clamp(-10, 10)
        return y
"""


def test_for_people(run: Run, write: Write) -> None:
    write("pyproject.toml", "")
    write("net.py", MIXED)
    write("odd.py", "x = '\u00e9'\n").write_bytes(b"# coding: utf-7\ndef forward(): pass\n+AGE\n")
    write("main.py", "import net\ntry:\n    import odd\nexcept Exception:\n    pass\nraise SystemExit(3)\n")
    first, second = run("--report", "main.py"), run("--report", "main.py")
    assert first.code == second.code == 3
    lines = first.err.splitlines()
    assert lines[0].startswith("graphmend: mended 2 findings in 1 file, 1 left (")
    assert "net.py" in lines
    assert "  mended  line 6: GM201 print-in-graph: Run the print as an effect of the graph" in lines
    assert "  mended  line 10: GM101 data-dependent-branch: Compute both sides and select with torch.where" in lines
    assert any(line.startswith("  left    line 7: GM101 data-dependent-branch: ") for line in lines)
    assert any(line.endswith("[state-write]") for line in lines)
    assert "net.py (from the cache)" in second.err.splitlines()


def test_for_programs_also_when_the_program_raises(run: Run, write: Write, tmp_path: Path) -> None:
    write("net.py", MIXED)
    write("main.py", "import net\n1 / 0\n")
    result = run("--report=out.json", "main.py")
    assert result.code == 1
    assert result.err.endswith("ZeroDivisionError: division by zero\n")
    report = json.loads((tmp_path / "out.json").read_text())
    assert (report["version"], report["not_found"]) == (1, [])
    net = next(file for file in report["files"] if file["module"] == "net")
    assert net["path"] == str(tmp_path / "net.py")
    assert (net["from_cache"], net["error"], net["processes"]) == (False, None, 1)
    assert [(item["code"], item["line"], item["function"]) for item in net["mended"]] == [
        ("GM201", 6, "Net.forward"),
        ("GM101", 10, "Net.forward"),
    ]
    assert [(item["code"], item["line"]) for item in net["left"]] == [("GM101", 7)]
    assert net["left"][0]["refusals"][0].keys() == {"kind", "reason", "message"}


def test_unsafe_fixes_are_named_with_what_they_change(run: Run, write: Write) -> None:
    write(
        "main.py",
        """\
        import torch


        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.n = x + 1
                if (x < 0).any():
                    raise ValueError("negative")
                return x
        """,
    )
    left, done = run("--report", "main.py"), run("--report", "--unsafe", "main.py")
    assert "mended 0 findings" in left.err
    assert "            unsafe: " in left.err
    assert "mended 1 finding " in done.err
    assert " (unsafe) -- " in done.err


def test_errors_of_ours_are_in_the_report_and_nothing_breaks(run: Run, write: Write, tmp_path: Path) -> None:
    write("net.py", MIXED)
    write(
        "main.py",
        """\
        import graphmend_lsp.check


        def fail(*arguments, **options):
            raise AssertionError("ours")


        graphmend_lsp.check.mend = fail
        import net
        print("print" in net.Net.forward.__code__.co_names)
        """,
    )
    result = run("--report", "--mend", "net", "main.py")
    assert result.out == "True\n"
    assert "net.py\n  not mended: internal error: AssertionError: ours at main.py:5; please report\n" in result.err


def test_a_report_that_cannot_be_written(run: Run, write: Write) -> None:
    write("main.py", "print('ran')\n")
    result = run("--report=no/such/folder.json", "main.py")
    assert (result.code, result.out) == (0, "ran\n")
    assert "the report cannot be written" in result.err
