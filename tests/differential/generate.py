"""Random but well-formed modules around the three transformations, with arguments for them.

``modules()`` is a hypothesis strategy, so that a failure shrinks; ``module(seed)`` draws from the same generator with
``random.Random(seed)``, so that one number names one module of the long run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import statements
from draws import Draws
from hypothesis import strategies as st
from program import BATCH, WIDTH, Program

TRANSFORMATIONS = ("where", "defer", "trap")
WITH_HOST = ("host", *TRANSFORMATIONS)
"""With sites of what the host is asked for (GM103, GM4xx to GM6xx), which the long run's modules do not have."""
CONSTRUCTS = frozenset(
    "nested elif early-return alias view in-place-write dtype-mix loop helper child-module closure "
    "printed-then-written guard-in-try no-grad training container none-able walrus conditional-expression".split()
)
"""What the modules must be made of, among others; see ``Module.tags``."""
ENTRY = "Net"
FUNCTION = "run"


@dataclass(frozen=True)
class Module:
    """One generated file: its entry, and expressions (of torch and the numbers in them) that make arguments."""

    text: str
    entry: str
    calls: tuple[str, ...]
    ordinary: tuple[bool, ...]
    """For each call, whether all its numbers are finite."""
    dtype: str
    training: bool
    tags: frozenset[str]
    transformations: frozenset[str]


def module(seed: int, wanted: Sequence[str] = TRANSFORMATIONS) -> Module:
    return build(Draws.seeded(seed), wanted)


@st.composite
def modules(draw: st.DrawFn, wanted: Sequence[str] = TRANSFORMATIONS) -> Module:
    return build(Draws(lambda low, high: draw(st.integers(low, high))), wanted)


def build(draws: Draws, wanted: Sequence[str]) -> Module:
    first = draws.pick(wanted)
    others = tuple(name for name in wanted if name != first and draws.chance(65))
    program = Program(draws, (first, *others), is_class=not draws.chance(30))
    dtype = draws.weighted(((14, "float32"), (2, "float64"), (1, "float16"), (1, "bfloat16"), (2, "int64")))
    program.integers = dtype == "int64"
    parameters = _parameters(program)
    lines = statements.entry(program, parameters)
    text = _text(program, parameters, lines)
    calls, ordinary = _calls(program, parameters, dtype)
    training = draws.chance(35)
    if training:
        program.tag("training")
    return Module(
        text,
        ENTRY if program.is_class else FUNCTION,
        tuple(calls),
        tuple(ordinary),
        dtype,
        training and program.is_class,
        frozenset(program.tags),
        frozenset(program.placed),
    )


def _parameters(program: Program) -> list[str]:
    draws = program.draws
    program.kinds["x"] = "bn"
    for chance, name, kind in (
        (30, "y", "bn"),
        (15, "mask", "mask"),
        (20, "flag", "flag"),
        (15, "parts", "list"),
        (20, "k", "number"),
        (20, "bias", "optional"),
        (15, "gain", "number"),
    ):
        if draws.chance(chance):
            program.kinds[name] = kind
    return list(program.kinds)


_ANNOTATIONS = {
    "bn": "Tensor",
    "mask": "Tensor",
    "flag": "Tensor",
    "list": "list[Tensor]",
    "number": "float",
    "optional": "Optional[Tensor]",
}
_DEFAULTS = {"bias": " = None", "gain": " = 2.0"}


