"""Suppression comments, through ``check``."""

from __future__ import annotations

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.settings import Settings
from graphmend_lsp.suppress import suppressions

HEAD = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n"


def codes(body: str, head: str = HEAD, **options: object) -> list[str]:
    text = head + "".join(f"    {line}\n" for line in body.split("\n"))
    analysis = check(text, "f.py", settings=Settings(**options))
    assert not analysis.problems
    return [f.code for f in analysis.findings]


def test_without_a_comment() -> None:
    assert codes("if x.sum() > 0:\n    x = x + 1\nprint(x)\nreturn x") == ["GM101", "GM201"]


@pytest.mark.parametrize(
    "comment",
    [
        "# graphmend: ignore",
        "#graphmend:ignore",
        "# graphmend: ignore[GM201]",
        "# graphmend: ignore[GM101, GM201]",
        "# graphmend: ignore[gm2]",
        "# noqa: GM201",
        "# noqa: E501, GM201",
        "# noqa:GM201,E501",
        "# type: ignore # graphmend: ignore[GM201]",
        "# why: wanted  graphmend # graphmend: ignore",
    ],
)
def test_on_the_line(comment: str) -> None:
    assert "GM201" not in codes(f"print(x)  {comment}\nreturn x")


@pytest.mark.parametrize(
    "comment", ["# noqa", "# noqa: E501", "# graphmend: ignored", "# graphmend ignore", "# graphmend: ignore[GM101]"]
)
def test_others_do_not_count(comment: str) -> None:
    assert "GM201" in codes(f"print(x)  {comment}\nreturn x")


def test_on_the_line_before() -> None:
    assert codes("# graphmend: ignore[GM201]\nprint(x)\nreturn x") == []


def test_the_line_before_covers_one_line() -> None:
    assert codes("# graphmend: ignore[GM201]\nprint(x)\nprint(x)\nreturn x") == ["GM201"]


def test_a_statement_over_several_lines() -> None:
    assert codes("print(\n    x,\n)  # graphmend: ignore\nreturn x") == []
    assert codes("print(  # graphmend: ignore\n    x,\n)\nreturn x") == []


def test_an_if_is_covered_at_its_header_only() -> None:
    assert "GM201" in codes("if x.sum() > 0:  # graphmend: ignore[GM101]\n    print(x)\n    x = x + 1\nreturn x")


def test_the_whole_file() -> None:
    assert codes("print(x)\nif x.sum() > 0:\n    x = x + 1\nreturn x", "# graphmend: ignore-file\n" + HEAD) == []
    assert codes("print(x)\nif x.sum() > 0:\n    x = x + 1\nreturn x", "# graphmend: ignore-file[GM2]\n" + HEAD) == [
        "GM101"
    ]


def test_a_string_is_no_comment() -> None:
    assert codes('print("# graphmend: ignore")\nreturn x') == ["GM201"]


def test_unused() -> None:
    assert codes("return x  # graphmend: ignore") == ["GM001"]
    assert codes("print(x)  # graphmend: ignore[GM201, GM101]\nreturn x") == ["GM001"]
    assert codes("return x  # noqa: E501") == []
    assert codes("return x  # graphmend: ignore", ignore=("GM001",)) == []


def test_what_does_not_parse_may_hide_something() -> None:
    text = "import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)  # graphmend: ignore\n    return x{}\n"
    good = check(text.format(""))
    assert not good.findings
    for previous in (good, None):
        assert not check(text.format(" +"), previous=previous).findings
    other = text.format("") + "\n\ndef g(x):\n    return x  # graphmend: ignore\n"
    broken = check(other.replace("return x\n", "return x +\n"), previous=check(other))
    assert [f.code for f in broken.findings] == ["GM001"]


def test_comments_behind_an_error_count_where_the_rest_parses() -> None:
    text = (
        "import torch\n\n\ndef g(x):\n    return x{}\n\n\n"
        "@torch.compile\ndef f(x):\n    print(x)  # noqa: GM201\n    return x\n"
    )
    assert not check(text.format(" +")).findings
    assert not check(text.format(" +"), previous=check(text.format(""))).findings


def test_unused_knows_its_place() -> None:
    analysis = check("import torch\nx = 1  # graphmend: ignore\n")
    (span,) = analysis.unused_suppressions
    assert (span.line, span.column, span.end_column) == (2, 7, 26)


def test_comments_before_an_error_count() -> None:
    assert len(suppressions("x = 1  # graphmend: ignore\ny = (\n")) == 1
    assert len(suppressions("x = 1  # graphmend: ignore\r\ny = 2\r\n")) == 1
