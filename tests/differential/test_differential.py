"""Random modules mended by every safe offer behave as before; ``bench/differential`` runs many more of them.

The modules are the same in every run.  A failure prints the module, what was applied, what that changed in the text,
and the difference in behaviour, of the smallest module that hypothesis finds.
"""

from __future__ import annotations

import collections
import difflib

import generate
import pytest
import run
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphmend_lsp.check import check

EXAMPLES = 320
HOST_EXAMPLES = 120
CHECKED = 1500
"""Modules that are only checked, to count what they consist of."""


def told(module: generate.Module, failure: run.Failure) -> str:
    """All that is needed to see a failure without this generator."""
    mend = failure.mend or run.Mend((), module.text)
    diff = difflib.unified_diff(
        module.text.splitlines(), mend.text.splitlines(), "original", "mended", lineterm="", n=1
    )
    calls = "\n".join(module.calls)
    return (
        f"{failure.kind}: {failure.what}\n\n# {module.entry}, {module.dtype}, training={module.training}\n"
        f"{module.text}\n# called with\n{calls}\n\n# applied: {', '.join(mend.applied)}\n" + "\n".join(diff)
    )


_SETTINGS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


@settings(_SETTINGS, max_examples=EXAMPLES)
@given(generate.modules(), st.sampled_from((0, 1, 2, 3)))
def test_mended_modules_behave_as_before(module: generate.Module, turn: int) -> None:
    """In eager mode all; compiled one in four."""
    outcome = run.examine(module, run.Effort(compiled=turn == 3))
    assert not outcome.failures, told(module, outcome.failures[0])


@settings(_SETTINGS, max_examples=HOST_EXAMPLES)
@given(generate.modules(generate.WITH_HOST), st.sampled_from((0, 1, 2, 3)))
def test_modules_that_ask_the_host_behave_as_before(module: generate.Module, turn: int) -> None:
    """Masks, rows, truths that are kept, integers kept as tensors, calls with twins; compiled one in four."""
    outcome = run.examine(module, run.Effort(compiled=turn == 3))
    assert not outcome.failures, told(module, outcome.failures[0])


HOST_KINDS = frozenset({"masked", "reduction", "row", "logical", "number", "twin", "hoist"})


def test_each_kind_of_host_fix_is_met() -> None:
    """Safely, and often enough to be worth the runs."""
    offered: collections.Counter[str] = collections.Counter()
    for seed in range(CHECKED // 5):
        module = generate.module(seed, ("host",))
        analysis = check(module.text, run.FILE, settings=run.settings(module))
        assert not analysis.problems and not analysis.internal, module.text
        offered.update(o.kind for f in analysis.findings for o in f.offers if o.safety == "safe")
    assert min(offered[kind] for kind in HOST_KINDS) >= 5, offered


def test_what_the_modules_are() -> None:
    """Each construct is common, and at least half of the sites are mended: who refuses everything would pass else."""
    tags: collections.Counter[str] = collections.Counter()
    modules: collections.Counter[str] = collections.Counter()
    sites: collections.Counter[tuple[str, bool]] = collections.Counter()
    for seed in range(CHECKED):
        module = generate.module(seed)
        tags.update(module.tags)
        modules.update(module.transformations)
        analysis = check(module.text, run.FILE, settings=run.settings(module))
        assert not analysis.problems, module.text
        sites.update((site.transformation, site.outcome == "safe") for site in run.sites(analysis))
    assert not {tag: count for tag, count in tags.items() if count < CHECKED // 100}  # 100 in 10,000
    assert not generate.CONSTRUCTS - tags.keys()
    assert min(modules[name] for name in generate.TRANSFORMATIONS) > CHECKED // 2
    assert sum(count for (_, safe), count in sites.items() if safe) * 2 >= sites.total()


ORIGINAL = """\
import logging
import torch

def run(x):
    h = x * 2
    print("h", h.sum())
    logging.warning("mean %s", h.mean())
    if h.max() > 100:
        raise ValueError("large")
    return h, x
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("h = x * 2", "h = x * 2.0000002", "outputs"),
        ("return h, x", "return h, x.clone()", "aliasing"),
        ("return h, x", "return h.double(), x", "outputs"),
        ("return h, x", "return h.t().contiguous().t(), x", "outputs"),
        ("return h, x", "return h.detach(), x", "gradients"),
        ("return h, x", "x.add_(0.5); return h, x", "arguments"),
        ('print("h", h.sum())', 'print("h", h.sum() + 1)', "text"),
        ("logging.warning", "logging.error", "text"),
        ("ValueError", "RuntimeError", "outputs"),
        ("h = x * 2", "h = x * 2; torch.rand(1)", "random"),
        ("import torch\n", "import torch\nSEEN = []\n", "state"),
    ],
)
def test_differences_are_seen(old: str, new: str, kind: str) -> None:
    """What the comparison is for: each of these is a difference."""
    calls = ("(torch.tensor([[1.0, 2.0], [3.0, 4.0]]),)", "(torch.tensor([[1.0, 2.0], [3.0, 400.0]]),)")
    names = frozenset({"trap"})
    module = generate.Module(ORIGINAL, "run", calls, (True, True), "float32", False, frozenset(), names)
    if kind == "state":  # a global that the original writes, and the mended file does not
        module = generate.Module(
            ORIGINAL.replace("import torch\n", "import torch\nSEEN = []\n").replace(
                "h = x", "SEEN.append(1)\n    h = x"
            ),
            *(module.entry, calls, (True, True), "float32", False, frozenset(), names),
        )
        old, new = "SEEN.append(1)", "pass"
    changed = run.Mend(("by hand",), module.text.replace(old, new))
    assert changed.text != module.text
    with run.quietly():
        found = run.compare(module, changed, run.Effort(compiled=False))
    assert kind in {failure.kind for failure in found}