def _text(program: Program, parameters: list[str], body: list[str]) -> str:
    draws = program.draws
    annotated = not program.is_class or draws.chance(60)
    listed: list[str] = []
    for name in parameters:
        kind = program.kinds[name]
        default = _DEFAULTS.get(name, "")
        listed.append(f"{name}: {_ANNOTATIONS[kind]}{default}" if annotated else name + default.replace(" ", ""))
    lines = sorted(program.imports)
    lines += [
        "from typing import Optional",
        "",
        "import torch",
        "import torch.nn.functional as F",
        "from torch import Tensor, nn",
        "",
    ]
    for name, value in program.globals.items():
        lines.append(f"{name} = {value}" if value else f"\n\nclass {name}(ValueError):\n    pass\n")
    for block in program.top:
        lines += ["", "", *block]
    lines += ["", ""]
    if not program.is_class:
        return "\n".join([*lines, f"def {FUNCTION}({', '.join(listed)}):", *body, ""])
    lines += [f"class {ENTRY}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    from program import BUFFERS

    for name, value in program.attributes.items():
        lines.append(
            f'        self.register_buffer("{name}", {value})' if name in BUFFERS else f"        self.{name} = {value}"
        )
        if "logging." in value and "import logging" not in lines:
            lines.insert(0, "import logging")
    for method in program.methods:
        lines += ["", *method]
    lines += ["", f"    def forward({', '.join(['self', *listed])}):", *body, ""]
    return "\n".join(lines)


# -- arguments -----------------------------------------------------------------------------------------------


def _calls(program: Program, parameters: list[str], dtype: str) -> tuple[list[str], list[bool]]:
    """The same numbers, negated or zero, large, and now and then with NaN."""
    draws = program.draws
    if dtype != "float32":
        program.tag(f"argument-{dtype}")
    batch = draws.weighted(((9, BATCH), (1, 1)))
    layout = draws.weighted(((8, ""), (1, "transposed"), (1, "expanded")))
    if layout:
        program.tag("argument-layouts")
    numbers = {
        name: [draws.integer(-8, 12) / 4 for _ in range(batch * WIDTH)]
        for name in parameters
        if program.kinds[name] in ("bn", "list", "mask", "optional")
    }
    kinds = ["drawn", "negated", draws.pick(("zeros", "large", "drawn"))]
    if draws.chance(15):
        kinds.append("nan")
        program.tag("argument-nan")
    if draws.chance(10):
        kinds[0] = "other batch"
        program.tag("argument-batches")
    calls: list[str] = []
    steady = draws.chance(70)  # else numbers differ between calls, which makes Dynamo trace again
    for number, kind in enumerate(kinds):
        parts = [_argument(program.kinds[n], numbers.get(n, []), kind, dtype, layout, number) for n in parameters]
        parts = ["2" if steady and program.kinds[n] == "number" else p for n, p in zip(parameters, parts, strict=True)]
        if len(parameters) > 1 and parameters[-1] in _DEFAULTS and draws.chance(30):
            parts.pop()
        calls.append(f"({', '.join(parts)},)")
    return calls, [kind != "nan" and dtype != "int64" for kind in kinds]


def _argument(kind: str, numbers: list[float], how: str, dtype: str, layout: str, number: int) -> str:
    if kind == "number":
        return ("2", "1.5", "0", "3")[number % 4]
    if kind == "flag":
        return f"torch.tensor({number % 2 == 0})"
    if kind == "optional" and number % 2 == 0:
        return "None"
    change = {"negated": -1.0, "zeros": 0.0, "large": 40.0}.get(how, 1.0)
    values = [n * change + 0.0 for n in numbers]
    if how == "other batch":
        values = values + values[:WIDTH]
    texts = [str(v) for v in values]
    if how == "nan" and dtype != "int64":
        texts[1] = "float('nan')"
    if kind == "optional":
        return _tensor(texts[:WIDTH], dtype)
    rows = [f"[{', '.join(texts[at : at + WIDTH])}]" for at in range(0, len(texts), WIDTH)]
    if kind == "mask":
        return f"torch.tensor([{', '.join(rows)}]) > 0"
    made = _tensor(rows, dtype)
    if kind == "list":
        return f"[{made}, {made} + 1]"
    if layout == "transposed":
        return f"{made}.t().contiguous().t()"
    if layout == "expanded":
        return f"{made}[:1].expand({len(rows)}, {WIDTH})"
    return made


def _tensor(items: list[str], dtype: str) -> str:
    made = f"torch.tensor([{', '.join(items)}])"
    return made if dtype == "float32" else f"{made}.to(torch.{dtype})"
