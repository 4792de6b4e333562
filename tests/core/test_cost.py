"""What a break is said to cost, against what TorchDynamo makes of the same code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphmend_lsp.check import check
from graphmend_lsp.finding import Finding

SOURCE = """
import contextlib
import torch


@contextlib.contextmanager
def section():
    yield


def told(x):
    x = x + 1
    print("x")
    return x * 2


def told_twice_deep(x):
    x = told(x - 1)
    return x * 3


@torch.compile
def straight(x):
    x = x * 2
    print("a")
    return x + 1


@torch.compile
def helper(x):
    x = x * 2
    x = told(x)
    return x + 1


@torch.compile
def two_calls(x):
    x = told(x * 2)
    x = told(x * 3)
    return x + 1


@torch.compile
def deep(x):
    x = told_twice_deep(x * 2)
    return x + 1


@torch.compile
def two_tests(x):
    if x.sum() > 100 or x.mean() > 50:
        x = x * 2
    return x + 1


@torch.compile
def in_loop(x):
    for _ in range(2):
        x = x * 2
        print("a")
    return x


@torch.compile
def call_in_loop(x):
    for _ in range(2):
        x = told(x)
    return x


@torch.compile
def in_try(x):
    x = x * 2
    try:
        print("a")
    except ValueError:
        x = x + 1
    return x


@torch.compile
def in_section(x):
    x = x * 2
    with section():
        print("a")
    return x + 1


@torch.compile
def in_no_grad(x):
    x = x * 2
    with torch.no_grad():
        print("a")
    return x + 1


@torch.compile
def tested_each(x):
    x = torch.relu(x)
    return x + any(part > 100 for part in x)
"""

SPLIT = {"straight": 1, "helper": 3, "two_calls": 4, "deep": 5, "two_tests": 2, "in_no_grad": 1}
GIVEN_UP = {
    "in_loop": "a loop",
    "call_in_loop": "a loop",
    "in_try": "a try",
    "in_section": "with section",
    "tested_each": "a generator",
}


def findings() -> dict[str, Finding]:
    """For each entry the finding that costs it."""
    found: dict[str, Finding] = {}
    for finding in check(SOURCE, "costs.py").findings:
        found |= {cost.entry: finding for cost in finding.costs}
    return found


def cost(entry: str):
    return next(one for one in findings()[entry].costs if one.entry == entry)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, set[str]]]:
    """For each entry how many graphs TorchDynamo makes, and the functions whose lines are in one."""
    path = tmp_path_factory.mktemp("costs") / "costs.py"
    path.write_text(SOURCE.replace("@torch.compile\n", ""), encoding="utf-8")
    space: dict[str, Any] = {"__name__": "costs"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    found: dict[str, tuple[int, set[str]]] = {}
    for name in (*SPLIT, *GIVEN_UP):
        torch._dynamo.reset()
        found[name] = compiled(space[name])
    torch._dynamo.reset()
    return found


def compiled(function: Callable[..., Any]) -> tuple[int, set[str]]:
    made = 0
    inside: set[str] = set()

    def backend(module: torch.fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
        nonlocal made
        made += 1
        for node in module.graph.nodes:
            stack = node.meta.get("stack_trace") or ""
            inside.update(line.rpartition(" in ")[2].strip() for line in stack.splitlines() if " in " in line)
        return module.forward

    torch.compile(function, backend=backend)(torch.ones(3))
    return made, inside


@pytest.mark.parametrize("entry", SPLIT)
def test_no_more_graphs_than_was_said(entry: str, graphs: dict[str, tuple[int, set[str]]]) -> None:
    assert not cost(entry).drops
    assert cost(entry).graphs == SPLIT[entry]
    assert 1 < graphs[entry][0] <= 1 + SPLIT[entry]


@pytest.mark.parametrize("entry", GIVEN_UP)
def test_what_is_given_up_has_no_graph(entry: str, graphs: dict[str, tuple[int, set[str]]]) -> None:
    assert (cost(entry).drops, cost(entry).reason, cost(entry).whole) == (entry, GIVEN_UP[entry], True)
    assert entry not in graphs[entry][1]


def test_what_costs_all_is_an_error() -> None:
    found = findings()
    assert all(found[entry].severity == "error" for entry in GIVEN_UP if entry != "call_in_loop")
    assert all(found[entry].severity == "warning" for entry in ("straight", "two_tests", "in_no_grad"))
    assert found["call_in_loop"].severity == "error"  # one of the entries that the helper costs


def test_the_words_say_who_pays() -> None:
    found = findings()
    assert found["straight"].cost_words == "1 more graph in `straight`"
    assert found["helper"].cost_words == (
        "inside a loop, so `call_in_loop` is given up: it runs without a graph of its own; 4 entries reach this line"
    )


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graphmend_lsp.cli import main

    path = tmp_path / "costs.py"
    path.write_text(SOURCE, encoding="utf-8")
    main(["check", "--output-format", "json", str(path)])
    rows = json.loads(capsys.readouterr().out)["findings"]
    costs = {cost["entry"]: cost for row in rows for cost in row["costs"]}
    assert costs["in_loop"] == {"entry": "in_loop", "graphs": 1, "drops": "in_loop", "inside": "a loop"}
    assert costs["deep"]["graphs"] == 5 and costs["deep"]["drops"] is None
