"""[Where] sites: every form of a branch on data, with sides that can be selected and sides that cannot."""

from __future__ import annotations

from collections.abc import Callable

import expressions as ex
from program import Function, Value


def site(fn: Function) -> None:
    """One branch."""
    fn.program.placed.add("where")
    form = fn.draws.weighted(_FORMS)
    fn.tag(form.__name__.strip("_").replace("_", "-"))
    form(fn)


def target(fn: Function) -> Value:
    """A name that the branch assigns: mostly one that holds a new tensor."""
    draws = fn.draws
    fresh = [v for v in fn.of(fresh=True) if "[" not in v.name or draws.chance(10)]
    if fresh and draws.chance(94):
        return draws.pick(fresh[::-1])
    return fn.any()


def side(fn: Function, value: Value, safe: int = 88) -> str:
    """What a side computes for a name."""
    if fn.draws.chance(safe):
        return ex.pure(fn, value.shape, value if fn.draws.chance(60) else None)
    return ex.risky(fn, value)


def _assign(fn: Function, value: Value, safe: int = 88) -> None:
    """One or two statements of a side that give ``value`` another tensor of the same kind."""
    draws = fn.draws
    kind = draws.weighted(((8, "assign"), (2, "augmented"), (2, "temporary"), (1, "helper")))
    if kind == "augmented":
        fn.tag("augmented")
        fn.line(f"{value.name} {draws.pick(('*=', '+=', '-='))} {draws.pick(ex.CONSTANTS)}")
        return
    if kind == "temporary":
        name = fn.name("u")
        fn.line(f"{name} = {side(fn, value, safe)}")
        fn.bind(Value(name, value.shape))
        fn.line(f"{value.name} = {ex.fill(fn, draws.pick(('{v} + {w}', '{v} * 0.5')), fn.values[-1])}")
        return
    if kind == "helper":
        from statements import pure_helper

        fn.line(f"{value.name} = {pure_helper(fn)}({side(fn, value)})")
        return
    fn.line(f"{value.name} = {side(fn, value, safe)}")


# -- forms -------------------------------------------------------------------------------------------------


def _if_alone(fn: Function) -> None:
    value = target(fn)
    with fn.block(f"if {ex.test(fn)}:"):
        _assign(fn, value)


def _if_else(fn: Function) -> None:
    """A name bound on both sides, which may be new."""
    new = fn.draws.chance(40)
    value = Value(fn.name("y")) if new else target(fn)
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{value.name} = {side(fn, Value(fn.any().name))}")
    with fn.block("else:"):
        fn.line(f"{value.name} = {side(fn, Value(fn.any().name))}")
    fn.bind(value)
    if new:
        fn.give(value.name)


def _elif(fn: Function) -> None:
    draws = fn.draws
    value = target(fn)
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{value.name} = {side(fn, value)}")
    for _ in range(draws.pick((1, 1, 1, 2, 2, 1, 1, 6))):
        with fn.block(f"elif {ex.comparison(fn)}:"):
            fn.line(f"{value.name} = {side(fn, value, 97)}")
    if draws.chance(60):
        with fn.block("else:"):
            fn.line(f"{value.name} = {side(fn, value)}")


def _nested(fn: Function) -> None:
    draws = fn.draws
    value = target(fn)
    with fn.block(f"if {ex.test(fn)}:"):
        if draws.chance(40):
            fn.line(f"{value.name} = {side(fn, value)}")
        with fn.block(f"if {ex.comparison(fn)}:"):
            fn.line(f"{value.name} = {side(fn, value)}")
        if draws.chance(40):
            with fn.block("else:"):
                fn.line(f"{value.name} = {side(fn, value)}")
    if draws.chance(30):
        with fn.block("else:"):
            fn.line(f"{value.name} = {side(fn, value)}")


def _several_names(fn: Function) -> None:
    draws = fn.draws
    one, two = target(fn), target(fn)
    with fn.block(f"if {ex.test(fn)}:"):
        if draws.chance(50) and one.name != two.name:
            fn.line(f"{one.name}, {two.name} = {side(fn, one)}, {side(fn, two)}")
        else:
            fn.line(f"{one.name} = {side(fn, one)}")
            fn.line(f"{two.name} = {side(fn, two)}")
    if draws.chance(50):
        with fn.block("else:"):
            fn.line(f"{one.name} = {side(fn, one)}")


