"""Which tests the analysis takes for data: one snippet a kind, marked ``# data`` where it must report and only there.

That TorchDynamo breaks (or does not) on each of these forms was measured; ``tests/rules`` runs the usual ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphmend_lsp.flow.named_results import _NAMES, result_names  # pyright: ignore[reportPrivateUsage]
from graphmend_lsp.flow.ops import function_fact

SNIPPETS: dict[str, str] = {
    "a union is told apart by isinstance": """
        from typing import Union

        def f(x: Tensor, t: Union[Tensor, float, int]):
            if not torch.is_tensor(t):
                if t > 1000:
                    return x
            if isinstance(t, float) and t != 1.0:
                return x
            if isinstance(t, (int, float)) and t == 1:
                return x
            if not isinstance(t, (Tensor, nn.Parameter)) and t > 2:
                return x
            if type(t) is float:
                if t > 3:
                    return x
            if isinstance(t, Tensor):
                if t > 4:  # data
                    return x
            elif t < 0:
                return -x
            if t > 5:  # data
                return x
            return x + t
        """,
    "a tensor or a list of them": """
        from typing import List, Union

        def f(x: Union[Tensor, List[Tensor]]):
            if isinstance(x, (list, tuple)):
                if len(x) > 3:
                    return x[0]
                if x[0].sum() > 0:  # data
                    return x[0]
                return x[1]
            return x
        """,
    "operators of the graph are not traced": """
        import triton

        @torch.library.custom_op("a::b", mutates_args=())
        def clip(x: Tensor) -> Tensor:
            if x.max() > 1:
                return x.clamp(max=1)
            return x.clone()

        @clip.register_fake
        def _(x):
            if x.max() > 1:
                return x
            return torch.empty_like(x)

        @torch.compiler.allow_in_graph
        def allowed(x):
            if x.max() > 1:
                return x
            return -x

        @torch.jit.script
        def scripted(x: Tensor):
            if x.max() > 1:
                return x
            return -x

        def f(x: Tensor):
            y = clip(x)
            if y.max() > 2:  # data
                return y
            return allowed(scripted(y))
        """,
    "named results": """
        def f(x: Tensor):
            top = x.max(dim=-1)
            if (top.values > 0.9).all():  # data
                return x
            if torch.linalg.cholesky_ex(x).info > 0:  # data
                return x
            values, indices = x.topk(2)
            if indices[0] > 3:  # data
                return values
            return top.indices
        """,
    "layers from a constructor's arguments": """
        from functools import partial

        class Net(nn.Module):
            def __init__(self, dim=4, norm_layer=nn.LayerNorm, head=None, act="relu", body=None):
                super().__init__()
                self.norm = norm_layer(dim)
                self.head = head or nn.Identity()
                self.act = getattr(torch, act)
                self.body = body if body is not None else nn.Linear(dim, dim)
                self.flag = body

            def forward(self, x):
                if self.norm(x).max() > 1.2:  # data
                    return x
                if self.act(x).sum() > 2:  # data
                    return x
                if self.head(x).mean() < 0.5:  # data
                    return x
                if self.flag:
                    return x
                return self.body(x)
        """,
    "out of a batch": """
        def f(batch, *args, **kwargs):
            x = batch["x"]
            if x.shape[0] == 0:
                return x
            if x.max() > 10:  # data
                return x
            if "mask" in batch and batch["mask"].any():  # data
                return x
            first, second = args
            if (first == 0).any():  # data
                return x
            scale = kwargs.get("scale", 1.0)
            if scale != 1.0:
                return x * scale
            return x

        def masked(x, **kw):
            mask = kw.pop("mask", None)
            if mask is not None and not mask.all():  # data
                return x
            return x

        def g(x: Tensor, mask: Tensor):
            return masked(x, mask=mask)
        """,
    "a property with a setter": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self._ready = False
                self.scale_ = torch.tensor(2.0)

            @property
            def ready(self):
                return self._ready

            @ready.setter
            def ready(self, value):
                self._ready = value

            @property
            def scale(self):
                return self.scale_

            @scale.setter
            def scale(self, value):
                self.scale_ = value

            def forward(self, x):
                if self.ready:
                    return x
                if self.scale > 1:  # data
                    return x
                return -x
        """,
    "methods of records": """
        from collections import namedtuple
        from dataclasses import dataclass, field
        from typing import List, NamedTuple

        Pair = namedtuple("Pair", "a b")

        @dataclass
        class Boxes:
            data: Tensor
            scores: Tensor
            names: List[str] = field(default_factory=list)

            @property
            def area(self):
                return self.data.sum()

            def normalise(self):
                if self.data.max() > 1:  # data
                    return Boxes(self.data / 2, self.scores)
                return self

        class State(NamedTuple):
            h: Tensor
            c: Tensor

        def f(x: Tensor, y: Tensor):
            boxes = Boxes(x, y).normalise()
            if boxes.area > 1:  # data
                return x
            if boxes.names:
                return y
            pair = Pair(x, y > 0)
            if pair.b.any():  # data
                return pair.a
            a, b = pair
            if (a > 5).all():  # data
                return b
            h, c = State(x, y)
            if h.sum() > 0:  # data
                return c
            return x
        """,
    "super() follows the object's class": """
        class Clamp:
            def forward(self, x):
                y = super().forward(x)
                if y.max() > 1:  # data
                    return y / 2
                return y

        class Base(nn.Module):
            def forward(self, x):
                return self.post(x * 2)

            def post(self, x):
                return x

        class Net(Clamp, Base):
            def post(self, x):
                if x.norm() > 4:  # data
                    return x / 4
                return super().post(x)
        """,
    "an inherited forward calls what the subclass overrides": """
        class Parent(nn.Module):
            def forward(self, x):
                return self.gate(x * 2)

            def gate(self, x):
                return x

        class Child(Parent):
            def gate(self, h):
                if h.min() > 0.4:  # data
                    return h
                return -h
        """,
    "one of several functions": """
        def focal(p):
            if p.sum() == 0:  # data
                return p
            return -p

        def dice(p):
            return p * 2

        LOSSES = {"focal": focal, "dice": dice}

        if hasattr(F, "silu"):
            def act(x):
                if x.sum() < 0:  # data
                    return x
                return -x
        else:
            def act(x):
                return x

        class Net(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.fn = LOSSES[name]
                self.reduce = {"mean": torch.mean, "sum": torch.sum}[name]

            def forward(self, x):
                if self.reduce(x) < 0.1:  # data
                    return x
                return self.fn(act(x))
        """,
    "layers of several classes": """
        class A(nn.Module):
            def forward(self, x):
                if x.sum() > 0:  # data
                    return x
                return -x

        class B(nn.Module):
            def forward(self, x):
                if x.mean() > 0:  # data
                    return x
                return -x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([A(), B()])

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        """,
    "max with a key": """
        from typing import List

        def f(xs: List[Tensor], ref: Tensor):
            return max(xs, key=lambda c: (c - ref).abs().sum())  # data
        """,
    "attributes by composed names": """
        class Net(nn.Module):
            def __init__(self, n=2):
                super().__init__()
                for i in range(n):
                    setattr(self, f"layer{i}", nn.Linear(4, 4))
                    self.add_module("norm%d" % i, nn.LayerNorm(4))
                self.n = n

            def forward(self, x):
                for i in range(self.n):
                    x = getattr(self, f"norm{i}")(x)
                    if x.max() > 1:  # data
                        x = -x
                if self.layer0(x).mean() > 0:  # data
                    return x
                return -x
        """,
    "messages of checks": """
        def f(x: Tensor, k: int):
            torch._check(x.size(-1) == 4, lambda: f"{x.shape}")  # data
            torch._check(x.size(-1) == 4, lambda: f"{k}")
            torch._check(x.size(-1) == 4, lambda: "four")
            torch._check(x.size(-1) == 4)
            return x
        """,
    "the first parameter is an index": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(4, 4)

            def forward(self, i, x):
                if i == 0:
                    return self.net(x)
                if i > 2:
                    return x
                if self.net(x).sum() > 0:  # data
                    return -x
                return x
        """,
    "containers learn what is put in": """
        from collections import defaultdict, deque

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hist = []

            def forward(self, x):
                self.hist.append(x.mean())
                if self.hist[-1] > 3:  # data
                    return x
                groups = defaultdict(list)
                groups["k"].append(x.sum())
                if groups["k"][-1] > 30:  # data
                    return x
                queue = deque(maxlen=2)
                queue.append(x.sum())
                if queue[0] > 30:  # data
                    return x
                if len(queue) > 1:
                    return x
                return -x
        """,
    "aliases of types": """
        from typing import Optional, Tuple, Union

        Maybe = Optional[Tensor]
        Pair = Tuple[Tensor, Tensor]
        Number = Union[int, float]

        def f(pair: Pair, extra: Maybe = None, k: Number = 1):
            a, b = pair
            if a > b:  # data
                return a
            if extra is not None and extra > 0:  # data
                return b
            if k > 1:
                return a
            return a + b
        """,
    "numpy is traced as tensors": """
        import math
        import numpy as np

        SCALES = np.array([0.5, 1.0])
        N = int(SCALES.sum() * 2)

        def f(x: Tensor, level: int):
            if SCALES[level] > 0.7:  # data
                return x
            if np.prod(x.shape) > 4:  # data
                return x
            if math.prod(x.shape) > 4 or SCALES.shape[0] > 2 or N > 3:
                return x
            return -x
        """,
    "a buffer is read in the constructor": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(3))
                self.inverse = 1 / self.scale

            def forward(self, x):
                if (self.scale > 1).any():  # data
                    return x
                if self.inverse.max() > 0.5:  # data
                    return x
                return -x
        """,
    "parameters by name": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.gains = nn.ParameterDict({"t": torch.tensor(1.0)})

            def forward(self, x):
                if self.gains["t"] > 0.5:  # data
                    return x
                return -x
        """,
    "other keys of an open dict are not what the known ones are": """
        def inner(x, **kwargs):
            if kwargs.get("verbose", False):
                return x
            if kwargs["verbose"]:
                return x
            return -x

        def merged(x, options):
            made = {**options, "mask": x, "scale": x * 2}
            if made.get("verbose", False):
                return x
            if made["verbose"]:
                return x
            made.update(options)
            if made.get("quiet"):
                return x
            return -x

        def f(x: Tensor, options=None, **kwargs):
            return inner(x, mask=x, scale=x * 2, **kwargs) + merged(x, options)
        """,
    "keys that only one side sets": """
        def f(x: Tensor, flag: bool):
            made = {"a": x}
            if flag:
                made["b"] = x * 2
            other = made.get("b")
            if other is not None and other.sum() > 0:  # data
                return x
            return -x
        """,
    "a wrapper around an entry": """
        import functools

        def twice(function):
            @functools.wraps(function)
            def wrapper(x):
                y = function(x)
                if y.sum() > 1:  # data
                    return y
                return -y

            return wrapper

        @torch.compile
        @twice
        def f(x):
            return x * 2

        @twice
        @torch.compile
        def g(x):
            return x * 3
        """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_data_dependent_tests(name: str, run: Callable[[str], Any]) -> None:
    made = run(SNIPPETS[name])
    expected = [line.strip() for line in made.text.splitlines() if line.endswith("# data")]
    names = [f.qualname for f in made.module.functions if f.name in ("f", "g") and f.cls is None]
    assert made.reported(*names) == expected


def test_named_results_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    for name, fields in _NAMES.items():
        last = name.rpartition(".")[2]
        made = [
            kind
            for spelling in (last, f"linalg_{last}")
            if (kind := getattr(torch.return_types, spelling, None)) is not None
        ]
        plain = [k for k in made if "linalg" not in k.__name__] or made
        kinds = [k for k in made if "linalg" in k.__name__] if name.startswith("torch.linalg.") else plain
        assert kinds, name
        for kind in kinds:
            assert tuple(f for f in fields if hasattr(kind, f)) == fields, (name, kind)
    assert result_names("torch.Tensor.max") == ("values", "indices")
    assert result_names("torch.linalg.svd") == ("U", "S", "Vh")
    fact = function_fact("torch.topk")
    assert fact is not None and fact.count == 2


def test_a_call_keeps_the_facts_it_used(run: Callable[[str], Any]) -> None:
    made = run("""
        def scaled(x, k=1):
            return x * k

        def either(x, flag):
            helper = scaled if flag else torch.relu
            return helper(x)

        def f(x: Tensor, y: Tensor):
            a = scaled(x)
            b = scaled(y.long(), k=2.0)
            return a + b
        """)
    facts = made.facts("f")
    calls = list(facts.calls.values())
    assert [c.function.name for c in calls] == ["scaled", "scaled"]
    assert calls[0] is not calls[1]
    # Of two possible functions neither is *the* one.
    assert made.facts("either").calls == {}
    assert [c.function.name for c in made.facts("either").callees] == ["scaled"]


def test_layers_that_write_in_place(run: Callable[[str], Any]) -> None:
    made = run("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.writes = nn.ReLU(inplace=True)
                self.by_position = nn.LeakyReLU(0.1, True)
                self.plain = nn.ReLU()
                self.off = nn.Dropout(0.1, inplace=False)

            def in_place(self, x: Tensor):
                return self.writes(x)

            def by_place(self, x: Tensor):
                return self.by_position(x)

            def pure(self, x: Tensor):
                return self.off(self.plain(x))
        """)
    assert made.facts("Net.in_place").mutates == {"x"}
    assert made.facts("Net.by_place").mutates == {"x"}
    assert made.facts("Net.pure").mutates == set()
    member = made.engine.member(made.module.find("Net"), "writes", None)
    assert member.keys["inplace"].const is True
