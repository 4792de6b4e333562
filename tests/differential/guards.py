"""[Trap] sites: tests on data that raise, and assertions in forms that split a graph."""

from __future__ import annotations

from collections.abc import Callable

import expressions as ex
from program import Function

WORDS = ("bad value", "negative input", "must be finite", "too large", "x out of range")


def site(fn: Function) -> None:
    """One guard; what it tests holds for some of the arguments."""
    draws = fn.draws
    fn.program.placed.add("trap")
    form = draws.weighted(_FORMS)
    fn.tag(form.__name__.strip("_").replace("_", "-"))
    around = draws.weighted(((16, ""), (2, "static"), (1, "try")))
    if around == "static":
        with fn.block(f"if {ex.static(fn)}:"):
            form(fn)
    elif around == "try":
        caught(fn, form)
    else:
        form(fn)


def caught(fn: Function, form: Callable[[Function], None]) -> None:
    """A guard inside a ``try`` that catches what it raises, or not."""
    from branches import target

    draws = fn.draws
    fn.tag("guard-in-try")
    value = target(fn)
    with fn.block("try:", "try"):
        form(fn)
    with fn.block(draws.pick(("except ValueError:", "except (ValueError, AssertionError) as e:", "except KeyError:"))):
        fn.line(f"{value.name} = {ex.pure(fn, 'bn', value)}")
    if draws.chance(25):
        with fn.block("finally:"):
            fn.line(f"{value.name} = {value.name} + 1")


def condition(fn: Function) -> str:
    """A test that seldom holds, or for some arguments."""
    draws = fn.draws
    value = fn.any().name
    kind = draws.weighted(((3, "nan"), (3, "large"), (2, "any"), (1, "equal"), (1, "argument")))
    if kind == "nan":
        return draws.pick(("torch.isnan({v}).any()", "not torch.isfinite({v}).all()", "{v}.isinf().any()")).format(
            v=value
        )
    if kind == "large":
        return f"{value}.abs().max() > {draws.pick(('3', '10.0', '100'))}"
    if kind == "any":
        return f"({value} {draws.pick(('<', '>', '=='))} {draws.pick(('-2', '5', '0', '2'))}).any()"
    if kind == "argument" and fn.flags:
        return draws.pick(fn.flags)
    if kind == "equal":
        return f"torch.equal({value}, {fn.any().name} * 2)"
    return ex.comparison(fn)


def words(fn: Function) -> str:
    return fn.draws.pick(WORDS)


def error(fn: Function) -> str:
    draws = fn.draws
    name = draws.pick(("ValueError", "RuntimeError", "AssertionError", "OverflowError", "BadValue"))
    if name == "BadValue":
        fn.program.use_global("BadValue", "type('BadValue', (ValueError,), {})" if draws.chance(20) else "")
    kind = draws.weighted(((8, "text"), (1, "class"), (1, "values"), (1, "cause")))
    if kind == "class":
        return name
    if kind == "values":
        return f"{name}({ex.message(fn, words(fn))}, {ex.shown(fn)})"
    if kind == "cause":
        return f"{name}({ex.message(fn, words(fn))}) from None"
    return f"{name}({ex.message(fn, words(fn))})"


# -- forms -------------------------------------------------------------------------------------------------


def _raise(fn: Function) -> None:
    with fn.block(f"if {condition(fn)}:"):
        fn.line(f"raise {error(fn)}")


def _raise_walrus(fn: Function) -> None:
    fn.tag("walrus")
    name = fn.name("worst")
    with fn.block(f"if ({name} := {fn.any().name}.abs().max()) > {fn.draws.pick(('2', '5'))}:"):
        fn.line(f'raise ValueError(f"{words(fn)}: {{{name}}}")')


def _raise_two_statements(fn: Function) -> None:
    with fn.block(f"if {condition(fn)}:"):
        fn.line(f"msg = {ex.message(fn, words(fn))}")
        fn.line("raise ValueError(msg)")


def _raise_chain(fn: Function) -> None:
    """``elif`` and ``else`` behind a guard."""
    from branches import side, target

    draws = fn.draws
    value = target(fn)
    with fn.block(f"if {condition(fn)}:"):
        fn.line(f"raise {error(fn)}")
    if draws.chance(50):
        with fn.block(f"elif {condition(fn)}:"):
            fn.line(f"raise {error(fn)}")
    if draws.chance(50):
        with fn.block("else:"):
            fn.line(f"{value.name} = {side(fn, value)}")


def _raise_last(fn: Function) -> None:
    """A branch that computes, with an ``else`` that raises."""
    from branches import side, target

    value = target(fn)
    fn.program.placed.add("where")
    with fn.block(f"if {ex.comparison(fn)}:"):
        fn.line(f"{value.name} = {side(fn, value)}")
    with fn.block(f"elif {condition(fn)}:"):
        fn.line(f"raise {error(fn)}")


def _raise_reported(fn: Function) -> None:
    """Logs, then raises."""
    fn.program.use_import("import logging")
    logger = fn.program.use_global("logger", 'logging.getLogger("net")')
    fn.program.placed.add("defer")
    with fn.block(f"if {condition(fn)}:"):
        fn.line(f"{logger}.error({ex.message(fn, words(fn))})")
        fn.line(f"raise {error(fn)}")


def _assert(fn: Function) -> None:
    draws = fn.draws
    text = condition(fn)
    test = text.removeprefix("not ") if text.startswith("not ") else f"not ({text})"
    kind = draws.weighted(((5, "f"), (1, "none"), (2, "and"), (1, "chained")))
    if kind == "chained":
        test = f"-100 < {ex.reduced(fn)} < {draws.pick(('100', '2'))}"
    elif kind == "and":
        test = f"({test}) {draws.pick(('and', 'or'))} {fn.any().name}.max() < 50"
    fn.line(f"assert {test}" + ("" if kind == "none" else f", {ex.message(fn, words(fn))}"))


def _torch_check(fn: Function) -> None:
    draws = fn.draws
    value = fn.any().name
    form = draws.pick(
        (
            "torch._assert(({v} > -50).all(), {m})",
            "torch._assert({v}.max() < 2, {m})",
            "torch._check({v}.max().item() < 50, lambda: {m})",
            "torch._check_value(bool(({v} < 3).all()), lambda: {m})",
            "torch._check_tensor_all({v} > -50, lambda: {m})",
        )
    )
    fn.line(form.format(v=value, m=f'"{words(fn)}"' if draws.chance(60) else f'f"{words(fn)} {{{value}.min()}}"'))


_FORMS: tuple[tuple[int, Callable[[Function], None]], ...] = (
    (12, _raise),
    (1, _raise_walrus),
    (2, _raise_two_statements),
    (1, _raise_chain),
    (1, _raise_last),
    (1, _raise_reported),
    (7, _assert),
    (2, _torch_check),
)
