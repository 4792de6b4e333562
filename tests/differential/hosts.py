"""Sites where the host is asked for what is data: masks, rows, truths, integers kept as tensors, calls with twins."""

from __future__ import annotations

from collections.abc import Callable

import expressions as ex
from program import Function, Value


def site(fn: Function) -> None:
    fn.program.placed.add("host")
    fn.draws.weighted(_FORMS)(fn)


def _mask(fn: Function, value: str) -> str:
    """A mask of the shape of a value, given a name or not."""
    draws = fn.draws
    text = f"{value} {draws.pick(('>', '<', '>=', '!='))} {draws.pick(('0', '1', '0.5', '-1'))}"
    if draws.chance(50):
        return text
    name = fn.name("mask")
    fn.line(f"{name} = {text}" if draws.chance(60) else f"{name} = ({text}) & ({fn.any().name} < 3)")
    return f"~{name}" if draws.chance(30) else name


def _update(fn: Function) -> None:
    draws = fn.draws
    fn.tag("masked-update")
    value = draws.pick(fn.of(fresh=True) or [fn.any()])
    mask = _mask(fn, value.name if draws.chance(80) else fn.any().name)
    fn.line(f"{value.name}[{mask}] {draws.pick(('+=', '-=', '*=', '/='))} {draws.pick(('1', '2', '0.5', '-3'))}")


def _move(fn: Function) -> None:
    draws = fn.draws
    fn.tag("masked-move")
    value = fn.any().name
    new = Value(fn.name("out"))
    made = draws.pick(
        ("torch.zeros_like({v})", "torch.ones_like({v})", "{v}.clone()", "{w} * 1", "{v}", "{v}.double()")
    )
    fn.line(f"{new.name} = {made.format(v=value, w=fn.any().name)}")
    mask = _mask(fn, value)
    fn.line(f"{new.name}[{mask}] = {value if draws.chance(70) else fn.any().name}[{mask}]")
    fn.bind(Value(new.name, fresh=False))


def _reduced(fn: Function) -> None:
    draws = fn.draws
    fn.tag("masked-reduction")
    value = fn.any().name
    mask = _mask(fn, fn.any().name)
    name = fn.name("r")
    form = draws.pick(
        (
            "({v} > 1)[{m}].any()",
            "torch.all(({v} < 2)[{m}])",
            "({v} > 0).long()[{m}].sum()",
            "{v}.argsort()[{m}].sum() * 2",
            "{v}[{m}].sum()",
            "1 / ({v} > 0).int()[{m}].sum()",
        )
    )
    fn.line(f"{name} = {form.format(v=value, m=mask)}")
    fn.give(name)


def _row(fn: Function) -> None:
    draws = fn.draws
    fn.tag("computed-row")
    value = fn.any().name
    score = draws.pick(("{v}.sum(-1).argmax()", "torch.argmin({v}[:, 0])", "{v}.max(-1).values.argmax()")).format(
        v=value
    )
    if draws.chance(50):
        name = fn.name("best")
        fn.line(f"{name} = {score}")
        score = name
    row = fn.name("chosen")
    fn.line(f"{row} = {value}[{score}]")
    kind = draws.weighted(((6, "computed"), (1, "given"), (1, "written"), (1, "written later"), (1, "bound")))
    if kind == "given":
        fn.give(row)
    elif kind == "written":
        fn.line(f"{row} {draws.pick(('*=', '+='))} 2")
    elif kind == "written later":
        fn.line(f"{value}.mul_(2)")
        fn.give(f"{row} + 1")
    elif kind == "bound":
        fn.bind(Value(row, "n", fresh=False))
    else:
        new = Value(fn.name("h"))
        fn.line(f"{new.name} = {ex.pure(fn)} + {row}")
        fn.bind(new)


def _truth(fn: Function) -> None:
    draws = fn.draws
    fn.tag("kept-truth")
    name = fn.name("flag")
    parts = [f"({ex.comparison(fn).removeprefix('not ')})" for _ in range(draws.weighted(((4, 2), (1, 3))))]
    fn.line(f"{name} = {draws.pick((' and ', ' or ')).join(parts)}")
    if draws.chance(50):
        fn.give(name)
    else:
        value = fn.any()
        new = Value(fn.name("h"))
        fn.line(f"{new.name} = torch.where(torch.as_tensor({name}).bool(), {value.name}, {value.name} * 2)")
        fn.bind(new)


def _constant(fn: Function) -> None:
    """An integer that the module keeps as a tensor, used as a number."""
    if not fn.method:
        _twin(fn)
        return
    draws = fn.draws
    fn.tag("integer-buffer")
    kept = fn.attribute(draws.pick(("keep", "groups", "saved_keep")))
    value = fn.any().name
    new = Value(fn.name("h"))
    kind = draws.pick(("slice", "pad", "loop", "test", "int", "computed", "both"))
    if kind == "slice":
        fn.give(f"{value}[:, : {kept}]")
    elif kind == "pad":
        fn.give(f"F.pad({value}, ({kept} - 1, {kept}))")
    elif kind == "loop":
        fn.line(f"{new.name} = {value} + 0")
        fn.line(f"for _ in range({kept}):")
        fn.line(f"    {new.name} = {new.name} * 0.5")
        fn.bind(new)
    elif kind == "test":
        fn.line(f"{new.name} = {value} + 1 if {value}.shape[0] > {kept} else {value} - 1")
        fn.bind(new)
    elif kind == "int":
        fn.line(f"{new.name} = {value} * {draws.pick(('int({k})', '{k}.item()', '({k} + 1).item()')).format(k=kept)}")
        fn.bind(new)
    elif kind == "computed":
        size = fn.name("size")
        fn.line(f"{size} = {kept} * 2 - {value}.shape[0] // 2")
        fn.line(f"{size} += {draws.pick(('1', kept))}")
        fn.give(f"{value}[..., :{size}]")
        if draws.chance(30):
            fn.give(size)
    else:
        fn.line(f"{new.name} = {value} * {kept} + {value}[:, {kept} - 1 :].sum()")
        fn.bind(new)


def _twin(fn: Function) -> None:
    draws = fn.draws
    fn.tag("twin")
    value = fn.any().name
    new = Value(fn.name("h"))
    kind = draws.pick(("random", "copy", "size", "class"))
    if kind == "random":
        fn.program.use_import("import random")
        fn.line(f"{new.name} = {value} * {draws.pick(('random.random()', '(1.0 + random.random())'))}")
        fn.bind(new)
    elif kind == "copy":
        fn.program.use_import("import copy")
        first, second = fn.name("parts"), fn.name("parts")
        fn.line(f"{first} = [{value}, {ex.pure(fn)}]")
        fn.line(f"{second} = copy.copy({first})")
        fn.line(f"{second}.append({value})")
        fn.line(f"{new.name} = {first}[1] * len({second})")
        fn.bind(new)
    elif kind == "size":
        fn.program.use_import("import numpy as np")
        fn.give(f"{value}.reshape(int(np.prod({value}.shape)))")
    else:
        made = fn.name("Options")
        fn.line(f"class {made}:")
        fn.line(f"    gain = {draws.pick(('2', '0.5'))}")
        fn.line(f"{new.name} = {value} * {made}.gain")
        fn.bind(new)
        if draws.chance(15):
            fn.give(f"{made}.__name__")


_FORMS: tuple[tuple[int, Callable[[Function], None]], ...] = (
    (3, _update),
    (3, _move),
    (3, _reduced),
    (3, _row),
    (3, _truth),
    (4, _constant),
    (2, _twin),
)
