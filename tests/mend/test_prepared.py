"""A branch whose sides prepare state before they register one buffer: run before and after, eager and compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import execute
import pytest
import torch

from graphmend_lsp.check import check, mend
from graphmend_lsp.finding import Finding, Offer

SOURCE = '''"""Angles whose table depends on how far the positions reach."""

from functools import wraps

import torch
from torch import nn


def adjusts_range(forward):
    def refresh(self, positions, device):
        """Far positions take the stretched table, near ones the plain table."""
        last = torch.max(positions) + 1
        limit = self.config.limit
        if last > limit:
            if not hasattr(self, "stretched"):
                # Made when it is first needed.
                self.stretched, _ = self.make_table(self.config, device, length=limit + 1)
            self.register_buffer("table", self.stretched, persistent=False)
        else:
            # A copy that no `.to()` of the module reaches.
            self.plain = self.plain.to(device)
            self.register_buffer("table", self.plain, persistent=False)

    @wraps(forward)
    def wrapper(self, x, positions):
        if self.kind == "stretch":
            refresh(self, positions, device=x.device)
        return forward(self, x, positions)

    return wrapper


class Config:
    limit = 16
    width = 8


def make_table(config, device, length=None):
    scale = 2.0 if length is not None and length > config.limit else 1.0
    steps = torch.arange(0, config.width, dtype=torch.float32, device=device)
    return 1.0 / (scale * (1 + steps)), 1.0


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = "stretch"
        self.config = Config()
        self.make_table = make_table
        table, _ = self.make_table(self.config, None)
        self.register_buffer("table", table, persistent=False)
        self.plain = self.table

    @torch.no_grad()
    @adjusts_range
    def forward(self, x, positions):
        angles = positions[:, None].float() * self.table[None].float()
        return x * angles.cos().to(x.dtype) + angles.sin().to(x.dtype)
'''
BRANCH = SOURCE[SOURCE.index("        if last > limit") : SOURCE.index("    @wraps")]
MENDED = """\
        if not hasattr(self, "stretched"):
            # Made when it is first needed.
            self.stretched, _ = self.make_table(self.config, device, length=limit + 1)
        # A copy that no `.to()` of the module reaches.
        self.plain = self.plain.to(device)
        self.register_buffer(
            "table",
            select(last > limit, self.stretched, self.plain),
            persistent=False,
        )

