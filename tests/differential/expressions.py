"""Expressions of the generated modules: tensors, tests on tensors, texts."""

from __future__ import annotations

from collections.abc import Sequence

from program import Function, Value

CONSTANTS = ("0.5", "2.0", "1", "2", "-1.0", "0.25", "3")
SAME_SHAPE = (
    "{v} * {c}",
    "{v} + {c}",
    "torch.relu({v})",
    "{v}.tanh()",
    "{v}.abs()",
    "-{v}",
    "{v}.clamp(-1, 1)",
    "torch.clamp({v}, min=-{k}, max={k})",
    "torch.sigmoid({v})",
    "F.gelu({v})",
    "F.softplus({v})",
    "{v}.sin()",
    "{v} ** 2",
    "{v}.square()",
    "{v} - {v}.mean()",
    "{v}.masked_fill({v} > 1, 0.0)",
    "torch.nan_to_num({v})",
    "{v}.round()",
    "{v}.cumsum(-1)",
    "{v}.flip(-1)",
    "{v}.clone()",
    "F.leaky_relu({v}, 0.1)",
    "torch.where({v} > 0, {v}, {v} * 0.1)",
    "{v} * {v}.sign()",
    "{v} / 2",
    "{v}.clamp(min=0.5).sqrt()",
    "F.silu({v}).detach() + {v}",
    "torch.zeros_like({v})",
    "torch.full_like({v}, 2)",  # inductor (torch 2.13) adds up 0.5, too, where {v} is of whole numbers
)
TWO = ("{v} + {w}", "{v} * {w}", "{v} - {w}", "torch.maximum({v}, {w})", "torch.where({v} > {w}, {v}, {w})")
LAYOUTS = (
    "{v}.t().contiguous().t()",
    "{v}.flip(0).t().clone().t()",
    "{v}[:, :1].expand(-1, 4)",
    "{v}.roll(1, -1)",
    "torch.stack(({v}[0], {v}[0]))[:1].expand({v}.shape[0], 4)",
)
STEEP = ("{v}.sqrt()", "torch.log({v})", "{v}.exp()", "{v} / {w}", "F.softmax({v}, dim=-1)", "{v} / {v}.norm()")
RANDOM = ("{v} + torch.rand_like({v})", "F.dropout({v}, 0.5, True)", "{v} * torch.randn(4)")
MAY_RAISE = ("{v} + {v}[0]", "{v} + {v}.unbind(0)[0]", "{v}[:2].mean() + {v}", "{v} // {w}")
CASTS = ("{v}.double()", "{v}.to(torch.float64)", "{v}.half()", "{v}.int()", "{v} > 0", "{v}.to(torch.bfloat16)")
RESHAPES = ("{v}.sum(-1)", "{v}.mean(dim=0)", "{v}.unsqueeze(0)", "{v}[:1]", "{v}.sum()", "{v}.reshape(-1)", "{v}.t()")
TOTAL = ("{v}.sum()", "{v}.mean()", "torch.sum({v} * {v})", "{v}.abs().mean()")
REDUCED = (*TOTAL, "{v}.max()", "{v}.min()", "{v}.abs().max()", "{v}.norm()")
"""Those behind the first four raise for an empty tensor, or have no finite gradient everywhere."""


FLOATING = (
    "mean()",
    "norm()",
    "mean(",
    "gelu",
    "softplus",
    "silu",
    "leaky_relu",
    "dropout",
    "rand_like",
    "softmax",
    "normalize",
    "amax",
)
"""Parts of forms that raise for integers, which rule GM101 assumes are not given to them."""


def choose(fn: Function, forms: Sequence[str]) -> str:
    """A form that the arguments' dtype allows."""
    if fn.program.integers:
        forms = [form for form in forms if not any(part in form for part in FLOATING)]
    return fn.draws.pick(forms)


def fill(fn: Function, form: str, first: Value | None = None, shape: str = "bn") -> str:
    """A form with values of one shape in it."""
    return form.format(
        v=(first or fn.any(shape)).name,
        w=fn.any(shape).name,
        c=fn.draws.pick(CONSTANTS),
        k=fn.draws.pick(("1", "2", "0.5")),
    )


