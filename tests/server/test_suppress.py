"""The suppression that the server writes is one that the core reads."""

from __future__ import annotations

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.finding import Change
from graphmend_lsp.server.suppress import code_at, suppression
from graphmend_lsp.text import apply_edits

HEAD = "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
TAIL = "        return x + 1\n"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('print("a")', 'print("a")  # graphmend: ignore[GM201]'),
        ('print("a")  # why', 'print("a")  # why  # graphmend: ignore[GM201]'),
        ('print("# no comment")', 'print("# no comment")  # graphmend: ignore[GM201]'),
        ('print("# graphmend: ignore[GM101]")', 'print("# graphmend: ignore[GM101]")  # graphmend: ignore[GM201]'),
        ('print(\n    "a",\n)', 'print(  # graphmend: ignore[GM201]\n    "a",\n)'),
        ('print("""a\nb""")', 'print("""a\nb""")  # graphmend: ignore[GM201]'),
        ('print("a" \\\n    "b")', 'print("a" \\\n    "b")  # graphmend: ignore[GM201]'),
        ('print("""a\nb""",\n  "c")', 'print("""a\nb""",\n  "c")  # graphmend: ignore[GM201]'),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_suppression_suppresses(statement, expected, ending):
    text = f"{HEAD}        {statement}\n{TAIL}".replace("\n", ending)
    (finding,) = check(text).findings
    change = suppression(text, finding)
    assert isinstance(change, Change)
    after = apply_edits(text, change.edits)
    assert after == f"{HEAD}        {expected}\n{TAIL}".replace("\n", ending)
    assert check(after).findings == ()


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("x  # graphmend: ignore[GM201]", 24, "GM201"),
        ("x  # noqa: F401, gm202", 18, "GM202"),
        ("x  # GM201 is a rule", 6, None),
        ("GM201  # noqa: F401", 2, None),
        ("x  # graphmend: ignore", 10, None),
    ],
)
def test_the_code_under_the_cursor(line, column, expected):
    found = code_at(line, column)
    assert (found and found[0]) == expected