def _conditional_expression(fn: Function) -> None:
    draws = fn.draws
    value = target(fn)
    text = f"{side(fn, value)} if {ex.test(fn)} else {side(fn, value)}"
    if draws.chance(20):
        name = draws.pick(("torch.relu", "torch.tanh", "(lambda v: v * 2)"))
        text = f"{name}({text})"
    elif draws.chance(15):
        text = f"[{text}][0]"
    new = Value(fn.name("z")) if draws.chance(50) else value
    fn.line(f"{new.name} = {text}")
    fn.bind(new)


def _in_place_call(fn: Function) -> None:
    """An in-place call in a branch: safe nowhere, since it is written on every call."""
    value = target(fn)
    fn.tag("in-place-write")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{value.name}.{fn.draws.pick(('mul_(0.5)', 'add_(1)', 'clamp_(-1, 1)', 'zero_()'))}")


def _same_store(fn: Function) -> None:
    """Both sides end with the same store or call."""
    draws = fn.draws
    kind = draws.pick(("attribute", "call", "buffer"))
    value = fn.any()
    name = fn.name("y")
    if kind == "call" or not fn.method:
        call = fn.attribute(draws.pick(("fc", "norm", "drop"))) if fn.method else "F.normalize"
        call = "torch.square" if fn.program.integers else call
        before, after = f"{name} = {call}(", ")"
    else:
        before = f"{fn.attribute('last' if kind == 'attribute' else 'kept')} = "
        after = ".detach()" if draws.chance(70) else ""
        before, after = (before + "(", ")" + after) if after else (before, after)
        fn.tag("state-write")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{before}{side(fn, value, 97)}{after}")
    with fn.block("else:"):
        fn.line(f"{before}{side(fn, value, 97)}{after}")
    if before.startswith(name):
        fn.bind(Value(name))


def _guard_return(fn: Function) -> None:
    """A return out of the middle: one path goes on."""
    fn.tag("early-return")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"return {ex.pure(fn)}")


def _metadata(fn: Function) -> None:
    """Another dtype or shape on one side."""
    draws = fn.draws
    value = target(fn)
    kind = draws.pick(("dtype-mix", "other-shape"))
    fn.tag(kind)
    form = ex.choose(fn, ex.CASTS if kind == "dtype-mix" else ex.RESHAPES)
    name = fn.name("w")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{name} = {ex.fill(fn, form, value)}")
    with fn.block("else:"):
        fn.line(f"{name} = {side(fn, value, 100)}")
    fn.give(name)


def _unbound(fn: Function) -> None:
    """A name that only one side binds; it is read under a second test that need not be the same."""
    name = fn.name("maybe")
    text = ex.comparison(fn)
    with fn.block(f"if {text}:"):
        fn.line(f"{name} = {ex.pure(fn)}")
    value = target(fn)
    with fn.block(f"if {text if fn.draws.chance(60) else ex.comparison(fn)}:"):
        fn.line(f"{value.name} = {value.name} + {name}")


def _returns_argument(fn: Function) -> None:
    """One side may be the very argument, a view of it, or another name of a tensor."""
    draws = fn.draws
    fn.tag("alias")
    value = fn.any()
    name = fn.name("a")
    other = draws.pick(
        (value.name, f"{value.name}.view_as({value.name})", f"{value.name}[:]", f"{value.name}.to({value.name}.dtype)")
    )
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{name} = {ex.pure(fn)}")
    with fn.block("else:"):
        fn.line(f"{name} = {other}")
    fn.bind(Value(name, fresh=False))
    fn.held(value.name)
    if draws.chance(50):
        fn.give(name)