def pure(fn: Function, shape: str = "bn", first: Value | None = None) -> str:
    """A new float tensor of a shape, which may be computed although its branch is not taken."""
    draws = fn.draws
    value = first or fn.any(shape)
    forms = draws.weighted(((8, SAME_SHAPE), (3, TWO), (1, LAYOUTS)) if shape == "bn" else ((1, SAME_SHAPE),))
    if forms is LAYOUTS:
        fn.tag("layouts")
    if shape == "" and forms is SAME_SHAPE:
        forms = SAME_SHAPE[:5]
    text = fill(fn, choose(fn, forms), value, shape)
    if draws.chance(20) and shape == "bn":
        return with_state(fn, text)
    return text


def with_state(fn: Function, text: str) -> str:
    """The same, with a parameter, a buffer, a Python number or a constant of the file."""
    draws = fn.draws
    kind = draws.pick(("number", "weight", "scale", "limit", "constant", "act"))
    if kind == "number" and fn.numbers:
        return f"({text}) * {draws.pick(fn.numbers)}"
    if kind == "weight" and fn.method:
        return f"({text}) * {fn.attribute('weight')}"
    if kind == "scale" and fn.method:
        return f"({text}) * {fn.attribute('scale')}"
    if kind == "limit" and fn.method:
        return f"({text}).clamp(max=10.0) + {fn.attribute('limit')}"
    if kind == "act" and fn.method:
        return f"{fn.attribute('act')}({text})"
    return f"({text}) + {fn.program.use_global('EPS', '1e-3')}"


def risky(fn: Function, value: Value) -> str:
    """A side that must not be computed when its branch is not taken, or costs too much."""
    draws = fn.draws
    kind = draws.pick(("steep", "random", "may-raise", "heavy", "steep"))
    fn.tag(f"side-{kind}")
    if kind == "heavy" and fn.method and not fn.program.integers:
        return f"{fn.attribute(draws.pick(('fc', 'norm')))}({value.name})"
    if kind == "heavy":
        return f"{value.name} @ torch.eye(4, dtype={value.name}.dtype)"
    forms = {"steep": STEEP, "random": RANDOM, "may-raise": MAY_RAISE}[kind]
    return fill(fn, choose(fn, forms), value)


def reduced(fn: Function) -> str:
    """A 0-d float tensor."""
    small = fn.of("")
    if small and fn.draws.chance(15):
        return fn.draws.pick(small).name
    shape = "n" if fn.of("n") and fn.draws.chance(20) else "bn"
    forms = TOTAL if fn.draws.chance(65) else REDUCED
    return choose(fn, forms).format(v=fn.any(shape).name)


def comparison(fn: Function) -> str:
    """A test on one tensor's values."""
    draws = fn.draws
    kind = draws.weighted(
        ((6, "scalar"), (3, "any"), (1, "nan"), (1, "two"), (1, "flag"), (1, "mask"), (1, "state"), (1, "truth"))
    )
    value = fn.any().name
    if kind == "flag" and fn.flags:
        fn.tag("bool-argument")
        return draws.pick(fn.flags)
    if kind == "mask" and fn.masks:
        return f"{draws.pick(fn.masks)}.{draws.pick(('any', 'all'))}()"
    if kind == "state" and fn.method:
        return f"{reduced(fn)} > {fn.attribute('limit')}"
    if kind == "nan":
        return draws.pick(("torch.isnan({v}).any()", "torch.isinf({v}).any()", "not torch.isfinite({v}).all()")).format(
            v=value
        )
    if kind == "any":
        op = draws.pick((">", "<", ">=", "=="))
        form = draws.pick(("({v} {op} {c}).any()", "({v} {op} {c}).all()", "torch.any({v} {op} {c})"))
        return form.format(v=value, op=op, c=draws.pick(("0", "1", "0.5", "-1")))
    if kind == "two":
        return f"{reduced(fn)} > {reduced(fn)}"
    if kind == "truth":
        return reduced(fn)
    return f"{reduced(fn)} {draws.pick(('>', '<', '>=', '<='))} {draws.pick(('0', '1', '2.0', '-1', '0.5'))}"


