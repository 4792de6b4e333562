"""Counters as buffers: compiled once instead of at each call, the same numbers, and what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path

import execute
import pytest
import torch

from graphmend_lsp.check import Accept, check, mend
from graphmend_lsp.settings import Settings

HEAD = "import torch\nfrom torch import nn\n\n\n"
SETTINGS = Settings(select=("GM7",), runtime="package")
CASES = "\n\nCASES = [('Net', [lambda: (torch.arange(4.0) / 8,)], {'repeat': 10})]\n"


def net(forward: str, more: str = "", constructor: str = "self.count = 0") -> str:
    """A module that counts."""
    text = f"{HEAD}class Net(nn.Module):\n    def __init__(self, start: int = 3):\n        super().__init__()\n"
    text += "".join(f"        {line}\n" for line in constructor.split("\n"))
    text += "\n    def forward(self, x):\n" + "".join(f"        {line}\n" for line in forward.split("\n"))
    return text + ("\n" + "".join(f"    {line}\n" if line else "\n" for line in more.split("\n")) if more else "")


def mended(text: str) -> str:
    assert mend(text, "net.py", settings=SETTINGS).text == text, "never safe"
    done = mend(text, "net.py", settings=SETTINGS, accept=Accept(unsafe=True))
    assert not [finding for finding in done.analysis.findings if finding.code == "GM701"]
    assert all(offer.changes for _, offer in done.applied)
    return done.text


@pytest.mark.parametrize(
    ("forward", "constructor", "wanted"),
    [
        ("self.count += 1\nreturn x * 2", "self.count = 0", 'self.register_buffer("count", torch.tensor(0), persi'),
        ("self.count -= 1\nreturn x * 2", "self.count: int = -5", 'buffer("count", torch.tensor(-5), persistent'),
        ("self.count += x.shape[0]\nreturn x * 2", "self.count = start", "torch.tensor(start, dtype=torch.long)"),
        ("self.count = self.count + 1\nreturn x * 2", "self.count = 0", "    self.count += 1\n"),
        ("self.count = 2 + self.count\nreturn x * 2", "self.count = 0", "    self.count.fill_(2 + self.count)\n"),
        (
            "step = self.count\nself.count = step + 1\nreturn x * step",
            "self.count = 0",
            "        step = self.count\n        self.count = step + 1\n",
        ),
        (
            "self.count = (self.count + 1) % 100\nreturn x * 2",
            "self.count = 0",
            "self.count.fill_((self.count + 1) % 100)",
        ),
        (
            "for _ in range(2):\n    self.count += 1\nreturn x * (1 - 0.9**self.count) / (self.count + 1)",
            "self.count = 0",
            "            self.count = self.count + 1\n        return x * (1 - 0.9**self.count)",
        ),
    ],
    ids=["adds", "takes", "size", "anew", "other-side", "two-steps", "round", "arithmetic"],
)
def test_counts_in_a_buffer(forward: str, constructor: str, wanted: str, tmp_path: Path) -> None:
    before, after = tmp_path / "net.py", tmp_path / "net.fixed.py"
    before.write_text(net(forward, constructor=constructor) + CASES)
    after.write_text(mended(before.read_text()))
    assert wanted in after.read_text()
    compiled = {path: execute.compilations(path)["Net"].after for path in (before, after)}
    assert compiled[before][:8] == list(range(1, 9))
    assert set(compiled[after]) == {1}
    assert not execute.breaks(after)["Net"]
    (case,) = execute.cases(execute.load(before, "net"))
    for backend, gradients in itertools.product((None, "eager", "aot_eager"), (False, True)):
        runs = [
            execute.behave(path, case, case.makers[0](), backend=backend, gradients=gradients)
            for path in (before, after)
        ]
        assert runs[1].error is None
        close = execute.differences(runs[0], runs[1], exact=False)
        assert not [d for d in close if "count" not in d.message], [d.message for d in close]


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_gradients_are_those_of_the_call(backend: str | None, tmp_path: Path) -> None:
    """Of a buffer that is written in place autograd would keep, compiled, what the next call finds there."""
    forward = "before = self.count\nself.count += 1\nreturn x * before + x * x * (self.count - 1)"
    before, after = tmp_path / "net.py", tmp_path / "net.fixed.py"
    before.write_text(net(forward))
    after.write_text(mended(before.read_text()))
    seen: list[list[object]] = []
    for path in (before, after):
        torch._dynamo.reset()
        model = execute.load(path, "net").Net()
        if backend is not None:
            model = torch.compile(model, backend=backend)
        seen.append([])
        for _ in range(3):
            x = torch.ones(2, requires_grad=True)
            (model(x) + model(x)).sum().backward()
            assert x.grad is not None
            seen[-1].append(x.grad.tolist())
            model(x).sum().backward()
            seen[-1].append(x.grad.tolist())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("forward", ["self.count += 1\nreturn x * 2", "self.count += 1\nreturn x * self.count"])
def test_numbers_are_those_of_the_original(forward: str, tmp_path: Path) -> None:
    more = "def calls(self):\n    return self.count\n\ndef reset(self, to: int = 7):\n    self.count = to\n\n"
    more += "def back(self):\n    self.count = 0\n\n"
    more += "def extra_repr(self):\n    return f'{self.count:3d}, ' + str(self.count)"
    before, after = tmp_path / "net.py", tmp_path / "net.fixed.py"
    before.write_text(net(forward, more))
    after.write_text(mended(before.read_text()))
    seen: list[list[object]] = []
    for path in (before, after):
        model = execute.load(path, "net").Net()
        model(torch.ones(1))
        calls = model.calls()
        seen.append([calls, type(calls), repr(model), list(model.state_dict())])
        for reset in (model.reset, model.back):
            reset()
            seen[-1] += [model(torch.ones(1)).item(), model.calls()]
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        (net("self.count += 1\nif self.count % 3 == 0:\n    x = x + 1\nreturn x"), "host-value", "line 12 uses"),
        (net("self.count += 1\nreturn x, self.count"), "host-value", "more than arithmetic with tensors"),
        (net("self.count += 1\nreturn x[self.count :]"), "host-value", "more than arithmetic with tensors"),
        (net("self.count += 1\nreturn x * 2**self.count"), "host-value", "more than arithmetic with tensors"),
        (net("self.count *= 2\nreturn x", constructor="self.count = 1"), "unsupported", "bound or deleted"),
        (
            net("self.count += 1\nreturn x", constructor="self.count = len('abc') or None"),
            "dtype",
            "known to be an int",
        ),
        (net("self.count += 1\nreturn x", constructor="if start:\n    self.count = 0"), "control-flow", "every path"),
        (
            net("self.count += 1\nreturn x", constructor="self.count = 0\nself.count = 1"),
            "unsupported",
            "several times",
        ),
        (net("self.count += 1\nreturn x").replace("        super().__init__()\n", ""), "state-write", "comes later"),
        (net("self.count += 1\nreturn x", "count = 3"), "unsupported", "attribute of class `Net`"),
        (net("self.count += 1\nreturn x", "def peek(self):\n    return getattr(self, 'count')"), "unsupported", "text"),
        (
            net("self.count += 1\nreturn x", "def peek(self):\n    return f'{self.count + 1}'"),
            "unsupported",
            "f-string",
        ),
        (net("self.count += 1\nreturn x", "def twice(self):\n    self.count = self.count * 2"), "dtype", "not a sum"),
        (net("self.count += 1\nreturn x", "def drop(self):\n    del self.count"), "unsupported", "bound or deleted"),
        (net("self.count += 1\nreturn x") + "\n\nmodel = Net()\nprint(model.count)\n", "unsupported", "line 16 uses"),
        (
            net("self.count += 1\nreturn x") + "\n\nclass More(Net):\n    def peek(self):\n        return self.count\n",
            "unsupported",
            "uses `.count` of what may be this module",
        ),
        (
            net("self.count += 1\nreturn x")
            .replace("nn.Module", "Base")
            .replace("from torch", "from other import Base\nfrom torch"),
            "state-write",
            "is not saved is not known",
        ),
        (
            net("self.stats['n'] += 1\nreturn x", constructor="self.stats = {'n': 0}"),
            "unsupported",
            "keep the count in",
        ),
        (net("self.tag += 'x'\nreturn x", constructor="self.tag = ''"), "unsupported", "a text has no form"),
        (net("self.items.append(x)\nreturn x", constructor="self.items = []"), "container-mutation", "best returned"),
        (net("global N\nN += 1\nreturn x") + "\n\nN = 0\n", "unsupported", "keep the count in a module"),
    ],
)
def test_refused(text: str, reason: str, words: str) -> None:
    findings = [finding for finding in check(text, "net.py", settings=SETTINGS).findings if finding.code == "GM701"]
    assert findings or "Base" in text
    for finding in findings:
        assert not finding.offers
        refusals = [refusal for refusal in finding.refusals if refusal.kind == "counter"]
        assert [(r.reason, words in r.message) for r in refusals] == [(reason, True)], refusals


def test_counters_of_other_classes_do_not_matter() -> None:
    text = net("self.count += 1\nreturn x") + "\n\nclass Other:\n    def __init__(self):\n        self.count = 'a'\n"
    text += "\n    def rows(self, items):\n        return items.count(self.count)\n"
    assert "torch.tensor(0)" in mended(text)
