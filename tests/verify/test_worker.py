"""The worker's parts, in this process."""

from __future__ import annotations

import collections
import functools
import logging
import sys
import warnings

import numpy as np
import pytest
import torch

from graphmend_lsp.worker import breaks, vary
from graphmend_lsp.worker.compare import differences
from graphmend_lsp.worker.entries import Call, calls_of
from graphmend_lsp.worker.observe import observe
from graphmend_lsp.worker.snapshot import Snapshots, map_tensors, tensors_in


def test_everything_said_is_in_order():
    def talk(x):
        print("a", end="")
        print("b")
        logging.getLogger("mine").debug("c %d", 1)
        warnings.warn("d", stacklevel=1)
        print("e", file=sys.stderr)
        return x

    said = observe(lambda: talk, (torch.ones(1),), calls=1).said
    assert [row[0] for row in said] == ["out", "record", "warning", "err"]
    assert said[0][1] == "ab\n" and said[1][1:4] == ("mine", "DEBUG", "c 1")
    assert said[2][1:] == ("UserWarning", "d", "test_worker.py")


def test_logger_that_does_not_propagate():
    logger = logging.getLogger("closed")
    logger.propagate = False
    try:
        said = observe(lambda: lambda: logger.warning("heard"), calls=1).said
    finally:
        logger.propagate = True
    assert said[0][:4] == ("record", "closed", "WARNING", "heard")


def test_arguments_are_copied_and_calls_share_them():
    x = torch.zeros(2)
    run = observe(lambda: lambda x: x.add_(1), (x,), calls=3)
    assert x.tolist() == [0, 0]
    assert [out[-1].tolist() for out in run.outputs] == [[1, 1], [2, 2], [3, 3]]


@pytest.mark.parametrize(
    ("before", "after", "exact", "equal"),
    [
        ([float("nan"), 1.0], [float("nan"), 1.0], True, True),
        ([0.0], [-0.0], True, False),
        ([0.0], [-0.0], False, True),
        ([1.0], [1.0 + 1e-6], True, False),
        ([1.0], [1.0 + 1e-6], False, True),
        ([1.0], [1.001], False, False),
        ([1e6, 0.0], [1e6, 1.0], False, True),  # rounding is relative to the largest value
        ([float("inf")], [1e38], False, False),
        ([float("inf")], [float("nan")], False, False),
    ],
)
def test_values(before, after, exact, equal):
    runs = [observe(lambda t=t: lambda: t, calls=1) for t in (torch.tensor(before), torch.tensor(after))]
    assert (differences(*runs, exact=exact) == []) is equal


def test_decimals_that_are_said_may_round_where_values_may():
    def said(number, word="norm"):
        return observe(lambda: lambda x: print(f"{word} {number:.7f} of 3"), (torch.ones(2),))

    near, other = said(3.1639382), said(3.17)
    assert [d.part for d in differences(said(3.1639380), near)] == ["text"]
    assert differences(said(3.1639380), near, exact=False) == []
    assert [d.part for d in differences(said(3.1639380), other, exact=False)] == ["text"]
    assert [d.part for d in differences(said(3.1639380), said(3.1639380, "mean"), exact=False)] == ["text"]


def test_gradients_none_is_zero_but_not_one():
    def run(function):
        return observe(lambda: function, (torch.ones(2), torch.ones(2)), gradients=True)

    unused = run(lambda x, y: x * 2)
    assert differences(unused, run(lambda x, y: x * 2 + y * 0)) == []
    assert [d.part for d in differences(unused, run(lambda x, y: x * 2 + y - y.detach()))] == ["gradients"]


def test_gradients_do_not_count_where_the_originals_are_not_finite():
    def run(function):
        return observe(lambda: function, (torch.zeros(2),), gradients=True)

    assert differences(run(torch.sqrt), run(lambda x: torch.sqrt(x) + x - x.detach())) == []


