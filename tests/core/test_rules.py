"""The registry of rules, and the pages: what they show is true."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from graphmend_lsp.check import check
from graphmend_lsp.rules import Rule, all_rules, rule
from graphmend_lsp.settings import Settings

HEADINGS = ["What it does", "Why is this bad?", "Example", "Use instead", "Fix safety", "References"]
each_rule = pytest.mark.parametrize("one", all_rules(), ids=lambda r: r.code)


def section(page: str, heading: str) -> str:
    return page.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def code_in(page: str, heading: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", section(page, heading), re.DOTALL))


def codes_for(code: str) -> set[str]:
    """What is flagged in an example: its imports, and a class around a bare ``forward``, are understood."""
    if "\ndef forward(" in "\n" + code:
        code = "class Net(nn.Module):\n" + "".join(f"    {line}\n" for line in code.splitlines())
    head = "import logging\nimport warnings\nimport torch\nfrom torch import Tensor, nn\nfrom graphmend_lsp.runtime import graph_effect\nlogger = logging.getLogger(__name__)\n\n\n"  # noqa: E501
    names = tuple(re.findall(r"^def ([a-z]\w*)", code, re.MULTILINE))
    analysis = check(head + code, "example.py", settings=Settings(entries=names))
    assert not analysis.problems
    return {f.code for f in analysis.findings}


def test_codes_and_names_are_unique() -> None:
    rules = all_rules()
    assert len({r.code for r in rules}) == len({r.name for r in rules}) == len(rules)
    assert [r.code for r in rules] == sorted(r.code for r in rules)


@each_rule
def test_spelling(one: Rule) -> None:
    assert re.fullmatch(r"GM\d{3}", one.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", one.name)


@each_rule
def test_found_by_code_and_name(one: Rule) -> None:
    assert rule(one.code.lower()) is rule(one.name.upper()) is one


def test_not_found() -> None:
    assert rule("GM999") is None


@each_rule
def test_the_page_has_every_heading_in_order(one: Rule) -> None:
    assert re.findall(r"^## (.*)$", one.page, re.MULTILINE) == HEADINGS
    assert one.page.startswith(f"# {one.code} {one.name}\n")
    assert all(section(one.page, heading).strip() for heading in HEADINGS)
    assert one.summary and one.summary != one.name


@each_rule
def test_the_example_is_flagged(one: Rule) -> None:
    assert one.code in codes_for(code_in(one.page, "Example"))


@each_rule
def test_what_to_use_instead_is_not_flagged(one: Rule) -> None:
    assert not codes_for(code_in(one.page, "Use instead"))


def known_ids() -> dict[str, list[dict[str, str]]]:
    spec = find_spec("torch")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "_dynamo" / "graph_break_registry.json"
    return json.loads(path.read_text(encoding="utf-8"))


@each_rule
def test_the_id_is_in_torchs_registry(one: Rule) -> None:
    ids = known_ids()
    assert one.gb in ids or (one.code in ("GM001", "GM701") and not one.gb)  # the two that are about no break
    for gb, title in re.findall(r"\[(GB\d{4}) ([^\]]*)\]\(", one.page):
        assert gb in ids
        titles = {entry["Gb_type"].lower().replace("`", "") for entry in ids[gb]}
        assert any(title.lower().replace("`", "") in t or t in title.lower() for t in titles), f"{gb} is {titles}"
    for gb in re.findall(r"gb(\d{4})\.html", one.page):
        assert f"GB{gb}" in ids


@each_rule
def test_links_name_what_they_say(one: Rule) -> None:
    for gb, target in re.findall(r"\[(GB\d{4}) [^\]]*\]\(([^)]*)\)", one.page):
        assert target == f"https://meta-pytorch.github.io/compile-graph-break-site/gb/{gb.lower()}.html"
