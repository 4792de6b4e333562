"""State that grows, for the release of torch that is assumed, and who is named for it."""

from __future__ import annotations

from graphmend_lsp.check import check
from graphmend_lsp.settings import Settings

MODULE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.rate = 1.0
        self.items = []
    def forward(self, x):
        self.count += 1
        self.rate *= 0.5
        self.items.append(x)
        return x
"""


def flagged(text: str, release: tuple[int, int] = (2, 13)) -> set[str]:
    findings = check(text, "net.py", settings=Settings(torch_version=release, select=("GM7",))).findings
    return {finding.message.split("`")[1] for finding in findings if finding.code == "GM701"}


def test_what_is_guarded_depends_on_the_release() -> None:
    assert flagged(MODULE) == {"self.count", "self.items"}
    assert flagged(MODULE, (2, 8)) == {"self.count", "self.items"}
    assert flagged(MODULE, (2, 4)) == {"self.rate", "self.items"}


def test_the_event_tells_what_a_fix_has_to_know() -> None:
    analysis = check(MODULE, "net.py", settings=Settings(select=("GM7",)))
    grown = [site.event.grows for site in analysis.sites if site is not None and site.event.grows is not None]
    assert [(growth.owner, growth.what, growth.key) for growth in grown] == [
        ("module", "number", "Net.count"),
        ("module", "length", "Net.items"),
    ]


def test_containers_are_flagged_where_the_rule_is_asked_for() -> None:
    found = {finding.message.split("`")[1] for finding in check(MODULE, "net.py").findings}
    assert found == {"self.count"}


def test_a_setting_makes_numbers_of_modules_symbolic() -> None:
    text = MODULE + "\nimport torch._dynamo\ntorch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
    assert flagged(text) == {"self.items"}