def test_large_unchanged_weights_are_kept_as_digests():
    class Big(torch.nn.Module):
        def __init__(self, seed, write):
            super().__init__()
            torch.manual_seed(seed)
            self.weight = torch.nn.Parameter(torch.randn(100, 100))
            self.register_buffer("seen", torch.zeros(100, 100))
            self.write = write

        def forward(self, x):
            if self.write:
                self.seen.add_(x)
            return x

    def run(seed=0, write=False):
        return observe(lambda: Big(seed, write), (torch.ones(1),), calls=1)

    plain = run()
    assert isinstance(plain.state["self.weight"][7], str) and isinstance(plain.state["self.seen"][7], str)
    assert isinstance(run(write=True).state["self.seen"][7], torch.Tensor)
    assert differences(plain, run()) == []
    assert [d.message for d in differences(plain, run(1))] == ["self.weight has other values"]
    for exact in (False, True):
        messages = [d.message for d in differences(plain, run(write=True), exact)]
        assert "self.seen has other values" in messages


class Slotted:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


class Text(str):
    pass


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (np.arange(3), np.arange(3), np.arange(3) + 1),
        (np.arange(3), np.arange(3), np.arange(3.0)),
        (np.float32(1), np.float32(1), np.float64(1)),
        (np.array(["a"]), np.array(["a"]), np.array(["b"])),
        (collections.deque([1]), collections.deque([1]), collections.deque([2])),
        (range(3), range(3), range(4)),
        (Slotted(1), Slotted(1), Slotted(2)),
        (Text("a"), Text("a"), "a"),
        (Text("a"), Text("a"), Text("b")),
        (functools.partial(max, 1), functools.partial(max, 1), functools.partial(max, 2)),
        (
            torch.distributions.Normal(0.0, 1.0),
            torch.distributions.Normal(0.0, 1.0),
            torch.distributions.Normal(0.0, 2.0),
        ),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_values_of_other_kinds(one, same, other):
    runs = [observe(lambda v=v: lambda: v, calls=1) for v in (one, same, other)]
    assert differences(runs[0], runs[1]) == []
    assert [d.part for d in differences(runs[0], runs[2])] == ["outputs"]


def test_lazy_modules():
    run = observe(lambda: torch.nn.LazyLinear(2), (torch.ones(1, 3),))
    assert run.error is None and [tuple(out[7].shape) for out in run.outputs] == [(1, 2), (1, 2)]


def test_more_objects_are_no_difference():
    class Net(torch.nn.Module):
        def __init__(self, more):
            super().__init__()
            if more:
                self.names = ["a"]
                self.register_buffer("low", torch.tensor(1.0), persistent=False)
                self.twin = torch.nn.Identity()
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return {"x": x, "w": self.w, "both": [x, self.w]}

    before, after = (observe(lambda m=m: Net(m), (torch.ones(2),), gradients=True) for m in (False, True))
    assert differences(before, after) == []
    assert differences(after, before) != []


def test_generators_training_flags_and_required_gradients():
    generator = torch.Generator()
    draw = observe(lambda: lambda g: torch.rand(1, generator=g).item() * 0, (generator,), calls=1)
    still = observe(lambda: lambda g: 0.0, (generator,), calls=1)
    assert {d.part for d in differences(draw, still)} == {"arguments"}
    part = torch.nn.Linear(1, 1)

    def switch(x):
        part.train(x is None)
        return 0

    def holder(function):
        module = torch.nn.Module()
        module.part = part
        module.forward = function
        return module

    off = observe(lambda: holder(switch), (1,), calls=1)
    part.train()
    on = observe(lambda: holder(lambda x: 0), (1,), calls=1)
    assert "self.part.training: False -> True" in [d.message for d in differences(off, on)]
    asks = observe(lambda: lambda x: x.requires_grad_(True).shape, (torch.ones(1),), calls=1)
    silent = observe(lambda: lambda x: x.shape, (torch.ones(1),), calls=1)
    assert {d.part for d in differences(asks, silent)} == {"arguments"}


def test_cycles_and_shared_containers():
    shared: list[object] = [1]
    loop: dict[str, object] = {"a": shared, "b": shared}
    loop["me"] = loop
    tree = Snapshots().take(loop)
    assert tree[3][1][1] == ("again", 1) and tree[3][2][1] == ("again", 0)


def test_mapping_keeps_kinds():
    import collections

    Pair = collections.namedtuple("Pair", "a b")
    value = {"p": Pair(torch.ones(1), 2), "l": [torch.ones(1)], "t": (torch.ones(1),)}
    doubled = map_tensors(value, lambda t: t * 2)
    assert isinstance(doubled["p"], Pair) and [t.item() for t in tensors_in(doubled)] == [2, 2, 2]