def static(fn: Function) -> str:
    """A test that is known while tracing."""
    draws = fn.draws
    options = [f"{fn.any().name}.shape[0] > 1", f"{fn.any().name}.dtype == torch.float32"]
    if fn.numbers:
        options.append(f"{draws.pick(fn.numbers)} > 1")
    if fn.method:
        options += ["self.training", f"{fn.attribute('verbose')}", f"{fn.attribute('scale')} > 1"]
    text = draws.pick(options)
    if text == "self.training":
        fn.tag("training")
    return text


def test(fn: Function) -> str:
    """A test for an ``if``: one comparison, or several with static parts among them."""
    draws = fn.draws
    first = comparison(fn)
    kind = draws.weighted(((10, "one"), (2, "not"), (2, "and"), (2, "static"), (2, "walrus"), (1, "none"), (1, "host")))
    if kind == "not":
        return f"not ({first})"
    if kind == "and":
        fn.tag("several-tests")
        other = comparison(fn)
        words = [f"({t})" if t.startswith("not ") else t for t in (first, other)]
        return draws.pick((" and ", " or ")).join(words)
    if kind == "static":
        fn.tag("static-test")
        return f"{static(fn)} and {first}"
    if kind == "walrus":
        fn.tag("walrus")
        name = fn.name("t")
        text = f"({name} := {reduced(fn)}) {draws.pick(('>', '<'))} {draws.pick(('0', '1'))}"
        fn.bind(Value(name, ""))
        return text
    if kind == "none" and fn.optionals:
        fn.tag("none-able")
        name = draws.pick(fn.optionals)
        return f"{name} is not None and {name}.sum() > 0"
    if kind == "host":
        fn.tag("host-test")
        low = f"{reduced(fn)}"
        form = draws.pick(("bool({f})", "{r}.item() > 0", "-1 < {r} < 2", "float({r}) > 0.5", "bool(not ({f}))"))
        return form.format(f=first, r=low)
    return first


# -- what is said --------------------------------------------------------------------------------------


def shown(fn: Function) -> str:
    """An expression that is printed."""
    draws = fn.draws
    value = fn.any().name
    kind = draws.weighted(
        (
            (6, "reduced"),
            (3, "tensor"),
            (2, "shape"),
            (2, "state"),
            (1, "container"),
            (2, "number"),
            (1, "optional"),
            (1, "list"),
            (1, "flags"),
        )
    )
    if kind == "tensor":
        return value
    if kind == "shape":
        return draws.pick((f"{value}.shape", f"tuple({value}.shape)", f"{value}.dtype", f"{value}.size(0)"))
    if kind == "state" and fn.method:
        name = draws.pick(("name", "scale", "weight", "running", "count", "limit"))
        return fn.attribute(name) or value
    if kind == "container":
        fn.tag("shown-container")
        return draws.pick(("[{v}, {w}]", "({v}.sum(), 1)", "{{'v': {v}, 'k': 2}}")).format(v=value, w=fn.any().name)
    if kind == "number" and fn.numbers:
        return draws.pick(fn.numbers)
    if kind == "optional" and fn.optionals:
        fn.tag("none-able")
        return draws.pick(fn.optionals)
    if kind == "list" and fn.lists:
        fn.tag("shown-container")
        return draws.pick(fn.lists)
    if kind == "flags":
        return draws.pick(("{v}.requires_grad", "{v}.is_contiguous()", "{v}.min().item()", "{v}.tolist()")).format(
            v=value
        )
    return reduced(fn)


def message(fn: Function, words: str) -> str:
    """A text with values in it."""
    draws = fn.draws
    kind = draws.pick(("f", "f-spec", "constant", "percent", "format", "f2"))
    if kind == "constant":
        return f'"{words}"'
    if kind == "f-spec":
        return f'f"{words} {{{reduced(fn)}:.3f}}"'
    if kind == "percent":
        return f'"{words} %s" % ({quoted(fn)},)'
    if kind == "format":
        return f'"{words} {{}}".format({quoted(fn)})'
    if kind == "f2":
        return f'f"{words} {{{quoted(fn)}}} of {{{fn.any().name}.shape[0]}}"'
    return f'f"{words} {{{quoted(fn)}}}"'


def quoted(fn: Function) -> str:
    """What can stand in an f-string: an expression without braces and quotes."""
    text = shown(fn)
    return text if not set("{}'\"") & set(text) else fn.any().name