"""


def anything(finding: Finding, offer: Offer) -> bool:
    return finding.code == "GM101" and offer.kind == "where"


def mended(text: str) -> str:
    return mend(text, "rotary.py", accept=anything).text


def offers(text: str) -> list[Offer]:
    return [o for f in check(text, "rotary.py").findings if f.code == "GM101" for o in f.offers]


def reasons(text: str) -> set[str]:
    return {r.reason for f in check(text, "rotary.py").findings if f.code == "GM101" for r in f.refusals}


def test_text() -> None:
    after = mended(SOURCE)
    assert MENDED in after
    assert after.replace(MENDED, BRANCH).replace("from graphmend_lsp.runtime import select\n", "") == SOURCE
    assert "copy_" not in after


def test_it_is_unsafe_and_says_what_changes() -> None:
    (offer,) = offers(SOURCE)
    assert offer.safety == "unsafe"
    assert offer.title == "Prepare both sides in the first call, and select on the device"
    assert set(offer.reasons) == {"state-write", "side-effect", "alias"}
    for part in (
        "`self.stretched` is made in the first call whichever side it takes, with that call's `device` and `limit`",
        "what `self.make_table(self.config, device, length=limit + 1)` raises, prints or changes comes in that call",
        "`self.plain` is moved (`.to(device)`) in every call",
        "the buffer `table` would be a new tensor in compiled code where it was `self.stretched` or `self.plain`",
    ):
        assert part in offer.changes
    assert mend(SOURCE, "rotary.py").text == SOURCE


# -- behaviour -----------------------------------------------------------------------------------------


def loaded(folder: Path, text: str, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return execute.load(path, name)


def positions(count: int) -> torch.Tensor:
    return torch.arange(count)


def inputs(count: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(count)
    return torch.randn(count, 8, generator=generator).to(dtype), positions(count)


@contextlib.contextmanager
def counted() -> Iterator[list[int]]:
    torch._dynamo.reset()
    graphs = [0]
    yield graphs
    torch._dynamo.reset()


def run(module: ModuleType, moves: list[Any], backend: str | None) -> tuple[list[Any], int]:
    """Outputs and state after each move: an int is a call with so many positions, anything else goes to ``.to``."""
    rotary = module.Rotary()
    seen: list[Any] = []
    dtype = torch.float32
    with counted() as graphs:

        def count(graph: Any, example: Any) -> Any:
            graphs[0] += 1
            return graph.forward if backend == "eager" else torch._dynamo.lookup_backend(backend)(graph, example)

        call = torch.compile(rotary, backend=count) if backend is not None else rotary
        for move in moves:
            if not isinstance(move, int):
                rotary.to(move)
                dtype = move if isinstance(move, torch.dtype) else dtype
                continue
            out = call(*inputs(move, dtype))
            state = {n: getattr(rotary, n).clone() for n in ("table", "plain", "stretched") if hasattr(rotary, n)}
            seen.append((out, state, sorted(dict(rotary.named_buffers())), sorted(rotary.state_dict())))
        return seen, graphs[0]


SEQUENCES = {
    "near, far, near, far": [8, 24, 8, 24, 8],
    "far, near, far": [24, 8, 24],
    "half": [torch.float16, 8, 24, 8, 24],
    "bfloat16 after a call": [8, torch.bfloat16, 8, 24, 8],
    "half between far calls": [24, torch.float16, 24, 8],
    "moved to where it is": [8, "cpu", 24, torch.float64, 8],
}


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
@pytest.mark.parametrize("moves", SEQUENCES.values(), ids=SEQUENCES)
def test_the_same_outputs_and_state(tmp_path: Path, moves: list[Any], backend: str | None) -> None:
    expected, _ = run(loaded(tmp_path, SOURCE, "rotary_before"), moves, None)
    path = tmp_path / "rotary_after.py"
    module = loaded(tmp_path, mended(SOURCE), "rotary_after")
    with execute.recorded_breaks(path) as breaks:
        got, _ = run(module, moves, backend)
    assert not breaks
    assert len(expected) == len(got)
    for (out, state, *names), (new_out, new_state, *new_names) in zip(expected, got, strict=True):
        assert torch.equal(out, new_out) and out.dtype == new_out.dtype
        assert names == new_names
        assert new_state.keys() == {"table", "plain", "stretched"}  # this one is there earlier
        for name, value in state.items():
            assert torch.equal(value, new_state[name]) and value.dtype == new_state[name].dtype, name


def test_one_graph_and_one_recompilation(tmp_path: Path) -> None:
    """The second call finds the attribute there (a guard of the first), and another number of positions."""
    _, before = run(loaded(tmp_path, SOURCE, "rotary_before"), [8, 24, 8, 24, 8], "eager")
    _, after = run(loaded(tmp_path, mended(SOURCE), "rotary_after"), [8, 24, 8, 24, 8], "eager")
    assert after == 2 < before
    _, same_size = run(loaded(tmp_path, mended(SOURCE), "rotary_again"), [8, 8, 8, 8], "eager")
    assert same_size == 2


def test_not_compiled_the_buffer_stays_the_very_object(tmp_path: Path) -> None:
    rotary = loaded(tmp_path, mended(SOURCE), "rotary_after").Rotary()
    rotary(*inputs(24, torch.float32))
    assert rotary.table is rotary.stretched
    rotary(*inputs(8, torch.float32))
    assert rotary.table is rotary.plain


@pytest.mark.parametrize("compiled", [False, True])
def test_what_registering_raises(tmp_path: Path, compiled: bool) -> None:
    """An attribute of the buffer's name that is no buffer: the same error, from the one call that is left."""
    texts: list[str] = []
    for name, text in (("rotary_before", SOURCE), ("rotary_after", mended(SOURCE))):
        torch._dynamo.reset()
        rotary = loaded(tmp_path, text, name).Rotary()
        del rotary.table
        rotary.table = 0
        call = torch.compile(rotary, backend="eager") if compiled else rotary
        with pytest.raises(KeyError) as raised:
            call(*inputs(8, torch.float32))
        texts.append(str(raised.value).partition("\n")[0])
    torch._dynamo.reset()
    assert texts[0] == texts[1]


# -- other spellings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "test", ["self.stretched is None", 'getattr(self, "stretched", None) is None', 'not hasattr(self, "stretched")']
)
def test_ways_to_ask(test: str) -> None:
    text = SOURCE.replace('not hasattr(self, "stretched")', test)
    assert f"        if {test}:\n            # Made" in mended(text)


def test_a_test_that_reads_state_comes_first() -> None:
    text = SOURCE.replace("if last > limit", "if last > self.config.limit")
    after = mended(text)
    assert "        last_above_config = last > self.config.limit\n        if not hasattr" in after
    assert "select(last_above_config, self.stretched, self.plain)" in after


def test_an_attribute_store() -> None:
    text = SOURCE
    for name in ("stretched", "plain"):
        call = f'self.register_buffer("table", self.{name}, persistent=False)'
        text = text.replace(call, f"self.table = self.{name}")
    assert "        self.table = select(last > limit, self.stretched, self.plain)\n" in mended(text)


def test_comments_stay_once() -> None:
    source = (
        "import torch\nfrom torch import Tensor\n\n\n@torch.compile\n@torch.no_grad()\ndef f(x: Tensor):\n"
        "    kept = []\n    # Why.\n    if x.sum() > 0: kept.append(x * 2)  # up\n"
        "    # Else.\n    else: kept.append(x * 3)\n    return kept\n"
    )
    text = mend(source, "comments.py").text
    assert "    kept.append(torch.where(x.sum() > 0, x * 2, x * 3))\n" in text
    assert [text.count(comment) for comment in ("# Why.", "# up", "# Else.")] == [1, 1, 1]