def test_variations_reach_other_paths():
    call = Call((torch.tensor([1.0, -2.0]), torch.tensor([3]), torch.tensor([True])), {"k": torch.tensor(4.0)})
    found = {one.label: one.call for one in vary.variations(call)}
    assert found["negated"].args[0].tolist() == [-1, 2] and found["negated"].args[1].tolist() == [3]
    assert found["negated"].args[2].tolist() == [False] and found["zeros"].kwargs["k"].item() == 0
    assert found["with a NaN"].args[0].isnan().tolist() == [True, False]
    assert found["float16"].args[0].dtype == torch.float16 and found["int64"].args[0].tolist() == [10, -20]
    assert call.args[0].tolist() == [1, -2]


def test_an_argument_given_twice_stays_one():
    x = torch.ones(2)
    for one in vary.variations(Call((x, x), {})):
        assert one.call.args[0] is one.call.args[1], one.label


def test_calls():
    assert calls_of(torch.ones(1))[0].args[0].shape == (1,)
    assert [c.args for c in calls_of([(1,), (2, 3)])] == [(1,), (2, 3)]
    assert calls_of([1, 2])[0].args == (1, 2)
    assert calls_of({"a": 1})[0].kwargs == {"a": 1}


def test_counts():
    def split(x):
        x = x + 1
        print("here")
        return x * 2

    counts = breaks.count(lambda: split, [Call((torch.ones(2),), {})])
    assert (counts.graphs, counts.ran) == (2, True)
    (event,) = counts.events
    assert event.path == __file__ and event.line == split.__code__.co_firstlineno + 2

    def stop(x):
        raise OSError("no")

    assert not breaks.count(lambda: stop, [Call((torch.ones(2),), {})]).ran


MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.calls = 0
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.calls += 1
        self.seen.copy_(x[0].detach())
        print("mean", x.mean())
        return self.lin(x), x
"""


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("return self.lin(x), x", "return self.lin(x) + 1e-6, x", "outputs"),
        ("return self.lin(x), x", "return self.lin(x).double(), x", "outputs"),
        ("return self.lin(x), x", "return self.lin(x).t().contiguous().t(), x", "outputs"),
        ("return self.lin(x), x", "return [self.lin(x), x]", "outputs"),
        ("return self.lin(x), x", "return self.lin(x), x.clone()", "aliasing"),
        ("return self.lin(x), x", "return self.lin(x), x.view_as(x)", "aliasing"),
        ("self.calls += 1", "self.calls += 1; x.add_(1)", "arguments"),
        ("self.calls += 1", "self.calls += 2", "state"),
        ("self.seen.copy_(x[0].detach())", "self.seen.copy_(x[1].detach())", "state"),
        ("self.seen.copy_(x[0].detach())", "self.seen = x[0].detach().clone()", "aliasing"),
        ('print("mean", x.mean())', 'print("Mean", x.mean())', "text"),
        ('print("mean", x.mean())', 'import sys; print("mean", x.mean(), file=sys.stderr)', "text"),
        ("self.calls += 1", "self.calls += 1; torch.rand(1)", "random"),
        ("return self.lin(x), x", "return self.lin(x.detach()), x", "gradients"),
        ("self.calls += 1", "self.calls += 1; assert self.calls != 2", "exception"),
    ],
)
def test_what_differs(old, new, part):
    assert old in MODEL
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))

    def run(text):
        space = {}
        exec(text, space)

        def build():
            torch.manual_seed(0)
            return space["Net"]()

        return observe(build, (x,), gradients=part == "gradients")

    original = run(MODEL)
    assert differences(original, run(MODEL)) == []
    assert part in {difference.part for difference in differences(original, run(MODEL.replace(old, new)))}


def test_the_stride_of_one_element_is_no_matter():
    wide, tall = torch.ones(1, 1).expand(1, 4), torch.ones(1, 4)[:, :1].expand(-1, 4)
    assert wide.stride() != tall.stride()
    runs = [observe(lambda t=t: lambda: t, calls=1) for t in (wide, tall)]
    assert differences(*runs) == []
    assert differences(runs[0], observe(lambda: lambda: torch.ones(1, 4), calls=1)) != []
