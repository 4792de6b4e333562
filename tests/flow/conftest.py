"""What the tests of the analysis share: run it on a snippet and see what it reports."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.model.module import ClassInfo, Loader, Module
from graphmend_lsp.model.program import NoProgram
from graphmend_lsp.model.regions import entries
from graphmend_lsp.parse import parse

HEADER = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn\n"


class Run:
    """A snippet and the engine that looks at it."""

    def __init__(self, code: str) -> None:
        self.text = HEADER + textwrap.dedent(code)
        loader = Loader(NoProgram())
        self.module: Module = loader.module("snippet.py", parse(self.text))
        self.engine = Engine(loader)

    def facts(self, name: str) -> Facts:
        """Facts of a function as an entry."""
        target = self.module.find(name)
        assert target is not None and not isinstance(target, ClassInfo)
        facts = self.engine.generic(target)
        assert facts is not None
        return facts

    def reported(self, *named: str) -> list[str]:
        """Source lines with a data-dependent test, in all entries and what they reach."""
        todo = [
            facts
            for entry in entries(self.module, named, self.engine)
            if (facts := self.engine.generic(entry.function)) is not None
        ]
        seen: set[Facts] = set()
        lines: set[int] = set()
        while todo:
            facts = todo.pop()
            if facts in seen:
                continue
            seen.add(facts)
            todo += facts.callees
            for event in facts.events:
                if event.kind in ("check", "sort") or (event.test is not None and event.test.is_data):
                    chunk = event.function.chunk
                    lines.add(chunk.span(event.node).line + chunk.shift)
        assert self.engine.failures == []
        rows = self.text.splitlines()
        return [rows[line - 1].strip() for line in sorted(lines)]


@pytest.fixture
def run() -> Callable[[str], Run]:
    return Run