STORED = """import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x):
        if x.sum() > 0:
            y = UP
            self.last = y
        else:
            y = DOWN
            self.last = y
        return x + y
"""


@pytest.mark.parametrize(
    ("up", "down", "safety"),
    [
        ("x * 2", "x * 3", "unsafe"),
        ("x.detach() * 2", "x * 3", "unsafe"),
        ("x.detach() * 2", "(x * 3).detach()", "safe"),
        ("(x > 1)", "(x > 2)", "safe"),
    ],
)
def test_what_a_stored_value_keeps(up: str, down: str, safety: str) -> None:
    (offer,) = offers(STORED.replace("UP", up).replace("DOWN", down))
    assert offer.safety == safety
    assert ("gradient" in offer.reasons) == (safety == "unsafe")


def test_a_property_is_no_plain_attribute() -> None:
    text = SOURCE.replace('self.register_buffer("table", self.plain, ', 'self.register_buffer("table", self.short, ')
    text += "\n    @property\n    def short(self):\n        self.asked = True\n        return self.plain\n"
    assert not offers(text)


# -- refusals --------------------------------------------------------------------------------------------

INIT = "self.stretched, _ = self.make_table(self.config, device, length=limit + 1)"
LAZY = BRANCH[BRANCH.index("            if not") : BRANCH.index("            self.register")]
MOVE = "self.plain = self.plain.to(device)"
STORE = 'self.register_buffer("table", self.stretched, persistent=False)'
OTHER = 'self.register_buffer("table", self.plain, persistent=False)'


REFUSED = {
    "the initialiser reads the data": ((INIT, INIT.replace("limit + 1", "last")), "state-write"),
    "it reads what the branch writes": (
        (INIT, "self.stretched, _ = self.make_table(self.table, device)"),
        "state-write",
    ),
    "another attribute is asked for": (('hasattr(self, "stretched")', 'hasattr(self, "longer")'), "unsupported"),
    "another object is asked": (('hasattr(self, "stretched")', 'hasattr(self.config, "stretched")'), "unsupported"),
    "the initialiser does more": ((INIT, f"{INIT}\n                self.made = True"), "unsupported"),
    "the initialiser has an alternative": (
        (f"{INIT}\n", f"{INIT}\n            else:\n                self.made = True\n"),
        "unsupported",
    ),
    "what it binds is read later": ((INIT, INIT.replace("_ =", "limit =")), "state-write"),
    "the other side uses the attribute": ((OTHER, OTHER.replace("self.plain,", "self.stretched,")), "state-write"),
    "the other side asks for it": ((MOVE, f'{MOVE}\n            known = hasattr(self, "stretched")'), "state-write"),
    "it is asked for elsewhere": (
        ("        return forward(", '        self.far = hasattr(self, "stretched")\n        return forward('),
        "state-write",
    ),
    "it is deleted elsewhere": (
        ("        return forward(", "        del self.stretched\n        return forward("),
        "state-write",
    ),
    "it is made from a value of the branch": (
        (LAZY, f"            length = limit + 1\n{LAZY.replace('limit + 1', 'length')}"),
        "unsupported",
    ),
    "a cast, not a move": ((MOVE, "self.plain = self.plain.to(torch.float16)"), "state-write"),
    "a move into another attribute": ((MOVE, "self.plain = self.table.to(device)"), "state-write"),
    "the other side uses what is moved": ((STORE, STORE.replace("self.stretched", "self.plain")), "state-write"),
    "one side counts": ((MOVE, f"{MOVE}\n            self.near = self.near + 1"), "state-write"),
    "one side calls something": ((MOVE, f"{MOVE}\n            self.note(positions)"), "state-write"),
    "other names": ((OTHER, OTHER.replace('"table"', '"near"')), "host-value"),
    "other callees": ((OTHER, "self.keep_table(self.plain)"), "state-write"),
    "other keywords": ((OTHER, OTHER.replace("False", "True")), "host-value"),
    "no other side": ((BRANCH[BRANCH.index("        else:") :], "\n"), "state-write"),
    "in place": ((STORE, "self.table.copy_(self.stretched)"), "state-write"),
    "in place on both sides": (("self.register_buffer(", "self.table.copy_("), "state-write"),
    "written in place twice": (
        (f"            {STORE}", f"            {STORE}\n            self.table.mul_(2)"),
        "state-write",
    ),
}


@pytest.mark.parametrize(("change", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(change: tuple[str, str], reason: str) -> None:
    text = SOURCE.replace(*change)
    assert text != SOURCE
    assert not offers(text)
    assert reason in reasons(text)
    assert mended(text) == text


def test_refused_inside_a_try() -> None:
    inside = "        try:\n" + "".join(f"    {line}" for line in BRANCH.rstrip("\n").splitlines(keepends=True))
    text = SOURCE.replace(BRANCH, f"{inside}\n        except RuntimeError:\n            pass\n\n")
    assert not offers(text)
    assert "caught-exception" in reasons(text)