def _writes(fn: Function) -> None:
    """State, containers or Python values that only one side changes."""
    draws = fn.draws
    value = target(fn)
    options: list[Callable[[], None]] = [lambda: _python_value(fn), lambda: _item(fn)]
    if fn.lists:
        options.append(lambda: fn.line(f"{fn.lists[-1]}.append({value.name} * 2)"))
    if fn.method:
        options.append(lambda: fn.line(f"{fn.attribute('count')} += 1"))
        options.append(lambda: fn.line(f"{fn.attribute('last')} = {value.name}.detach() * 2"))
        options.append(lambda: fn.line(f"{fn.attribute('running')}.add_(1)"))
    name = fn.name("label")
    fn.line(f"{name} = 0")
    with fn.block(f"if {ex.test(fn)}:"):
        draws.pick(options)()
        fn.line(f"{name} = 1")
    fn.give(name)
    fn.tag("state-write")


def _python_value(fn: Function) -> None:
    fn.line(f"{fn.name('kind')} = 'yes'")


def _item(fn: Function) -> None:
    fn.tag("in-place-write")
    fn.line(f"{target(fn).name}[0] = 0.0")


def _leaves_loop(fn: Function) -> None:
    value = target(fn)
    fn.tag("loop")
    with fn.block(f"for row in {fn.any().name}:", "loop"):
        with fn.block(f"if row.sum() {fn.draws.pick(('<', '>'))} 0:"):
            fn.line(fn.draws.pick(("break", "continue")))
        fn.line(f"{value.name} = {value.name} + row")


def _none_side(fn: Function) -> None:
    name = fn.name("extra")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{name} = {ex.pure(fn)}")
    with fn.block("else:"):
        fn.line(f"{name} = None")
    fn.tag("none-able")
    value = target(fn)
    with fn.block(f"if {name} is not None:"):
        fn.line(f"{value.name} = {value.name} + {name}")


def _view_of_fresh(fn: Function) -> None:
    """The branch's name shares memory with another one, which may be written later."""
    draws = fn.draws
    value = target(fn)
    other = fn.name("v")
    fn.tag("alias", "view")
    fn.line(f"{other} = {value.name}{draws.pick(('', '.view(-1)', '[0]', '.t()'))}")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"{value.name} = {side(fn, value)}")
    if draws.chance(40):
        fn.line(f"{draws.pick((value.name, other))}.{draws.pick(('add_(1)', 'mul_(2)'))}")
        fn.tag("in-place-write")
    fn.give(other)
    fn.held(value.name)


def _match(fn: Function) -> None:
    value = target(fn)
    with fn.block(f"match bool({ex.comparison(fn)}):"), fn.block("case True:"):
        fn.line(f"{value.name} = {side(fn, value)}")


def final_returns(fn: Function, rest: str) -> None:
    """The end of a function as a branch: two returns, or a conditional expression."""
    draws = fn.draws
    fn.program.placed.add("where")
    kind = draws.pick(("guard", "both", "expression"))
    one = ex.pure(fn) if draws.chance(85) else ex.risky(fn, fn.any())
    two = rest if draws.chance(30) else ex.pure(fn)
    if draws.chance(20):
        form = draws.pick(("({one}, {two})", "({one}, {two})", "{{'out': {one}, 'also': {two}}}", "[{two}, {one}]"))
        fn.tag("container")
        one, two = form.format(one=one, two=ex.pure(fn)), form.format(one=ex.pure(fn), two=rest)
    fn.tag("early-return" if kind != "expression" else "conditional-expression")
    if kind == "expression":
        fn.line(f"return {one} if {ex.test(fn)} else {two}")
        return
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"return {one}")
    if kind == "both":
        with fn.block("else:"):
            fn.line(f"return {two}")
        return
    fn.line(f"return {two}")


_FORMS: tuple[tuple[int, Callable[[Function], None]], ...] = (
    (10, _if_alone),
    (9, _if_else),
    (5, _elif),
    (5, _nested),
    (4, _several_names),
    (6, _conditional_expression),
    (2, _in_place_call),
    (3, _same_store),
    (1, _guard_return),
    (3, _metadata),
    (1, _unbound),
    (2, _returns_argument),
    (2, _writes),
    (2, _leaves_loop),
    (2, _none_side),
    (2, _view_of_fresh),
    (1, _match),
)
